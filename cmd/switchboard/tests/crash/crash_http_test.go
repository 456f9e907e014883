//go:build linux

package crash_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
	"switchboard/store/storetest"
)

const (
	webSessions = 30
	webMessages = 5 // in each session
)

// A webCrash is programs that write with keys and follow their sessions while engines are killed.
type webCrash struct {
	t       *testing.T
	engines []string // their addresses
	mu      sync.Mutex
	random  *rand.Rand
}

func (c *webCrash) n(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.random.IntN(n)
}

// any is one of the engines.
func (c *webCrash) any() programtest.Web {
	return programtest.Web{Address: c.engines[c.n(len(c.engines))], Token: "ci"}
}

func newWebCrash(t *testing.T, engines int) (*webCrash, *programtest.Rig) {
	programtest.Busy(t)
	seed := crashSeed(t)
	c := &webCrash{t: t, random: rand.New(rand.NewPCG(seed, 0))}
	for range engines {
		c.engines = append(c.engines, testkit.FreeAddress(t))
	}
	rig := programtest.NewRig(t, nil, "[router]\nrate_person = \"off\"\n[server]\nlisten = \""+c.engines[0]+"\"\n"+
		programtest.Token("ci", []string{"messages", "read"})+"[[people]]\nname = \"ada\"\nrole = \"user\"\nidentities = [\"scripted:ada\"]\ntools = []\n")
	return c, rig
}

// run writes in every session and follows it, from one engine and another, until all is answered.
func (c *webCrash) run(kills int, kill func(i int)) {
	ctx, cancel := context.WithTimeout(c.t.Context(), 10*time.Minute)
	defer cancel()
	var work sync.WaitGroup
	for i := range webSessions {
		session := fmt.Sprintf("s%d", i)
		posted := make(chan struct{})
		work.Go(func() { c.write(ctx, session, posted) })
		work.Go(func() { c.follow(ctx, session, posted) })
	}
	for i := range kills {
		time.Sleep(time.Duration(50+c.n(300)) * time.Millisecond)
		kill(i)
	}
	work.Wait()
	for _, address := range c.engines { // the last may begin only now
		testkit.Await(c.t, "the engine at "+address+" is ready", programtest.Patience, func() bool {
			status, _, err := programtest.Web{Address: address, Token: "ci"}.Do(ctx, http.MethodGet, "/readyz", nil)
			return err == nil && status == http.StatusOK
		})
	}
}

// write sends the messages of a session, each until it is taken and once more.
func (c *webCrash) write(ctx context.Context, session string, posted chan struct{}) {
	for i := range webMessages {
		for taken := 0; taken < 2; {
			body := map[string]any{"session": session, "user": "ada", "content": fmt.Sprintf("hello %d", i)}
			status, answer, err := c.any().Do(ctx, http.MethodPost, "/v1/messages", body, "Idempotency-Key", fmt.Sprintf("%s-%d", session, i))
			switch {
			case ctx.Err() != nil:
				c.t.Errorf("%s: message %d was not taken: %d %s %v", session, i, status, answer, err)
				return
			case err != nil || status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests: // all come back at once
				time.Sleep(20 * time.Millisecond)
			case status != http.StatusAccepted:
				c.t.Errorf("%s: message %d: %d %s", session, i, status, answer)
				return
			default:
				if taken++; i == 0 && taken == 1 {
					close(posted)
				}
			}
		}
	}
}

// follow reads the session's events, going on behind the last one wherever the stream ended: none is missing, none comes twice,
// and each message has one answer.
func (c *webCrash) follow(ctx context.Context, session string, posted chan struct{}) {
	select {
	case <-posted:
	case <-ctx.Done():
		return
	}
	var last int64
	asked, answered, ended := map[int64]string{}, map[int64]int{}, 0
	for ended < webMessages && ctx.Err() == nil {
		_ = c.any().Follow(ctx, session, last, func(e channels.SessionEvent) bool {
			switch {
			case e.Kind == channels.KindDelta:
				return true
			case e.N != last+1:
				c.t.Errorf("%s: event %d (%s) comes after %d", session, e.N, e.Kind, last)
			case e.Ends():
				ended++
			case e.Message != nil && e.Message.Direction == "in":
				asked[e.TurnID] = e.Message.Text
			case e.Says() && e.Message.Final:
				answered[e.TurnID]++
			}
			last = e.N
			return ended < webMessages
		})
		time.Sleep(time.Duration(c.n(30)) * time.Millisecond)
	}
	if len(asked) != webMessages || len(answered) != webMessages {
		c.t.Errorf("%s: asked %v, answered %v, %d turns ended", session, asked, answered, ended)
	}
	for turn, n := range answered {
		if n != 1 || asked[turn] == "" {
			c.t.Errorf("%s: turn %d on %q has %d answers", session, turn, asked[turn], n)
		}
	}
}

// verify looks at what was stored.
func (c *webCrash) verify(count func(query string, args ...any) int) {
	if n := count("SELECT count(*) FROM turns WHERE state = 'done'"); n != webSessions*webMessages {
		c.t.Errorf("%d turns are done, want %d", n, webSessions*webMessages)
	}
	if n := count("SELECT count(*) FROM turns"); n != webSessions*webMessages {
		c.t.Errorf("there are %d turns, want %d", n, webSessions*webMessages)
	}
}

// Programs that repeat a call under its key and follow their sessions lose nothing and get nothing twice, whenever the
// engine dies.
func TestCrashHTTP(t *testing.T) {
	t.Parallel()
	c, rig := newWebCrash(t, 1)
	rig.Up()
	c.run(killsOf(t, ownKills), func(int) { rig.Kill(); rig.Start() })
	c.verify(rig.Count)
	rig.Stop(20 * time.Second)
}

// The same with two engines, which they call in turns.
func TestCrashHTTPTwoEngines(t *testing.T) {
	t.Parallel()
	url := storetest.MigratedURL(t)
	c, rig := newWebCrash(t, 2)
	f := programtest.NewFleet(rig, url, "one", "two")
	for i, m := range f.Engines {
		m.Env = append(m.Env, "SWITCHBOARD_SERVER__LISTEN="+c.engines[i])
	}
	f.Up()
	c.run(killsOf(t, againKills), func(i int) {
		victim := f.Engines[c.n(2)]
		victim.Kill()
		if i%4 == 0 {
			f.Other(victim).Kill()
			f.Other(victim).Start()
		}
		victim.Start()
	})
	c.verify(f.Count)
	f.Stop()
}

// A reader who does not read slows nobody down and is left; one that a killed engine leaves goes on elsewhere.
func TestFollowersThatDoNotReadAreLeft(t *testing.T) {
	t.Parallel()
	_, rig := newWebCrash(t, 1)
	rig.Up()
	w := rig.Web("ci")
	w.Call(t, http.MethodPost, "/v1/messages", map[string]any{"session": "s", "user": "ada", "content": "hello"}, http.StatusAccepted, nil)
	for range 50 { // none of them reads
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+w.Address+"/v1/sessions/s/events?after=0", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer ci")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
	}
	text := strings.Repeat("x", 60_000)
	for i := range 20 {
		w.Call(t, http.MethodPost, "/v1/messages", map[string]any{"session": "s", "user": "ada", "content": fmt.Sprint(i, text)}, http.StatusAccepted, nil)
	}
	testkit.Await(t, "all is answered", programtest.Patience, func() bool {
		var s struct {
			Turn struct{ State string }
		}
		_, answer, err := w.Do(t.Context(), http.MethodGet, "/v1/sessions/s?after=999999", nil)
		return err == nil && json.Unmarshal(answer, &s) == nil && s.Turn.State == "done" &&
			rig.Count("SELECT count(*) FROM turns WHERE state = 'done'") == 21
	})
	rig.Stop(20 * time.Second)
}

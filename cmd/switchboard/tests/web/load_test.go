//go:build linux && load

package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
	"switchboard/store/storetest"
)

const (
	loadStreams = 1000
	loadTokens  = 16
)

// A loadRig is the program with a crowd of readers.
type loadRig struct {
	t         *testing.T
	count     func(query string, args ...any) int
	pid       int
	address   string
	ended     [loadStreams]chan struct{} // the end of a turn of the session
	saturated atomic.Int64               // messages that saturate took in
}

// web is what token n calls with.
func (l *loadRig) web(n int) programtest.Web {
	return programtest.Web{Address: l.address, Token: fmt.Sprintf("t%d", n%loadTokens)}
}

// post writes a message in session n; it says how long that took.
func (l *loadRig) post(ctx context.Context, w programtest.Web, n int, results *tally) time.Duration {
	began := time.Now()
	status, answer, err := w.Do(ctx, http.MethodPost, "/v1/messages", map[string]any{"session": fmt.Sprintf("s%d", n), "user": "ada", "content": "hello"})
	took := time.Since(began)
	results.add(status, took)
	if ctx.Err() == nil && (err != nil || status != http.StatusAccepted && status != http.StatusTooManyRequests) {
		l.t.Errorf("session %d: %d %s %v", n, status, answer, err)
	}
	return took
}

// A tally counts answers.
type tally struct {
	mu    sync.Mutex
	n     map[int]int
	times []time.Duration // of what was taken
}

func (c *tally) add(status int, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[int]int{}
	}
	if c.n[status]++; status == http.StatusAccepted {
		c.times = append(c.times, took)
	}
}

func (c *tally) p(percent int) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.times) == 0 {
		return 0
	}
	slices.Sort(c.times)
	return c.times[(len(c.times)-1)*percent/100]
}

// TestLoad measures; it fails where something is lost or a call fails.
func TestLoad(t *testing.T) {
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			l := newLoadRig(t, kind)
			var all tally
			for n := range loadStreams {
				l.post(t.Context(), l.web(n), n, &all)
			}
			l.drained()
			_, before := programtest.MemoryOf(t, l.pid)
			ctx, cancel := context.WithCancel(t.Context())
			var readers sync.WaitGroup
			l.follow(ctx, &readers)
			_, after := programtest.MemoryOf(t, l.pid)
			t.Logf("%d streams: %.1f KB each", loadStreams, float64(after-before)/loadStreams)

			saturation := l.saturate(15 * time.Second)
			t.Logf("saturation: %.0f answers/s", saturation)

			var half tally
			l.at(saturation/2, 60*time.Second, func(n int) { l.post(t.Context(), l.web(n), n%loadStreams, &half) })
			t.Logf("at half of it for 60 s: %v, accept p50 %s, p95 %s, p99 %s", half.n, half.p(50), half.p(95), half.p(99))
			l.drained()

			var over tally
			l.at(3*saturation, 10*time.Second, func(n int) { l.post(t.Context(), l.web(n), n%50, &over) })
			t.Logf("at three times in 50 sessions for 10 s: %v, accept p95 %s", over.n, over.p(95))
			l.drained()

			var alone, beside, flood tally
			l.at(20, 15*time.Second, func(n int) { l.post(t.Context(), l.web(1), n%loadStreams, &alone) })
			l.drained()
			flooding, stop := context.WithCancel(t.Context())
			var floods sync.WaitGroup
			for i := range 64 {
				floods.Go(func() {
					for n := i; flooding.Err() == nil; n++ {
						l.post(flooding, l.web(0), 500+n%500, &flood)
					}
				})
			}
			l.at(20, 15*time.Second, func(n int) { l.post(t.Context(), l.web(1), n%500, &beside) })
			stop()
			floods.Wait()
			t.Logf("another token's accept p95: alone %s, beside a flood %s (%.1f times); the flood: %v", alone.p(95), beside.p(95), float64(beside.p(95))/float64(alone.p(95)), flood.n)
			l.drained()
			delete(flood.n, 0) // cut off at the end: nobody knows
			taken := all.n[202] + half.n[202] + over.n[202] + alone.n[202] + beside.n[202] + flood.n[202] + int(l.saturated.Load())
			if n := l.count("SELECT count(*) FROM turns WHERE state IN ('done', 'merged')"); n < taken || n > taken+64 {
				t.Errorf("%d were taken and %d answered", taken, n)
			}
			cancel()
			readers.Wait()
		})
	}
}

func newLoadRig(t *testing.T, kind string) *loadRig {
	l := &loadRig{t: t, address: testkit.FreeAddress(t)}
	settings := "[router]\nrate_person = \"off\"\n[log]\nlevel = \"warn\"\n[server]\nlisten = \"" + l.address + "\"\n"
	for i := range loadTokens {
		settings += programtest.Token(fmt.Sprintf("t%d", i), []string{"messages", "read"})
	}
	rig := programtest.NewRig(t, nil, settings+"[[people]]\nname = \"ada\"\nrole = \"user\"\nidentities = [\"scripted:ada\"]\ntools = []\n")
	l.count = rig.Count
	if kind == "postgres" {
		url := storetest.MigratedURL(t)
		f := programtest.NewFleet(rig, url, "one")
		l.count = f.Count
		f.Engines[0].Start()
		l.pid = f.Engines[0].Cmd.Process.Pid
	} else {
		rig.Start()
		l.pid = rig.Cmd.Process.Pid
	}
	testkit.Await(t, "it answers", programtest.Patience, func() bool {
		status, _, err := l.web(0).Do(t.Context(), http.MethodGet, "/readyz", nil)
		return err == nil && status == http.StatusOK
	})
	for i := range l.ended {
		l.ended[i] = make(chan struct{}, 1)
	}
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 256
	return l
}

// follow opens a stream for each session, and returns when all are there.
func (l *loadRig) follow(ctx context.Context, readers *sync.WaitGroup) {
	var open sync.WaitGroup
	for n := range loadStreams {
		open.Add(1)
		time.Sleep(5 * time.Millisecond) // as they come, and not all at once
		readers.Go(func() {
			var s struct {
				LastEvent int64 `json:"last_event"`
			}
			_, answer, err := l.web(n).Do(ctx, http.MethodGet, fmt.Sprintf("/v1/sessions/s%d", n), nil)
			if err == nil {
				err = json.Unmarshal(answer, &s)
			}
			open.Done()
			for last := s.LastEvent; err == nil && ctx.Err() == nil; {
				err = l.web(n).Follow(ctx, fmt.Sprintf("s%d", n), last, func(e channels.SessionEvent) bool {
					if e.N > 0 && e.N != last+1 {
						l.t.Errorf("session %d: event %d after %d", n, e.N, last)
					}
					last = max(last, e.N)
					if e.Ends() {
						select {
						case l.ended[n] <- struct{}{}:
						default:
						}
					}
					return true
				})
			}
			if err != nil && ctx.Err() == nil {
				l.t.Errorf("session %d: %v", n, err)
			}
		})
	}
	open.Wait()
	time.Sleep(3 * time.Second)
}

// saturate has as many writers as the machine can serve write and wait for their answers; it says how many came in a second.
func (l *loadRig) saturate(within time.Duration) float64 {
	var answers tally
	began := time.Now()
	var writers sync.WaitGroup
	for n := range 200 {
		writers.Go(func() {
			for time.Since(began) < within {
				l.post(l.t.Context(), l.web(n), n, &answers)
				select {
				case <-l.ended[n]:
				case <-time.After(programtest.Patience):
					l.t.Errorf("session %d: no answer", n)
					return
				}
			}
		})
	}
	writers.Wait()
	l.saturated.Add(int64(answers.n[http.StatusAccepted]))
	return float64(answers.n[http.StatusAccepted]) / time.Since(began).Seconds()
}

// at calls do so often a second, whatever becomes of those before.
func (l *loadRig) at(rate float64, within time.Duration, do func(n int)) {
	var calls sync.WaitGroup
	began := time.Now()
	for n := 0; time.Since(began) < within; n++ {
		time.Sleep(time.Until(began.Add(time.Duration(float64(n) / rate * float64(time.Second)))))
		calls.Go(func() { do(n) })
	}
	calls.Wait()
}

// drained waits until nothing is worked on.
func (l *loadRig) drained() {
	testkit.Await(l.t, "all is answered", 3*time.Minute, func() bool {
		time.Sleep(200 * time.Millisecond)
		return l.count("SELECT count(*) FROM turns WHERE state IN ('queued', 'running')") == 0
	})
	for i := range l.ended {
		select {
		case <-l.ended[i]:
		default:
		}
	}
}

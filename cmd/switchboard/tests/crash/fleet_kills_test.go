//go:build long

package crash_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels/platformtest"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/router/turns"
	"switchboard/store/storetest"
)

const (
	manyKills    = 200
	loopUsers    = 40
	loopPatience = 3 * time.Minute // with one message
	loopSend     = 30 * time.Millisecond
)

// People write one message after the other, each once the last is answered, while engines on one
// PostgreSQL are killed at any instant: one of them or both, started again at once, after a second, or
// once the other one has taken over. What is counted is what the platform alone shows: every message
// that ever said an answer.
func TestTwoEnginesManyKills(t *testing.T) {
	url := storetest.MigratedURL(t)
	random := rand.New(rand.NewPCG(crashSeed(t), 0))
	l := newClosedLoop(t)
	f := programtest.NewFleet(l.rig, url, "one", "two")
	f.Up()
	l.begin()
	kills := 0
	for kills < manyKills {
		time.Sleep(time.Duration(50+random.IntN(1500)) * time.Millisecond)
		first := random.IntN(2)
		victims := f.Engines[first : first+1]
		if random.IntN(10) == 0 {
			victims = f.Engines
		}
		for _, m := range victims {
			m.MustLive()
			m.Kill()
			kills++
		}
		switch n := random.IntN(20); {
		case n == 0:
			time.Sleep(20 * time.Second)
		case n < 6:
			time.Sleep(time.Second)
		}
		for _, m := range victims {
			if random.IntN(2) == 0 {
				m.Start() // and may be killed before it is ready
			} else {
				m.Up()
			}
		}
	}
	l.end()
	l.settle()
	l.check(kills)
	f.Stop()
}

// A closedLoop is people on Telegram each of whom writes the next message when the last is answered.
type closedLoop struct {
	t      *testing.T
	rig    *programtest.Rig
	server *telegramtest.Server
	users  []telegramtest.User
	work   sync.WaitGroup
	over   chan struct{}

	mu    sync.Mutex
	said  int
	waits map[string]chan struct{} // by answer; closed when it is shown
}

func newClosedLoop(t *testing.T) *closedLoop {
	l := &closedLoop{t: t, server: telegramtest.New(t), over: make(chan struct{}), waits: map[string]chan struct{}{}}
	l.rig = programtest.NewRig(t, nil, "[agent]\nplanner = \"fake/model\"\n[router]\nrate_person = \"off\"\n")
	l.rig.Append(fmt.Sprintf("[channels.telegram]\nkind = \"telegram\"\ntoken = %q\napi_url = %q\nrate = \"off\"\n", l.server.Token(), l.server.URL()))
	for u := range loopUsers {
		user := l.server.AddUser(fmt.Sprintf("User%d", u))
		l.users = append(l.users, user)
		l.rig.Append(fmt.Sprintf("[[people]]\nname = \"u%d\"\nrole = \"admin\"\nidentities = [\"telegram:%d\"]\n", u, user.ID))
	}
	l.rig.Model.Handle(thinkOfPong)
	for _, method := range []string{"sendMessage", "editMessageText"} {
		calls := 0
		// Every other call takes its time before it has its effect, the others before they are answered.
		l.server.Break(platformtest.Fault{Method: method, Times: -1, Delay: loopSend, When: func(c platformtest.Call) bool {
			calls++
			l.seen(unmarked(c.Values["text"]))
			return calls%2 == 0
		}})
		l.server.Break(platformtest.Fault{Method: method, Times: -1, Slow: loopSend})
	}
	return l
}

var pingPattern = regexp.MustCompile(`ping (\d+)`)

// pong is the answer to "ping n".
func pong(n string) string { return "pong " + n + " and that is all" }

// thinkOfPong answers most at once, some after a while, and some word by word.
func thinkOfPong(req llmtest.Request) llmtest.Reply {
	m := pingPattern.FindStringSubmatch(req.Section("New message"))
	if m == nil {
		return llmtest.Text(llmtest.Plan("?", llmtest.Answer("nothing found")))
	}
	reply := llmtest.Text(llmtest.Plan("answer ping "+m[1], llmtest.Answer(pong(m[1]))))
	switch last := m[1][len(m[1])-1]; {
	case last < '3': // the answer comes as a draft would be shown
		reply.Delay = 1700 * time.Millisecond
	case last < '6':
		reply.Pause = 100 * time.Millisecond
	}
	return reply
}

func unmarked(text string) string { return strings.TrimPrefix(strings.TrimSpace(text), "(repeated) ") }

// seen notes that a message says so.
func (l *closedLoop) seen(answer string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seen := l.waits[answer]; seen != nil {
		close(seen)
		delete(l.waits, answer)
	}
}

// begin has everybody write until end.
func (l *closedLoop) begin() {
	for u := range l.users {
		l.work.Go(func() {
			for {
				select {
				case <-l.over:
					return
				default:
				}
				select {
				case <-l.ask(u):
				case <-time.After(loopPatience):
				}
			}
		})
	}
}

// ask has a user write the next message; the channel is closed when it is answered.
func (l *closedLoop) ask(u int) (answered chan struct{}) {
	answered = make(chan struct{})
	l.mu.Lock()
	n := fmt.Sprintf("%06d", l.said)
	l.said++
	l.waits[pong(n)] = answered
	l.mu.Unlock()
	l.server.Say(l.users[u].ID, "ping "+n)
	return answered
}

func (l *closedLoop) end() {
	close(l.over)
	l.work.Wait()
}

// settle waits until every turn has ended and nothing is on its way any more.
func (l *closedLoop) settle() {
	l.t.Helper()
	underWay := (&crash{place: &programtest.TelegramPlace{Server: l.server}}).underWay
	l.rig.Await("every turn has ended, and its deliveries are settled", 3*time.Minute, func() bool {
		list := l.rig.Turns()
		open := func(turn turns.Turn) bool { return turn.State != "done" && turn.State != "failed" }
		return len(l.server.Pending()) == 0 && len(list) >= l.said && !slices.ContainsFunc(list, open) && !slices.ContainsFunc(l.rig.Deliveries(), underWay)
	})
}

// check counts the messages that ever said each answer.
func (l *closedLoop) check(kills int) {
	l.t.Helper()
	plain, marked, deleted := map[string]int{}, map[string]int{}, map[string]int{}
	for _, user := range l.users {
		for _, m := range l.server.History(user.ID) {
			said := map[string]bool{}
			for _, state := range append(m.Before, m.Message) {
				said[state.Text] = m.Bot
			}
			for text := range said {
				switch {
				case text != unmarked(text):
					marked[unmarked(text)]++
				case m.Deleted:
					deleted[text]++
				default:
					plain[text]++
				}
			}
		}
	}
	listed := map[string]bool{}
	for _, d := range l.rig.Deliveries() {
		listed[unmarked(d.Text)] = listed[unmarked(d.Text)] || d.State == "unknown"
	}
	lost, unknown, repeated, twice, shortly := 0, 0, 0, 0, 0
	for n := range l.said {
		answer := pong(fmt.Sprintf("%06d", n))
		shown := plain[answer] + marked[answer]
		switch {
		case shown == 0 && listed[answer]: // the engine that repeated it was killed as well
			unknown++
		case shown == 0:
			lost++
			l.t.Errorf("%q was never shown", answer)
		case plain[answer] > 1 || marked[answer] > 1:
			twice++
			l.t.Errorf("%q is shown %d times without a mark, %d times with one", answer, plain[answer], marked[answer])
		}
		repeated += marked[answer]
		if deleted[answer] > 0 { // a draft by a call that broke off
			shortly++
		}
	}
	l.t.Logf("%d answers, %d kills: %d lost, %d listed as unknown after two tries, %d marked, %d twice without a mark, %d shown shortly in a second message",
		l.said, kills, lost, unknown, repeated, twice, shortly)
}

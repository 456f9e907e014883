package outbox_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router/routertest"
)

// For a while no send is answered: what was sent then is not repeated into the same
// failure, and what was not is not sent.
func TestBurstOfSilencePausesRepeatsAndSends(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		probes bool
		ill    time.Duration
		within time.Duration // of the first send
		lost   int
	}{
		{"short", true, 4 * time.Second, 10 * time.Second, 0},
		{"short, nobody to ask", false, 4 * time.Second, 27 * time.Second, 0},
		{"sends alone, longer than it may block", true, 2 * time.Minute, 4 * time.Minute, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			inTime(t, func(t *testing.T, r *rig) {
				const n = 10
				r.Script.Rich = c.probes
				var ill atomic.Bool
				ill.Store(true)
				r.Platform.OnSend(func(scripted.Post) channelstest.Fault { return channelstest.Fault{LoseRequest: ill.Load()} })
				r.Start()
				for i := range n {
					r.Platform.Say(fmt.Sprint("c", i), "ada", "hello")
				}
				end := time.AfterFunc(c.ill, func() { ill.Store(false) })
				defer end.Stop()
				var doubt [n]time.Duration // how long a head was in doubt
				r.Within(c.within, "all is settled", func() bool {
					for _, d := range r.Deliveries("unknown") {
						if d.Outcome == "no_answer" {
							i := int(d.Conversation[1] - '0')
							doubt[i] += 100 * time.Millisecond
						}
					}
					return len(r.Deliveries("sent")) >= n-c.lost && len(r.Deliveries("pending"))+len(r.Deliveries("sending")) == 0 &&
						!slices.Contains(outcomes(r), "no_answer")
				})
				for i, d := range doubt {
					if d > 30*time.Second {
						t.Errorf("c%d was blocked for %s", i, d)
					}
				}
				if lost := len(r.Deliveries("unknown")); lost > c.lost {
					t.Errorf("%d of %d answers are lost", lost, n)
				}
				if n := len(r.Platform.Tries()); n > 40 {
					t.Errorf("%d sends", n)
				}
			})
		})
	}
}

func outcomes(r *rig) (list []string) {
	for _, d := range r.Deliveries("unknown") {
		list = append(list, d.Outcome)
	}
	return list
}

// What is in doubt does not hold up the others, and goes on when they show that it can.
func TestUnknownPartWaitsForAnotherSend(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.Script.Rich = false
		r.Platform.Next(channelstest.Fault{LoseRequest: true})
		r.Start()
		r.Platform.Say("c1", "ada", "hello")
		r.Within(time.Second, "it is in doubt", func() bool { return len(r.Deliveries("unknown")) == 1 })
		time.Sleep(3 * time.Second)
		if n := len(r.Platform.Tries()); n != 1 {
			t.Fatalf("%d sends", n)
		}
		r.Platform.Say("c2", "bob", "hello")
		r.Within(time.Second, "both are sent", func() bool { return len(r.Deliveries("sent")) == 2 })
		r.Same("the conversation reads", routertest.Texts(r.Platform.Sent()), []string{"re: hello", "(repeated) re: hello"})
	})
}

// Many sends that fail at once are one failure of the channel.
func TestFailuresAtOncePauseOnce(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		var ill atomic.Bool
		ill.Store(true)
		r.Platform.OnSend(func(scripted.Post) channelstest.Fault {
			if ill.Load() {
				return channelstest.Fault{Refused: "bad gateway", Temporary: true, Delay: 100 * time.Millisecond}
			}
			return channelstest.Fault{}
		})
		r.Start()
		for i := range 10 {
			r.Platform.Say(fmt.Sprint("c", i), "ada", "hello")
		}
		time.Sleep(2 * time.Second)
		ill.Store(false)
		r.Within(6*time.Second, "all is sent", func() bool { return len(r.Deliveries("sent")) == 10 })
		if n := len(r.Platform.Tries()); n > 10+10+3 {
			t.Errorf("%d sends", n)
		}
	})
}

// One message that the platform can never take is given up in the end, its conversation
// learns of it, and others do not wait for it.
func TestPoisonDelaysNoOther(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		var mu sync.Mutex
		poisoned := 0
		r.Platform.OnSend(func(p scripted.Post) channelstest.Fault {
			mu.Lock()
			defer mu.Unlock()
			if strings.Contains(p.Text, "poison") {
				poisoned++
				return channelstest.Fault{Refused: "internal error", Temporary: true}
			}
			return channelstest.Fault{}
		})
		r.Start()
		r.Platform.Say("c1", "bob", "poison")
		r.Platform.Say("c1", "bob", "and then")
		slow := 0
		for i := range 250 {
			began := time.Now()
			r.Platform.Say("c2", "ada", fmt.Sprint(i))
			r.Within(3*time.Second, "ada is answered", func() bool { return len(r.Platform.SentIn("c2")) == i+1 })
			if time.Since(began) > 200*time.Millisecond {
				slow++
			}
			time.Sleep(4 * time.Second)
		}
		if slow > 0 {
			t.Errorf("ada waited %d times", slow)
		}
		want := []string{"(16 minutes late) re: and then", "One part of my answer could not be shown here: the platform did not take it for 15 minutes."}
		r.Same("the conversation reads", routertest.Texts(r.Platform.SentIn("c1")), want)
		if d := r.Deliveries("dead"); len(d) != 1 || d[0].Outcome != "blocked_too_long" || poisoned > 30 {
			t.Errorf("dead %+v after %d tries", d, poisoned)
		}
	})
}

func TestRefusedPartIsReportedInItsConversation(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.Script.MaxText, r.Script.Files = 200, 2
		r.Files = routertest.Shelf{"1": ""}
		all := false
		r.Platform.OnSend(func(p scripted.Post) channelstest.Fault {
			if all || len(p.Files) > 0 || strings.HasPrefix(p.Text, "re: long") {
				return channelstest.Fault{Refused: "bad request"}
			}
			return channelstest.Fault{}
		})
		r.Brain.Think = nil
		r.Start()
		r.Platform.Say("c1", "ada", "[it](attachment:1)")
		r.SettledAs("dead", 1)
		r.Platform.Say("c1", "ada", "long "+strings.Repeat("many words ", 30))
		r.Within(10*time.Second, "it is told", func() bool { return len(r.Platform.SentIn("c1")) == 3 })
		want := []string{
			"re: it",
			"One part of my answer could not be shown here: the file 1.txt is empty.",
			"One part of my answer could not be shown here: the platform refused it, and so what came after it is missing as well.",
		}
		r.Same("the conversation reads", routertest.Texts(r.Platform.SentIn("c1")), want)
		// A refused notice is no news.
		all = true
		before := len(r.Deliveries("dead"))
		r.Platform.Say("c1", "ada", "short")
		time.Sleep(10 * time.Second)
		if n := len(r.Deliveries("dead")); n != before+2 {
			t.Errorf("%d parts are dead, want the answer and one notice", n-before)
		}
	})
}

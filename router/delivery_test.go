package router_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
)

func TestLostAnswerIsLookedUpOrRepeatedMarked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		finder, deduper bool
		want            []string
		outcome         string
	}{
		{"repeat, marked", false, false, []string{"re: hello", "(repeated) re: hello"}, ""},
		{"finder", true, false, []string{"re: hello"}, "found"},
		{"deduper", false, true, []string{"re: hello"}, ""},
		{"deduper after its window", true, true, []string{"re: hello"}, "found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				r.script.Finder, r.script.Deduper = c.finder, c.deduper
				if c.finder && c.deduper {
					r.script.Window = time.Nanosecond
				}
				if c.deduper {
					r.platform.Dedupe(2 * time.Minute)
				}
				r.platform.Next(channelstest.Fault{LoseAnswer: true})
				r.start()
				r.platform.Say("c1", "ada", "hello")
				r.until("it was tried", func() bool { return len(r.platform.Tries()) == 1 })
				r.platform.Say("c2", "bob", "hello") // shows that the platform takes messages
				r.until("both are settled", func() bool { return len(r.deliveries("sent")) == 2 })
				if got := texts(r.platform.SentIn("c1")); fmt.Sprint(got) != fmt.Sprint(c.want) {
					t.Errorf("shown %q, want %q", got, c.want)
				}
				for _, d := range r.deliveries("sent") {
					if d.Repeated != (d.Conversation == "c1" && !c.finder && !c.deduper) {
						t.Errorf("delivery %+v", d)
					}
					if d.Conversation == "c1" && c.outcome != "" && d.Outcome != c.outcome {
						t.Errorf("%s, want %s", d.Outcome, c.outcome)
					}
				}
			})
		})
	}
}

// Files go under a name that the platform gives them: it is noted before they are shown, and the
// part is found by it.
func TestLostFilesAreFoundByWhatWasNoted(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.script.Finder, r.script.Files = true, 2
		r.files = shelf{"1": "one"}
		r.brain.think = func(context.Context, agent.Turn) (string, error) { return "[it](attachment:1)", nil }
		lost := false
		r.platform.OnSend(func(p scripted.Post) (f channelstest.Fault) {
			f.LoseAnswer = len(p.Files) > 0 && !lost
			lost = lost || f.LoseAnswer
			return f
		})
		r.start()
		r.platform.Say("c1", "ada", "files")
		r.until("both parts are settled", func() bool { return len(r.deliveries("sent")) == 2 })
		if sent := r.platform.SentIn("c1"); len(sent) != 2 || len(r.platform.Tries()) != 2 {
			t.Errorf("shown %+v, %d tries", sent, len(r.platform.Tries()))
		}
		if d := r.deliveries("sent")[0]; d.Outcome != "found" {
			t.Errorf("%+v", d)
		}
	})
}

func TestSecondUnknownIsFinal(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.platform.OnSend(func(p scripted.Post) channelstest.Fault {
			return channelstest.Fault{LoseRequest: strings.HasSuffix(p.Text, "re: hello")}
		})
		r.start()
		r.platform.Say("c1", "ada", "hello")
		r.until("it was tried", func() bool { return len(r.platform.Tries()) == 1 })
		r.platform.Say("c2", "bob", "other")
		r.until("both tries were made", func() bool { return len(r.platform.Tries()) == 3 })
		r.platform.Say("c1", "ada", "next")
		r.await(2)
		unknown := r.deliveries("unknown")
		if len(unknown) != 1 || unknown[0].Outcome != "unknown_twice" {
			t.Errorf("unknown: %+v", unknown)
		}
	})
}

func TestTemporaryRefusalsAreTriedAgain(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.platform.Next(
			channelstest.Fault{Refused: "internal error", Temporary: true},
			channelstest.Fault{RateLimited: true, RetryAfter: 10 * time.Millisecond},
			channelstest.Fault{RateLimited: true, RetryAfter: 10 * time.Millisecond, Channel: true},
		)
		r.start()
		r.platform.Say("c1", "ada", "hello")
		r.shows(1, "re: hello")
		r.platform.Next(channelstest.Fault{Refused: "no such thing"})
		r.platform.Say("c1", "ada", "refused")
		r.until("it is dead", func() bool { return len(r.deliveries("dead")) == 1 })
		r.await(2) // it is told
		r.platform.Next(channelstest.Fault{Gone: true})
		r.platform.Say("c1", "ada", "gone")
		r.until("it is dropped", func() bool { return len(r.deliveries("dropped")) == 1 })
		r.platform.Say("c2", "ada", "elsewhere")
		r.await(3)
	})
}

func TestEveryPartIsARowBeforeItIsSent(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		var missing []string
		var mu sync.Mutex
		r.platform.OnSend(func(p scripted.Post) channelstest.Fault {
			list, err := r.db.Router().Deliveries(context.Background(), "sending", 1000)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				missing = append(missing, err.Error())
				return channelstest.Fault{}
			}
			for _, d := range list {
				if d.Text == p.Text && d.Conversation == string(p.Conversation) {
					return channelstest.Fault{}
				}
			}
			missing = append(missing, p.Text)
			return channelstest.Fault{}
		})
		r.script.MaxText = 200
		r.start()
		r.platform.Say("c1", "ada", strings.Repeat("word ", 100))
		r.platform.Say("c2", "bob", "short")
		r.until("all is sent", func() bool { return len(r.deliveries("sent")) >= 4 && len(r.deliveries("pending")) == 0 })
		mu.Lock()
		defer mu.Unlock()
		if len(missing) > 0 {
			t.Errorf("sent with no row in state sending: %q", missing)
		}
		for i, s := range r.platform.SentIn("c1") {
			if len(s.Text) > 200 {
				t.Errorf("part %d is %d long", i, len(s.Text))
			}
		}
	})
}

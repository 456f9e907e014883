package outbox_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router/commands"
	"switchboard/router/outbox"
	"switchboard/router/routertest"
	"switchboard/store/storetest"
)

func TestAdminsMendDeliveriesInADirectChat(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Commands = []commands.Command{outbox.Command(r.DB.Router())}
		r.Start()
		r.Platform.Say("c1", "ada", "/deliveries")
		r.Mentions(1, "Everything was sent")
		r.Platform.Next(channelstest.Fault{Refused: "no such thing"})
		r.Platform.Say("c2", "bob", "hello")
		r.Until("its answer is dead", func() bool { return len(r.Deliveries("dead")) == 1 })
		id := r.Deliveries("dead")[0].ID
		said := func(what, part string) {
			t.Helper()
			r.Platform.Say("c1", "ada", what)
			r.Until(part, func() bool { return strings.Contains(strings.Join(routertest.Texts(r.Platform.Sent()), "\n"), part) })
		}
		said("/deliveries", "(refused) on play: re: hello")
		said("/deliveries drop 999", "There is no delivery 999.")
		said(fmt.Sprint("/deliveries retry ", id), fmt.Sprintf("Delivery %d was dead and is pending now.", id))
		r.Until("it is sent", func() bool {
			return slices.ContainsFunc(r.Deliveries("sent"), func(d outbox.Info) bool { return d.ID == id }) &&
				slices.Contains(routertest.Texts(r.Platform.Sent()), "re: hello")
		})
		said(fmt.Sprint("/deliveries drop ", id), "it was sent, and cannot be taken back")
	})
}

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
				r.Script.Finder, r.Script.Deduper = c.finder, c.deduper
				if c.finder && c.deduper {
					r.Script.Window = time.Nanosecond
				}
				if c.deduper {
					r.Platform.Dedupe(2 * time.Minute)
				}
				r.Platform.Next(channelstest.Fault{LoseAnswer: true})
				r.Start()
				r.Platform.Say("c1", "ada", "hello")
				r.Until("it was tried", func() bool { return len(r.Platform.Tries()) == 1 })
				r.Platform.Say("c2", "bob", "hello") // shows that the platform takes messages
				r.Until("both are settled", func() bool { return len(r.Deliveries("sent")) == 2 })
				if got := routertest.Texts(r.Platform.SentIn("c1")); fmt.Sprint(got) != fmt.Sprint(c.want) {
					t.Errorf("shown %q, want %q", got, c.want)
				}
				for _, d := range r.Deliveries("sent") {
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
		r.Script.Finder, r.Script.Files = true, 2
		r.Files = routertest.Shelf{"1": "one"}
		r.Brain.Think = func(context.Context, agent.Turn) (string, error) { return "[it](attachment:1)", nil }
		lost := false
		r.Platform.OnSend(func(p scripted.Post) (f channelstest.Fault) {
			f.LoseAnswer = len(p.Files) > 0 && !lost
			lost = lost || f.LoseAnswer
			return f
		})
		r.Start()
		r.Platform.Say("c1", "ada", "files")
		r.Until("both parts are settled", func() bool { return len(r.Deliveries("sent")) == 2 })
		if sent := r.Platform.SentIn("c1"); len(sent) != 2 || len(r.Platform.Tries()) != 2 {
			t.Errorf("shown %+v, %d tries", sent, len(r.Platform.Tries()))
		}
		if d := r.Deliveries("sent")[0]; d.Outcome != "found" {
			t.Errorf("%+v", d)
		}
	})
}

func TestSecondUnknownIsFinal(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Platform.OnSend(func(p scripted.Post) channelstest.Fault {
			return channelstest.Fault{LoseRequest: strings.HasSuffix(p.Text, "re: hello")}
		})
		r.Start()
		r.Platform.Say("c1", "ada", "hello")
		r.Until("it was tried", func() bool { return len(r.Platform.Tries()) == 1 })
		r.Platform.Say("c2", "bob", "other")
		r.Until("both tries were made", func() bool { return len(r.Platform.Tries()) >= 3 })
		r.Platform.Say("c1", "ada", "next")
		r.Await(2)
		unknown := r.Deliveries("unknown")
		if len(unknown) != 1 || unknown[0].Outcome != "unknown_twice" {
			t.Errorf("unknown: %+v", unknown)
		}
	})
}

func TestTemporaryRefusalsAreTriedAgain(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Platform.Next(
			channelstest.Fault{Refused: "internal error", Temporary: true},
			channelstest.Fault{RateLimited: true, RetryAfter: 10 * time.Millisecond},
			channelstest.Fault{RateLimited: true, RetryAfter: 10 * time.Millisecond, Channel: true},
		)
		r.Start()
		r.Platform.Say("c1", "ada", "hello")
		r.Shows(1, "re: hello")
		r.Platform.Next(channelstest.Fault{Refused: "no such thing"})
		r.Platform.Say("c1", "ada", "refused")
		r.Until("it is dead", func() bool { return len(r.Deliveries("dead")) == 1 })
		r.Await(2) // it is told
		r.Platform.Next(channelstest.Fault{Gone: true})
		r.Platform.Say("c1", "ada", "gone")
		r.Until("it is dropped", func() bool { return len(r.Deliveries("dropped")) == 1 })
		r.Platform.Say("c2", "ada", "elsewhere")
		r.Await(3)
	})
}

func TestEveryPartIsARowBeforeItIsSent(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		var missing []string
		var mu sync.Mutex
		r.Platform.OnSend(func(p scripted.Post) channelstest.Fault {
			list, err := r.DB.Router().Deliveries(context.Background(), storetest.All, "sending", 1000)
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
		r.Script.MaxText = 200
		r.Start()
		r.Platform.Say("c1", "ada", strings.Repeat("word ", 100))
		r.Platform.Say("c2", "bob", "short")
		r.Until("all is sent", func() bool { return len(r.Deliveries("sent")) >= 4 && len(r.Deliveries("pending")) == 0 })
		mu.Lock()
		defer mu.Unlock()
		if len(missing) > 0 {
			t.Errorf("sent with no row in state sending: %q", missing)
		}
		for i, s := range r.Platform.SentIn("c1") {
			if len(s.Text) > 200 {
				t.Errorf("part %d is %d long", i, len(s.Text))
			}
		}
	})
}

package outbox_test

import (
	"errors"
	"testing"
	"time"

	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router/routertest"
)

// A draft stands where the answer will, so it must not overtake an earlier answer
// that is still on its way.
func TestProgressWaitsForWhatWasSaidBefore(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		slow := 1
		r.Platform.OnSend(func(scripted.Post) channelstest.Fault {
			if slow--; slow == 0 {
				return channelstest.Fault{Delay: 6 * time.Second}
			}
			return channelstest.Fault{}
		})
		first := true
		r.Agent = routertest.Acting(func(p routertest.Play) error {
			if first {
				first = false
				return p.Answer("one")
			}
			return errors.Join(p.Plan(0, "Second", "sweep"), p.Work(0, 0, 12*time.Second), p.Answer("two"))
		})
		r.Start()
		r.Platform.Say("c1", "ada", "first")
		r.Platform.Say("c1", "ada", "second")
		r.Settled(2)
		r.Reads("one", "two")
		if len(drafted(r)) == 0 {
			t.Error("no progress was shown at all")
		}
	})
}

// In a group the answer hangs on its question, also where it takes a draft's place.
func TestProgressHangsOnTheQuestion(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.Channel.Groups = "open"
		r.Agent = routertest.Acting(func(p routertest.Play) error {
			return errors.Join(p.Plan(0, "Tidy", "sweep"), p.Work(0, 0, 4*time.Second), p.Answer("clean"))
		})
		r.Start()
		asked := r.Platform.Write(scripted.Message{Conversation: "g1", Kind: "group", User: "ada", Text: "tidy", Mentioned: true})
		r.Settled(1)
		sent := r.Platform.Sent()
		if len(sent) != 1 || sent[0].Edits == 0 || string(sent[0].ReplyTo) != asked {
			t.Errorf("shown %+v, want an edited draft that answers %s", sent, asked)
		}
	})
}

// With one message a second and twenty a minute, a draft delays the answer by
// nothing, and a platform's retry_after is kept to the second.
func TestDraftUnderLimitsDelaysNoAnswer(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.Channel.Rate = "default"
		r.Script.PerSecond, r.Script.PerConversationSecond, r.Script.PerConversationMinute = 30, 1, 20
		var spoke, shown time.Time
		edits := 0
		r.OnChange(scripted.OpEdit, func(c scripted.Change) channelstest.Fault {
			if edits++; edits == 1 {
				return channelstest.Fault{RateLimited: true, RetryAfter: 7 * time.Second}
			}
			shown = time.Now()
			return channelstest.Fault{}
		})
		drafts := 0
		r.Agent = routertest.Acting(func(p routertest.Play) error {
			err := errors.Join(p.Plan(0, "Tidy", "sweep", "wash"), p.Work(0, 0, 1600*time.Millisecond))
			p.Pause(900 * time.Millisecond) // a draft has just gone
			drafts, spoke = len(drafted(r)), time.Now()
			return errors.Join(err, p.Answer("clean"))
		})
		r.Start()
		r.Platform.Say("c1", "ada", "tidy")
		r.Settled(1)
		if drafts == 0 || edits != 2 {
			t.Fatalf("%d drafts, %d edits", drafts, edits)
		}
		if d := shown.Sub(spoke); d < 7*time.Second || d > 7200*time.Millisecond {
			t.Errorf("the answer came %s after it was said, want the platform's 7s", d)
		}
	})
}

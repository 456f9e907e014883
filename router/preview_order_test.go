package router_test

import (
	"errors"
	"testing"
	"time"

	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
)

// A draft stands where the answer will, so it must not overtake an earlier answer
// that is still on its way.
func TestProgressWaitsForWhatWasSaidBefore(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		slow := 1
		r.platform.OnSend(func(scripted.Post) channelstest.Fault {
			if slow--; slow == 0 {
				return channelstest.Fault{Delay: 6 * time.Second}
			}
			return channelstest.Fault{}
		})
		first := true
		r.agent = acting(func(p play) error {
			if first {
				first = false
				return p.answer("one")
			}
			return errors.Join(p.plan(0, "Second", "sweep"), p.work(0, 0, 12*time.Second), p.answer("two"))
		})
		r.start()
		r.platform.Say("c1", "ada", "first")
		r.platform.Say("c1", "ada", "second")
		r.settled(2)
		r.reads("one", "two")
		if len(drafted(r)) == 0 {
			t.Error("no progress was shown at all")
		}
	})
}

// In a group the answer hangs on its question, also where it takes a draft's place.
func TestProgressHangsOnTheQuestion(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.channel.Groups = "open"
		r.agent = acting(func(p play) error {
			return errors.Join(p.plan(0, "Tidy", "sweep"), p.work(0, 0, 4*time.Second), p.answer("clean"))
		})
		r.start()
		asked := r.platform.Write(scripted.Message{Conversation: "g1", Kind: "group", User: "ada", Text: "tidy", Mentioned: true})
		r.settled(1)
		sent := r.platform.Sent()
		if len(sent) != 1 || sent[0].Edits == 0 || string(sent[0].ReplyTo) != asked {
			t.Errorf("shown %+v, want an edited draft that answers %s", sent, asked)
		}
	})
}

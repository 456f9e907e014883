package router_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
)

// The first part of a long answer takes the draft's place, the others follow it, the
// last one with the buttons, files behind.
func TestLongAnswerTakesTheDraftsPlace(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.script.MaxText, r.script.Buttons, r.script.Files = 100, true, 2
		r.files = shelf{"1": "one"}
		r.agent = acting(func(p play) error {
			return errors.Join(p.plan(0, "Tidy", "sweep"), p.work(0, 0, 4*time.Second), p.Commit(p.ctx, agent.Step{
				Say: []agent.Say{{Text: strings.Repeat("many words ", 20) + "[file](attachment:1)", Choices: []string{"yes", "no"}}},
				End: &agent.End{State: "done", Outcome: "asked"},
			}))
		})
		r.start()
		r.platform.Say("c1", "ada", "tidy")
		r.settled(4)
		sent := r.platform.Sent()
		if len(sent) != 4 || sent[0].Edits == 0 || sent[1].Edits != 0 {
			t.Fatalf("shown %+v", sent)
		}
		for i, s := range sent {
			if (len(s.Buttons) == 2) != (i == 2) || (len(s.Files) == 1) != (i == 3) {
				t.Errorf("part %d: %+v", i, s)
			}
		}
	})
}

// With one message a second and twenty a minute, a draft delays the answer by
// nothing, and a platform's retry_after is kept to the second.
func TestDraftUnderLimitsDelaysNoAnswer(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.channel.Rate = "default"
		r.script.PerSecond, r.script.PerConversationSecond, r.script.PerConversationMinute = 30, 1, 20
		var spoke, shown time.Time
		edits := 0
		r.onChange(scripted.OpEdit, func(c scripted.Change) channelstest.Fault {
			if edits++; edits == 1 {
				return channelstest.Fault{RateLimited: true, RetryAfter: 7 * time.Second}
			}
			shown = time.Now()
			return channelstest.Fault{}
		})
		drafts := 0
		r.agent = acting(func(p play) error {
			err := errors.Join(p.plan(0, "Tidy", "sweep", "wash"), p.work(0, 0, 1600*time.Millisecond))
			p.pause(900 * time.Millisecond) // a draft has just gone
			drafts, spoke = len(drafted(r)), time.Now()
			return errors.Join(err, p.answer("clean"))
		})
		r.start()
		r.platform.Say("c1", "ada", "tidy")
		r.settled(1)
		if drafts == 0 || edits != 2 {
			t.Fatalf("%d drafts, %d edits", drafts, edits)
		}
		if d := shown.Sub(spoke); d < 7*time.Second || d > 7200*time.Millisecond {
			t.Errorf("the answer came %s after it was said, want the platform's 7s", d)
		}
	})
}

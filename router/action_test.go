package router_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router/routertest"
)

// asking answers "ask" with a question and everything else by repeating it.
func asking() routertest.Acting {
	return func(p routertest.Play) error {
		if !strings.HasPrefix(p.Turn.Message.Text, "ask") {
			return p.Answer("re: " + p.Turn.Message.Text)
		}
		return p.Commit(p.Ctx, agent.Step{
			Say: []agent.Say{{Text: "Which way?", Choices: []string{"Left", "Right"}}},
			End: &agent.End{State: "done", Outcome: "asked"},
		})
	}
}

// choosing is a rig in which ada was asked something in c1.
func choosing(r *rig) {
	r.Agent, r.Script.Rich, r.Script.Buttons = asking(), true, true
	r.Start()
	r.Platform.Say("c1", "ada", "ask")
	r.Await(1)
	r.Until("it is known to be sent", func() bool { return len(r.Deliveries("sent")) == 1 })
}

func (r *rig) pressAgain(user, label string) string {
	r.T.Helper()
	id, code := r.Code(label)
	return r.Toast(r.Platform.PressCode("c1", user, id, code))
}

func TestPressCountsOnceAndOnlyForWhoWasAsked(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		choosing(r)
		r.Toasts(r.Platform.Press("c1", "bob", "Left"), "This is not for you.")
		unheard := r.Platform.Press("c1", "eve", "Left")
		r.Platform.NextChange(channelstest.Fault{RateLimited: true, RetryAfter: time.Second})
		r.Toasts(r.Platform.Press("c1", "ada", "Right"), "")
		for _, toast := range r.Platform.Toasts() { // hers came before ada's
			if toast.Callback == unheard {
				t.Errorf("a stranger is shown %q", toast.Text)
			}
		}
		r.Shows(2, "re: Right")
		r.Until("the buttons are gone, once the platform takes that", func() bool { return len(r.Platform.Changes(scripted.OpUnbutton)) > 1 })
		for _, label := range []string{"Right", "Left"} {
			if got := r.pressAgain("ada", label); got != "That question was answered already." {
				t.Errorf("%s again: %q", label, got)
			}
		}
		r.Toasts(r.Platform.PressCode("c1", "ada", "m1", "made-up"), "This button does not work any more.")
		r.HasTurns(2)
	})
}

func TestPressedTwiceAtOnceCountsOnce(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		choosing(r)
		_, left := r.Code("Left")
		_, right := r.Code("Right")
		receipts := make([][]channels.Receipt, 8)
		var pressing sync.WaitGroup
		for i := range receipts {
			pressing.Go(func() {
				e := routertest.Event(i, "c1", "ada", "")
				e.Kind, e.Message = channels.EventAction, channels.Message{}
				e.Action = channels.Action{Code: [...]string{left, right}[i%2]}
				var err error
				if receipts[i], err = r.Router.Accept(t.Context(), []channels.Event{e}); err != nil {
					t.Error(err)
				}
			})
		}
		pressing.Wait()
		accepted := 0
		for _, list := range receipts {
			if list[0].TurnID != 0 {
				accepted++
			} else if list[0].Toast != "That question was answered already." {
				t.Errorf("%+v", list[0])
			}
		}
		r.Await(2)
		if accepted != 1 || len(r.Turns()) != 2 {
			t.Errorf("%d presses were accepted, %d turns", accepted, len(r.Turns()))
		}
	})
}

// Only buttons that are used up are taken away, whatever message a press names.
func TestMadeUpPressTakesOnlyUsedButtonsAway(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		choosing(r)
		first, used := r.Code("Left")
		for _, user := range []string{"ada", "bob"} {
			r.Toasts(r.Platform.PressCode("c1", user, first, "made-up"), "This button does not work any more.")
		}
		r.Toasts(r.Platform.Press("c1", "ada", "Left"), "")
		r.Await(2)
		r.Platform.Say("c1", "ada", "ask")
		second := string(r.Await(3)[2].ID)
		r.Until("it is known to be sent", func() bool { return len(r.Deliveries("sent")) == 3 })
		r.Toasts(r.Platform.PressCode("c1", "ada", second, used), "That question was answered already.")
		r.End() // waits for what goes on beside
		changes := r.Platform.Changes(scripted.OpUnbutton)
		for _, change := range changes {
			if string(change.ID) != first {
				t.Errorf("the buttons of %s were taken away, of %d in all", change.ID, len(changes))
			}
		}
		if len(changes) == 0 {
			t.Error("the buttons that are used up stay")
		}
	})
}

func TestTypedNumberIsAChoiceOnce(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		choosing(r)
		r.Platform.Say("c1", "ada", "3")
		r.Platform.Say("c1", "bob", "1")
		r.Platform.Say("c1", "ada", " 2 ")
		r.Platform.Say("c1", "ada", "2")
		sent := r.Await(5)
		if got := strings.Join(routertest.Texts(sent[1:]), "|"); got != "re: 3|re: 1|re: Right|re: 2" {
			t.Errorf("sent %q", got)
		}
		r.Until("the buttons are gone", func() bool { return len(r.Platform.Changes(scripted.OpUnbutton)) > 0 })
		if got := r.pressAgain("ada", "Left"); got != "That question was answered already." {
			t.Errorf("pressed after it was typed: %q", got)
		}
	})
}

// The words of a choice are as good as its button.
func TestTypedLabelIsAsGoodAsItsButton(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		choosing(r)
		r.Platform.Say("c1", "bob", "left")
		r.Platform.Write(scripted.Message{Conversation: "c1", User: "ada", Text: "left", Forwarded: true})
		r.Platform.Say("c1", "ada", "left or right?")
		r.Platform.Say("c1", "ada", " LEFT ")
		r.Platform.Say("c1", "ada", "right")
		sent := r.Await(6)
		if got := strings.Join(routertest.Texts(sent[1:]), "|"); got != "re: left|re:|re: left or right?|re: Left|re: right" {
			t.Errorf("sent %q", got)
		}
		r.Until("the buttons are gone", func() bool { return len(r.Platform.Changes(scripted.OpUnbutton)) > 0 })
	})
}

// A question outlives the engine that asked it.
func TestPressAfterRestartIsAnswered(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		choosing(r)
		r.End()
		callback := r.Platform.Press("c1", "ada", "Left")
		r.Start()
		r.Toasts(callback, "")
		r.Shows(2, "re: Left")
	})
}

func TestPressAfterADayHasExpired(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		choosing(r)
		time.Sleep(24*time.Hour + time.Second)
		r.Toasts(r.Platform.Press("c1", "ada", "Left"), "This choice has expired.")
		r.Platform.Say("c1", "ada", "1")
		r.Shows(2, "re: 1")
	})
}

// A press that is one too many uses nothing up.
func TestPressTooFastUsesNothingUp(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Config.RatePerson = "1/h"
		choosing(r)
		if got := r.Toast(r.Platform.Press("c1", "ada", "Left")); !strings.Contains(got, "Slow down") {
			t.Errorf("ada is shown %q", got)
		}
		if sent := r.Await(2); !strings.Contains(sent[1].Text, "too fast: I read ") || len(r.Turns()) != 1 {
			t.Errorf("sent %q", routertest.Texts(sent))
		}
		if n := len(r.Platform.Changes(scripted.OpUnbutton)); n != 0 {
			t.Error("the buttons are gone")
		}
	})
}

// In every mode a press ends in an answer, beside a turn that runs too.
func TestPressWhileBusyIsAnsweredInEveryMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"queue", "steer", "interrupt", "collect"} {
		t.Run(mode, func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				r.Config.Busy, r.Config.CollectWindow = mode, 20*time.Millisecond
				answer, began := asking(), make(chan struct{})
				release := make(chan struct{})
				r.Agent, r.Script.Rich, r.Script.Buttons = routertest.Acting(func(p routertest.Play) error {
					if p.Turn.Message.Text != "long" {
						return answer(p)
					}
					close(began)
					select {
					case <-release:
					case <-p.Ctx.Done():
					}
					if context.Cause(p.Ctx) != nil {
						return p.Commit(context.WithoutCancel(p.Ctx), agent.Step{End: &agent.End{State: "cancelled", Outcome: context.Cause(p.Ctx).Error()}})
					}
					return p.Answer("re: long")
				}), true, true
				r.Start()
				r.Platform.Say("c1", "ada", "ask")
				r.Await(1)
				r.Platform.Say("c1", "ada", "long")
				<-began
				r.Toasts(r.Platform.Press("c1", "ada", "Left"), "")
				close(release)
				r.Until("the choice is answered", func() bool { return slices.Contains(routertest.Texts(r.Platform.Sent()), "re: Left") })
				if mode == "interrupt" {
					for _, turn := range r.Turns() {
						if turn.Text == "long" && turn.Outcome != agent.ErrInterrupted.Error() {
							t.Errorf("the running turn ended %s (%s)", turn.State, turn.Outcome)
						}
					}
				}
			})
		})
	}
}

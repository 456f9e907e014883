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
)

// asking answers "ask" with a question and everything else by repeating it.
func asking() acting {
	return func(p play) error {
		if !strings.HasPrefix(p.turn.Message.Text, "ask") {
			return p.answer("re: " + p.turn.Message.Text)
		}
		return p.Commit(p.ctx, agent.Step{
			Say: []agent.Say{{Text: "Which way?", Choices: []string{"Left", "Right"}}},
			End: &agent.End{State: "done", Outcome: "asked"},
		})
	}
}

// choosing is a rig in which ada was asked something in c1.
func choosing(r *rig) {
	r.agent, r.script.Rich, r.script.Buttons = asking(), true, true
	r.start()
	r.platform.Say("c1", "ada", "ask")
	r.await(1)
	r.until("it is known to be sent", func() bool { return len(r.deliveries("sent")) == 1 })
}

// toast is what a press is answered with.
func (r *rig) toast(callback string) string {
	r.t.Helper()
	var text string
	r.until("the press is answered", func() bool {
		for _, toast := range r.platform.Toasts() {
			if toast.Callback == callback {
				text = toast.Text
				return true
			}
		}
		return false
	})
	return text
}

// code is that of a button that was shown, be it there or not any more.
func (r *rig) code(label string) (id, code string) {
	for _, try := range r.platform.Tries() {
		for _, b := range try.Buttons {
			if b.Label == label {
				return string(r.platform.SentIn("c1")[0].ID), b.Code
			}
		}
	}
	r.t.Fatalf("no button %s was shown", label)
	return "", ""
}

// toasts is toast, which is to say want.
func (r *rig) toasts(callback, want string) {
	r.t.Helper()
	if got := r.toast(callback); got != want {
		r.t.Errorf("the press is answered %q, want %q", got, want)
	}
}

func (r *rig) pressAgain(user, label string) string {
	r.t.Helper()
	id, code := r.code(label)
	return r.toast(r.platform.PressCode("c1", user, id, code))
}

func TestPressCountsOnceAndOnlyForWhoWasAsked(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		choosing(r)
		r.toasts(r.platform.Press("c1", "bob", "Left"), "This is not for you.")
		unheard := r.platform.Press("c1", "eve", "Left")
		r.platform.NextChange(channelstest.Fault{RateLimited: true, RetryAfter: time.Second})
		r.toasts(r.platform.Press("c1", "ada", "Right"), "")
		for _, toast := range r.platform.Toasts() { // hers came before ada's
			if toast.Callback == unheard {
				t.Errorf("a stranger is shown %q", toast.Text)
			}
		}
		r.shows(2, "re: Right")
		r.until("the buttons are gone, once the platform takes that", func() bool { return len(r.platform.Changes(scripted.OpUnbutton)) > 1 })
		for _, label := range []string{"Right", "Left"} {
			if got := r.pressAgain("ada", label); got != "That question was answered already." {
				t.Errorf("%s again: %q", label, got)
			}
		}
		r.toasts(r.platform.PressCode("c1", "ada", "m1", "made-up"), "This button does not work any more.")
		r.hasTurns(2)
	})
}

func TestPressedTwiceAtOnceCountsOnce(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		choosing(r)
		_, left := r.code("Left")
		_, right := r.code("Right")
		receipts := make([][]channels.Receipt, 8)
		var pressing sync.WaitGroup
		for i := range receipts {
			pressing.Go(func() {
				e := event(i, "c1", "ada", "")
				e.Kind, e.Message = channels.EventAction, channels.Message{}
				e.Action = channels.Action{Code: [...]string{left, right}[i%2]}
				var err error
				if receipts[i], err = r.router.Accept(t.Context(), []channels.Event{e}); err != nil {
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
		r.await(2)
		if accepted != 1 || len(r.turns()) != 2 {
			t.Errorf("%d presses were accepted, %d turns", accepted, len(r.turns()))
		}
	})
}

// Only buttons that are used up are taken away, whatever message a press names.
func TestMadeUpPressTakesOnlyUsedButtonsAway(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		choosing(r)
		first, used := r.code("Left")
		for _, user := range []string{"ada", "bob"} {
			r.toasts(r.platform.PressCode("c1", user, first, "made-up"), "This button does not work any more.")
		}
		r.toasts(r.platform.Press("c1", "ada", "Left"), "")
		r.await(2)
		r.platform.Say("c1", "ada", "ask")
		second := string(r.await(3)[2].ID)
		r.until("it is known to be sent", func() bool { return len(r.deliveries("sent")) == 3 })
		r.toasts(r.platform.PressCode("c1", "ada", second, used), "That question was answered already.")
		r.end() // waits for what goes on beside
		changes := r.platform.Changes(scripted.OpUnbutton)
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
		r.platform.Say("c1", "ada", "3")
		r.platform.Say("c1", "bob", "1")
		r.platform.Say("c1", "ada", " 2 ")
		r.platform.Say("c1", "ada", "2")
		sent := r.await(5)
		if got := strings.Join(texts(sent[1:]), "|"); got != "re: 3|re: 1|re: Right|re: 2" {
			t.Errorf("sent %q", got)
		}
		r.until("the buttons are gone", func() bool { return len(r.platform.Changes(scripted.OpUnbutton)) > 0 })
		if got := r.pressAgain("ada", "Left"); got != "That question was answered already." {
			t.Errorf("pressed after it was typed: %q", got)
		}
	})
}

// The words of a choice are as good as its button.
func TestTypedLabelIsAsGoodAsItsButton(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		choosing(r)
		r.platform.Say("c1", "bob", "left")
		r.platform.Write(scripted.Message{Conversation: "c1", User: "ada", Text: "left", Forwarded: true})
		r.platform.Say("c1", "ada", "left or right?")
		r.platform.Say("c1", "ada", " LEFT ")
		r.platform.Say("c1", "ada", "right")
		sent := r.await(6)
		if got := strings.Join(texts(sent[1:]), "|"); got != "re: left|re:|re: left or right?|re: Left|re: right" {
			t.Errorf("sent %q", got)
		}
		r.until("the buttons are gone", func() bool { return len(r.platform.Changes(scripted.OpUnbutton)) > 0 })
	})
}

// A question outlives the engine that asked it.
func TestPressAfterRestartIsAnswered(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		choosing(r)
		r.end()
		callback := r.platform.Press("c1", "ada", "Left")
		r.start()
		r.toasts(callback, "")
		r.shows(2, "re: Left")
	})
}

func TestPressAfterADayHasExpired(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		choosing(r)
		time.Sleep(24*time.Hour + time.Second)
		r.toasts(r.platform.Press("c1", "ada", "Left"), "This choice has expired.")
		r.platform.Say("c1", "ada", "1")
		r.shows(2, "re: 1")
	})
}

// A press that is one too many uses nothing up.
func TestPressTooFastUsesNothingUp(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.config.RatePerson = "1/h"
		choosing(r)
		if got := r.toast(r.platform.Press("c1", "ada", "Left")); !strings.Contains(got, "Slow down") {
			t.Errorf("ada is shown %q", got)
		}
		if sent := r.await(2); !strings.Contains(sent[1].Text, "too fast: I read ") || len(r.turns()) != 1 {
			t.Errorf("sent %q", texts(sent))
		}
		if n := len(r.platform.Changes(scripted.OpUnbutton)); n != 0 {
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
				r.config.Busy, r.config.CollectWindow = mode, 20*time.Millisecond
				answer, began := asking(), make(chan struct{})
				release := make(chan struct{})
				r.agent, r.script.Rich, r.script.Buttons = acting(func(p play) error {
					if p.turn.Message.Text != "long" {
						return answer(p)
					}
					close(began)
					select {
					case <-release:
					case <-p.ctx.Done():
					}
					if context.Cause(p.ctx) != nil {
						return p.Commit(context.WithoutCancel(p.ctx), agent.Step{End: &agent.End{State: "cancelled", Outcome: context.Cause(p.ctx).Error()}})
					}
					return p.answer("re: long")
				}), true, true
				r.start()
				r.platform.Say("c1", "ada", "ask")
				r.await(1)
				r.platform.Say("c1", "ada", "long")
				<-began
				r.toasts(r.platform.Press("c1", "ada", "Left"), "")
				close(release)
				r.until("the choice is answered", func() bool { return slices.Contains(texts(r.platform.Sent()), "re: Left") })
				if mode == "interrupt" {
					for _, turn := range r.turns() {
						if turn.Text == "long" && turn.Outcome != agent.ErrInterrupted.Error() {
							t.Errorf("the running turn ended %s (%s)", turn.State, turn.Outcome)
						}
					}
				}
			})
		})
	}
}

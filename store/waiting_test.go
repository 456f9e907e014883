package store_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/approvals"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/router/people"
)

// parks is a step by which a turn waits, with a task that is not begun.
func parks() agent.Step {
	return agent.Step{
		Calls: []agent.Call{{Step: "plan.0.1", Role: "planner"}},
		Plan:  &agent.PlanRow{Goal: "run it", Tasks: []agent.TaskRow{{Task: agent.Task{Type: agent.TaskExec, Detail: "true"}}}},
		Ask:   &agent.Ask{Tool: "exec", Shown: "true", Hash: []byte("true"), Rule: "policy.ask"},
		End:   &agent.End{State: "waiting"},
	}
}

// asked is the question of a turn, in the conversation conv, that its code decides.
func asked(turn int64, conv string) approvals.Asked {
	reply := text("May I?")
	reply.Actions = []outbox.Action{{Code: codeOf(turn), Kind: outbox.ActionApproval}}
	return approvals.Asked{ExpiresAt: time.Now().Add(24 * time.Hour), Questions: []outbox.Question{{
		Conversation: entry(conv, "", "").Event.Conversation, Reply: *reply, Code: fmt.Sprint("code ", turn),
	}}}
}

func codeOf(turn int64) []byte { return outbox.HashCode(fmt.Sprint("code ", turn)) }

// decides is what an admin types in the conversation of the question.
func decides(turn int64, conv string, does outbox.Does) intake.Entry {
	e := entry(conv, fmt.Sprint("decides ", turn, rand.Text()), "/approve")
	e.Sender.Person, e.Intent = "root", &approvals.DecisionIntent{Code: codeOf(turn), Does: does}
	return e
}

// root is an admin.
func (h *house) root() {
	h.Helper()
	if _, err := h.Router.SetPeople(h.Ctx, []core.Person{{Name: "root", Role: "admin"}}); err != nil {
		h.Fatal(err)
	}
}

// park parks a turn of the conversation conv, with a question there.
func (h *house) park(ref core.TurnRef, conv string) *core.Claimed {
	h.Helper()
	next, err := h.Router.Ask(h.Ctx, ref, parks(), asked(ref.TurnID, conv))
	if err != nil {
		h.Fatalf("park: %v", err)
	}
	return next
}

// decide allows what a turn of the conversation c waits for.
func (h *house) decide(turn int64) {
	h.Helper()
	h.root()
	if a := h.Accept(decides(turn, "c", outbox.DoesOnce))[0]; a.Decided != turn || a.Outcome != approvals.Allowed {
		h.Fatalf("decide: %+v", a)
	}
}

// tooLate wants a decision to be without effect.
func (h *house) tooLate(turn int64, conv string) {
	h.Helper()
	h.root()
	if a := h.Accept(decides(turn, conv, outbox.DoesOnce))[0]; a.Decided != 0 || a.Action == outbox.ActionAccepted {
		h.Errorf("it was decided: %+v", a)
	}
}

func TestDecidedTurnGoesFirst(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		first := h.Begun("c", "1")
		second := h.Accept(entry("c", "2", ""))[0]
		next := h.park(first, "c")
		if next == nil || next.TurnID != second.TurnID {
			t.Fatalf("next %+v", next)
		}
		third := h.Accept(entry("c", "3", ""))[0]
		if next = h.park(next.TurnRef, "c"); next == nil || next.TurnID != third.TurnID {
			t.Fatalf("next %+v", next)
		}
		fourth := h.Accept(entry("c", "4", ""))[0]
		h.decide(first.TurnID)
		h.decide(second.TurnID) // later, and so before it
		if conv, err := h.Router.Cancel(h.Ctx, fourth.TurnID, people.LocalActor("owner")); err != nil || conv.ID != "c" {
			t.Fatal(conv, err)
		}
		fifth := h.Accept(entry("c", "5", ""))[0]
		h.giveBack(next.TurnRef)
		var order []int64
		for list := h.Claim(9); len(list) == 1; list = h.Claim(9) {
			for next = &list[0]; next != nil; next = h.Commit(next.TurnRef, end("done", "answered")) {
				order = append(order, next.TurnID)
			}
		}
		if want := []int64{third.TurnID, second.TurnID, first.TurnID, fifth.TurnID}; !slices.Equal(order, want) {
			t.Errorf("they ran in the order %v, want %v", order, want)
		}
	})
}

// A message to a session whose turn waits runs at once.
func TestNewerTurnRunsBesideOneThatWaits(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.Begun("c", "1")
		if next := h.park(ref, "c"); next != nil {
			t.Fatalf("next %+v", next)
		}
		if list := h.Claim(9); len(list) != 0 {
			t.Errorf("claimed %+v", list)
		}
		if again, err := h.Router.Idle(h.Ctx, ref.SessionID, 0); err != nil || again.IsZero() {
			t.Error(again, err)
		}
		h.wantCount(0, "SELECT count(*) FROM events WHERE kind = 'session'")
		newer := h.Begun("c", "2")
		if v, err := h.Router.Current(h.Ctx, "tg:c"); err != nil || v.ID != newer.TurnID {
			t.Errorf("%+v, %v", v, err)
		}
		h.Commit(newer, end("done", "answered"))
		if v, err := h.Router.Current(h.Ctx, "tg:c"); err != nil || v.ID != ref.TurnID || v.State != "waiting" {
			t.Errorf("%+v, %v", v, err)
		}
		h.decide(ref.TurnID)
		if d := h.load(h.Claim(1)[0].TurnRef); !d.Overtaken || d.ReplyTo != "m1" || len(d.State.Plans) != 1 || d.State.Plans[0].Tasks[0].State != agent.TaskPending {
			t.Errorf("%+v", d)
		}
	})
}

// Hours that a turn waits are none of its own, nor time in which it was left alone; a
// newer turn is not late because of them.
func TestWaitingCountsAsNoTimeOfTheTurn(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		now := time.Now()
		h.DB.SetNow(func() time.Time { return now })
		ref := h.Begun("c", "1")
		began := now
		now = now.Add(time.Minute)
		h.park(ref, "c")
		now = now.Add(5 * time.Hour)
		h.decide(ref.TurnID)
		now = now.Add(time.Second)
		ref = h.Claim(1)[0].TurnRef
		d := h.load(ref)
		if got := d.Turn.StartedAt.Sub(began).Round(time.Millisecond); got != 5*time.Hour || d.Away != 0 || d.Overtaken {
			t.Errorf("begun %v later, away %v, overtaken %v", got, d.Away, d.Overtaken)
		}
		if away, err := h.Router.Resume(h.Ctx, ref, 10*time.Minute); err != nil || away != 0 {
			t.Errorf("away %v, %v", away, err)
		}
		newer := h.Accept(entry("c", "2", ""))[0]
		now = now.Add(time.Hour)
		next := h.Commit(ref, end("done", "answered"))
		if next == nil || next.TurnID != newer.TurnID {
			t.Fatalf("next %+v", next)
		}
		if list, err := h.Router.Backlog(h.Ctx, next.TurnRef, 10*time.Minute); err != nil || len(list) != 0 {
			t.Errorf("it came late because of its own session's work: %+v, %v", list, err)
		}
	})
}

func TestCancelEndsATurnThatWaits(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.Begun("c", "1")
		h.park(ref, "c")
		stop := control(entry("c", "2", "/cancel"), intake.EffectCancel, "idle")
		if a := h.Accept(stop)[0]; a.Outcome != intake.OutcomeDropped || a.CancelTurn != 0 {
			t.Errorf("%+v", a)
		}
		h.wantCount(1, "SELECT count(*) FROM turns WHERE state = 'cancelled' AND finished_at > 0")
		h.wantCount(1, "SELECT count(*) FROM tasks WHERE state = 'cancelled'")
		h.tooLate(ref.TurnID, "c")
	})
}

// A turn that is asked to stop asks nothing.
func TestTurnThatIsToStopDoesNotWait(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for conv, why := range map[string]core.Stop{"a": core.StopCancelled, "b": core.StopInterrupted} {
			ref := h.Begun(conv, conv+"1")
			h.Commit(ref, agent.Step{Calls: []agent.Call{{Step: "plan.0.0", Role: "planner"}}})
			stop := control(entry(conv, conv+"2", "/cancel"), intake.EffectCancel, "idle")
			if why == core.StopInterrupted {
				stop = mode(entry(conv, conv+"2", "newer"), "interrupt")
			}
			a := h.Accept(stop)[0]
			if a.CancelTurn != ref.TurnID {
				t.Fatalf("%+v", a)
			}
			if _, err := h.Router.Ask(h.Ctx, ref, parks(), asked(ref.TurnID, conv)); !errors.Is(err, core.ErrStopped) {
				t.Errorf("asked: %v", err)
			}
			h.wantCount(1, fmt.Sprintf("SELECT count(*) FROM turns WHERE id = %d AND state = 'running' AND cancel_requested = '%s'", ref.TurnID, why))
			h.wantCount(0, fmt.Sprintf("SELECT count(*) FROM approvals WHERE turn_id = %d", ref.TurnID))
			h.wantCount(0, fmt.Sprintf("SELECT count(*) FROM actions WHERE turn_id = %d", ref.TurnID))
			h.tooLate(ref.TurnID, conv)
		}
	})
}

// A session whose turn waits is asked about again, and rests after that turn was cancelled.
func TestSessionRestsAfterItsWaitingTurnIsCancelled(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		now := time.Now().Truncate(time.Microsecond)
		h.DB.SetNow(func() time.Time { return now })
		ref := h.Begun("c", "1")
		h.park(ref, "c")
		now = now.Add(2 * time.Hour)
		rests := func(again time.Time, events int) {
			t.Helper()
			if got, err := h.Router.Idle(h.Ctx, ref.SessionID, time.Hour); err != nil || !got.Equal(again) {
				t.Errorf("again at %v, want %v; %v", got, again, err)
			}
			h.wantCount(events, "SELECT count(*) FROM events WHERE kind = 'session'")
		}
		rests(now.Add(time.Hour), 0)
		if _, err := h.Router.Cancel(h.Ctx, ref.TurnID, people.LocalActor("owner")); err != nil {
			t.Fatal(err)
		}
		rests(now.Add(time.Hour), 0)
		now = now.Add(time.Hour)
		rests(time.Time{}, 1)
	})
}

// What is said to the newest turn is not merged into one that was decided, nor is that
// merged, or changed, as if it had not begun.
func TestDecidedTurnIsNotMerged(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		asked := claiming(entry("c", "1", "one"))
		asked.Turn().Mode = "steer"
		ref := h.Accept(asked)[0].Claimed.TurnRef
		h.park(ref, "c")
		running := h.Begun("c", "2")
		h.decide(ref.TurnID)
		if list, err := h.Router.Absorb(h.Ctx, running, 0); err != nil || len(list) != 0 {
			t.Errorf("absorbed %+v, %v", list, err)
		}
		more := entry("c", "3", "more")
		more.Turn().Mode, more.Turn().CollectWindow = "collect", time.Hour
		if a := h.Accept(more)[0]; a.Merged || a.TurnID == ref.TurnID {
			t.Errorf("%+v", a)
		}
		if a := h.Accept(edited("c", "1", "e1", "changed", "steer"))[0]; a.Edited != intake.EditRevised {
			t.Errorf("%+v", a)
		}
		back := entry("c", "4", "")
		back.Intent, back.Event.Kind, back.Event.Message = &intake.NewsIntent{}, channels.EventDeleted, channels.Message{ID: "m1"}
		if a := h.Accept(back)[0]; a.TurnID != ref.TurnID || a.CancelTurn != 0 {
			t.Errorf("%+v", a)
		}
		h.wantCount(1, "SELECT count(*) FROM turns WHERE state = 'cancelled'")
	})
}

// What is forgotten takes along the questions of its session, of everybody there, and no other.
func TestResetEndsTurnsThatWaitForADecision(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		reset := func(key string) intake.Accepted {
			e := control(entry("c", key, "/reset"), intake.EffectReset, "forgotten")
			e.Say = says(map[intake.Outcome]*outbox.Reply{intake.ResetAsked: text("forgotten, and not done")})
			return h.Accept(e)[0]
		}
		var waiting []int64
		for _, key := range []string{"1", "2"} {
			ref := h.Begun("c", key)
			h.park(ref, "c")
			waiting = append(waiting, ref.TurnID)
		}
		elsewhere := h.Begun("d", "3")
		h.park(elsewhere, "d")
		if a := reset("4"); a.Outcome != intake.ResetAsked || !slices.Equal(a.Dropped, waiting) {
			t.Errorf("%+v", a)
		}
		h.wantCount(2, "SELECT count(*) FROM turns WHERE state = 'cancelled' AND finished_at > 0")
		h.wantCount(1, "SELECT count(*) FROM approvals WHERE state = 'proposed'")
		h.wantCount(1, "SELECT count(*) FROM actions WHERE state = 'proposed'")
		h.wantCount(1, "SELECT count(*) FROM messages WHERE text = 'forgotten, and not done'")
		for _, turn := range waiting {
			h.tooLate(turn, "c")
		}
		if a := reset("5"); a.Outcome != "" || len(a.Dropped) != 0 {
			t.Errorf("there is nothing to end: %+v", a)
		}
	})
}

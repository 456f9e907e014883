package turns_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/store/storetest"
)

// away is a step by which a turn is tried again after wait, because its model is away.
func away(wait time.Duration, says ...agent.Say) agent.Step {
	return agent.Step{
		Calls: []agent.Call{{Step: "plan.0.1", Role: "planner", Error: "503", Usage: llm.Usage{In: 3}}}, Say: says,
		End: &agent.End{State: "queued", Outcome: agent.OutcomeModelAway, Wait: wait},
	}
}

// putOff puts a turn off, with nothing to be run in its session meanwhile.
func (h *house) putOff(ref core.TurnRef, step agent.Step) {
	h.Helper()
	var says []outbox.Reply
	for _, say := range step.Say {
		says = append(says, *storetest.Text(say.Text))
	}
	if next, err := h.Router.PutOff(h.Ctx, ref, step, says); err != nil || next != nil {
		h.Fatalf("put off: %+v, %v", next, err)
	}
}

// tried claims the turn that is put off, once it is time.
func (h *house) tried(turn int64) core.Claimed {
	h.Helper()
	var list []core.Claimed
	for until := time.Now().Add(30 * time.Second); len(list) == 0 && time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		list = h.Claim(9)
	}
	if len(list) != 1 || list[0].TurnID != turn {
		h.Fatalf("claimed %+v, want turn %d", list, turn)
	}
	return list[0]
}

func TestTurnThatIsPutOffKeepsItsPlace(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		first := h.Begun("c", "1")
		waits := h.Park(first, "c")
		if waits != nil {
			t.Fatalf("%+v", waits)
		}
		ref := h.Begun("c", "2")
		behind := h.One(storetest.Mode(storetest.Entry("c", "3", ""), "queue"))
		before := h.Load(ref)
		h.putOff(ref, away(time.Hour, agent.Say{Position: -1, Notice: true, Text: "It is away."}))
		h.WantState(ref.TurnID, "queued")
		if v, err := h.Router.Turn(h.Ctx, ref.TurnID, false); err != nil || v.NextTry == nil || time.Until(*v.NextTry) < 50*time.Minute || v.Outcome != agent.OutcomeModelAway {
			t.Errorf("shown as %+v, %v", v, err)
		}
		if a := h.One(storetest.Claiming(storetest.Entry("c", "4", ""))); a.Claimed != nil {
			t.Errorf("a later turn is run: %+v", a.Claimed)
		}
		if list := h.Claim(9); len(list) != 0 {
			t.Errorf("claimed %+v", list)
		}
		if _, err := h.Router.PutOff(h.Ctx, ref, away(time.Hour), nil); !errors.Is(err, core.ErrFenced) {
			t.Errorf("put off twice: %v", err)
		}
		h.decide(first.TurnID) // what was decided goes before it
		decided := h.tried(first.TurnID)
		if next := h.Commit(decided.TurnRef, storetest.End("done", "answered")); next != nil {
			t.Fatalf("next %+v", next)
		}
		h.Exec(fmt.Sprintf("UPDATE turns SET not_before = %d WHERE not_before > 0", time.Now().UnixMicro()))
		for range 2 {
			c := h.tried(ref.TurnID)
			d := h.Load(c.TurnRef)
			if waited := d.Turn.StartedAt.Sub(before.Turn.StartedAt); waited < time.Hour || waited > time.Hour+time.Minute {
				t.Errorf("the hour that it waited is %s", waited)
			}
			if len(d.State.Calls) != 1 || d.State.Calls[0].Error != "503" || d.State.Calls[0].At.IsZero() || time.Since(d.State.Calls[0].At) > time.Minute {
				t.Errorf("calls %+v", d.State.Calls)
			}
			if len(d.State.Said) != 1 || !d.State.Said[0].Notice {
				t.Errorf("said %+v", d.State.Said)
			}
			h.putOff(c.TurnRef, away(time.Millisecond))
		}
		c := h.tried(ref.TurnID)
		if next := h.Commit(c.TurnRef, storetest.End("done", "answered")); next == nil || next.TurnID != behind.TurnID {
			t.Errorf("behind it comes %+v", next)
		}
		h.WantCount(1, "SELECT count(*) FROM llm_calls WHERE step = 'plan.0.1' AND tokens_in = 9")
	})
}

// Each way in which a person changes what they asked for, while the turn is put off.
func TestTurnThatIsPutOffObeys(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		begun := func(conv string) core.TurnRef {
			ref := h.Begun(conv, conv+"1")
			h.putOff(ref, away(time.Hour))
			return ref
		}
		stopped := begun("stopped")
		h.Cancel(stopped.TurnID)
		h.WantState(stopped.TurnID, "cancelled")

		dropped := begun("dropped")
		if a := h.One(storetest.Control(storetest.Entry("dropped", "d2", "/cancel"), intake.EffectCancel, "nothing")); !a.Waiting {
			t.Errorf("what stands behind it waits for a look: %+v", a)
		}
		h.WantState(dropped.TurnID, "cancelled")

		ignored := begun("ignored")
		if a := h.One(storetest.Edited("ignored", "ignored1", "e1", "rather that", "ignore")); a.Outcome != "" {
			t.Errorf("said of an edit that is ignored: %s", a.Outcome)
		}
		h.WantState(ignored.TurnID, "queued")
		h.Cancel(ignored.TurnID)

		interrupted := begun("interrupted")
		newer := h.One(storetest.Mode(storetest.Entry("interrupted", "i2", "rather this"), "interrupt"))
		if newer.CancelTurn != interrupted.TurnID {
			t.Errorf("%+v", newer)
		}
		c := h.tried(interrupted.TurnID) // at once
		if d := h.Load(c.TurnRef); d.CancelRequested != core.StopInterrupted {
			t.Errorf("asked to stop: %q", d.CancelRequested)
		}
		if next := h.Commit(c.TurnRef, storetest.End("cancelled", "interrupted")); next == nil || next.TurnID != newer.TurnID {
			t.Errorf("next %+v", next)
		}

		for _, onEdit := range []string{"steer", "restart"} {
			ref := begun(onEdit)
			edit := h.One(storetest.Edited(onEdit, onEdit+"1", onEdit+"e", "rather that", onEdit))
			if edit.Steers != ref.TurnID {
				t.Errorf("%s: %+v", onEdit, edit)
			}
			h.Exec(fmt.Sprintf("UPDATE turns SET not_before = %d WHERE not_before > 0", time.Now().UnixMicro()))
			c := h.tried(ref.TurnID)
			if list := h.absorb(c.TurnRef, 0); texts(list) != "rather that" || list[0].Replaces == 0 {
				t.Errorf("%s: absorbed %+v", onEdit, list)
			}
			if next := h.Commit(c.TurnRef, storetest.End("done", "answered")); next != nil {
				t.Errorf("%s: the edit is answered once more: %+v", onEdit, next)
			}
		}

		run := h.Begun("run", "r1") // the time until its next try counts, as a job's does
		began := h.Load(run).Turn.StartedAt
		timed := away(time.Hour)
		timed.End.Timed = true
		h.Exec(fmt.Sprintf("UPDATE turns SET terms = '{}' WHERE id = %d", run.TurnID))
		h.putOff(run, timed)
		h.Exec(fmt.Sprintf("UPDATE turns SET not_before = %d WHERE not_before > 0", time.Now().UnixMicro()))
		if c := h.tried(run.TurnID); !h.Load(c.TurnRef).Turn.StartedAt.Equal(began) {
			t.Errorf("begun at %s, now at %s", began, h.Load(c.TurnRef).Turn.StartedAt)
		}

		asked := h.Begun("asked", "a1")
		h.One(storetest.Mode(storetest.Entry("asked", "a2", "stop it"), "interrupt"))
		if _, err := h.Router.PutOff(h.Ctx, asked, away(time.Hour), nil); !errors.Is(err, core.ErrStopped) {
			t.Errorf("a turn that was asked to stop: %v", err)
		}
		h.WantState(asked.TurnID, "running")
	})
}

// What a turn waited beyond the time of its next try, as no engine ran, is no time of its own either.
func TestTurnThatIsPutOffLosesNoTimeToARestart(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.Begun("c", "1")
		began := h.Load(ref).Turn.StartedAt
		h.putOff(ref, away(5*time.Second))
		h.Later(10 * time.Minute)
		c := h.tried(ref.TurnID)
		if waited := h.Load(c.TurnRef).Turn.StartedAt.Sub(began); waited < 9*time.Minute || waited > 11*time.Minute {
			t.Errorf("of 10 minutes between two tries %s are left out", waited)
		}
	})
}

package turns_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/router/people"
	"switchboard/store"
	"switchboard/store/storetest"
)

func TestTurnsRunInOrder(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.Begun("c", "1")
		second, third := h.Accept(storetest.Claiming(storetest.Entry("c", "2", "")))[0], h.Accept(storetest.Entry("c", "3", ""))[0]
		if second.Claimed != nil || second.Waiting || third.Claimed != nil || third.Waiting {
			t.Errorf("a held session was claimed: %+v %+v", second, third)
		}
		if list := h.Claim(10); len(list) != 0 {
			t.Errorf("claimed %+v", list)
		}
		next := h.Commit(ref, storetest.End("done", "answered"))
		if next == nil || next.TurnID != second.TurnID || next.Fence != ref.Fence || next.Person != "marco" {
			t.Fatalf("next %+v", next)
		}
		if _, err := h.Router.Commit(h.Ctx, ref, storetest.End("failed", "late"), nil); !errors.Is(err, core.ErrFenced) {
			t.Errorf("a finished turn took a step: %v", err)
		}
		next = h.Commit(next.TurnRef, storetest.End("cancelled", "cancelled"))
		if next == nil || next.TurnID != third.TurnID {
			t.Fatalf("next %+v", next)
		}
		// The lease went on to the next turn: the former may not give it away.
		h.Release(ref)
		if next = h.Commit(next.TurnRef, storetest.End("done", "answered")); next != nil {
			t.Fatalf("next %+v", next)
		}
		if a := h.Accept(storetest.Claiming(storetest.Entry("c", "4", "")))[0]; a.Claimed == nil || a.Claimed.Fence <= ref.Fence {
			t.Errorf("idle session: %+v", a)
		}
	})
}

// Whatever a program does: the database itself refuses a second one.
func TestTwoTurnsOfASessionNeverRun(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.Begun("c", "1")
		h.Accept(storetest.Entry("c", "2", ""))
		if err := storetest.Write(h.Ctx, h.DB, "UPDATE turns SET state = 'running'"); err == nil {
			t.Error("two turns of a session run")
		}
		h.WantCount(1, "SELECT count(*) FROM turns WHERE state = 'running'")
	})
}

func TestClaimTakesTheLongestWaiting(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		var ids []int64
		for i := range 4 {
			e := storetest.Entry(fmt.Sprint("c", i), fmt.Sprint(i), "")
			if i == 1 {
				e.Sender.Person = "anna"
			}
			ids = append(ids, h.Accept(e)[0].TurnID)
		}
		if list, err := h.Router.Claim(h.Ctx, h.Owner(), []string{"other"}, nil, 9); err != nil || len(list) != 0 {
			t.Errorf("another channel's: %+v, %v", list, err)
		}
		list := h.Claim(2, "anna")
		if len(list) != 2 || list[0].TurnID != ids[0] || list[1].TurnID != ids[2] {
			t.Errorf("%+v, want turns %d and %d", list, ids[0], ids[2])
		}
		if list = h.Claim(9); len(list) != 2 || list[0].TurnID != ids[1] || list[0].Person != "anna" {
			t.Errorf("%+v", list)
		}
		h.Release(list[0].TurnRef)
		again := h.Claim(9)
		if len(again) != 1 || again[0].TurnID != ids[1] || again[0].Fence != list[0].Fence+1 {
			t.Errorf("given back: %+v", again)
		}
		h.Release(list[0].TurnRef) // under an old fence
		if list := h.Claim(9); len(list) != 0 {
			t.Errorf("an old fence released the session: %+v", list)
		}
	})
}

func TestOldFenceWritesNothing(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.Begun("c", "1")
		h.Commit(ref, agent.Step{Plan: &agent.PlanRow{Goal: "g", Tasks: []agent.TaskRow{{Task: agent.Task{Type: agent.TaskExec}}}}})
		h.Release(ref)
		fenced := func(when string) {
			steps := map[string]agent.Step{
				"call": {Calls: []agent.Call{{Step: "x", Role: "planner"}}}, "plan": {Plan: &agent.PlanRow{Attempt: 1}},
				"task":   {Tasks: []agent.TaskChange{{State: agent.TaskRunning, Type: agent.TaskExec}}},
				"review": {Review: &agent.Review{Status: "ok"}}, "say": {Say: []agent.Say{{Text: "x"}}}, "end": storetest.End("done", ""),
			}
			for name, step := range steps {
				if _, err := h.Router.Commit(h.Ctx, ref, step, make([]outbox.Reply, len(step.Say))); !errors.Is(err, core.ErrFenced) {
					t.Errorf("%s, %s: %v", when, name, err)
				}
			}
			if _, err := h.Router.Load(h.Ctx, ref); !errors.Is(err, core.ErrFenced) {
				t.Errorf("%s, load: %v", when, err)
			}
		}
		fenced("given back")
		now := h.Claim(1)[0].TurnRef
		fenced("taken over")
		d, err := h.Router.Load(h.Ctx, now)
		if err != nil || len(d.State.Calls) != 0 || len(d.State.Said) != 0 || len(d.State.Plans) != 1 ||
			d.State.Plans[0].Tasks[0].State != agent.TaskPending || d.State.Plans[0].Tasks[0].Review != nil {
			t.Errorf("%+v, %v", d, err)
		}
		if _, err := h.Router.Load(h.Ctx, core.TurnRef{TurnID: 999, SessionID: 1, Fence: 1}); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("no such turn: %v", err)
		}
	})
}

func TestCancelEndsOrStopsATurn(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.Begun("c", "1")
		if c, err := h.Router.Cancel(h.Ctx, ref.TurnID, people.LocalActor("owner")); err != nil || c.Channel != "tg" || c.ID != "c" {
			t.Fatalf("%+v, %v", c, err)
		}
		if d := h.Load(ref); d.CancelRequested != core.StopCancelled {
			t.Errorf("%+v", d)
		}
		before := time.Now()
		h.Commit(ref, storetest.End("cancelled", "cancelled"))
		after := time.Now() // it may be another day
		if _, err := h.Router.Cancel(h.Ctx, 999, people.LocalActor("owner")); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("no turn: %v", err)
		}
		ended := func(at time.Time) string {
			return fmt.Sprintf("turn %d is not open any more: it ended at %s", ref.TurnID, at.Format("2006-01-02 "))
		}
		_, err := h.Router.Cancel(h.Ctx, ref.TurnID, people.LocalActor("owner"))
		if _, ok := errors.AsType[*core.StateError](err); !ok || !strings.HasPrefix(err.Error(), ended(before)) && !strings.HasPrefix(err.Error(), ended(after)) || !strings.HasSuffix(err.Error(), " as cancelled") {
			t.Errorf("a finished turn: %v", err)
		}
		first, second := h.Begun("d", "2"), h.Accept(storetest.Entry("d", "3", "queued"))[0]
		h.Cancel(second.TurnID)
		h.Ended(second.TurnID, second.Event+2)
		if next := h.Commit(first, storetest.End("done", "answered")); next != nil {
			t.Errorf("a cancelled turn runs: %+v", next)
		}
	})
}

func TestTakeoversFromTheDeadAreCounted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := &house{storetest.NewDoomed(t, db)}
		ref := h.Begun("c", "1")
		h.Accept(storetest.Entry("c", "2", "next"))
		want := func(n int) {
			t.Helper()
			if d := h.Load(ref); d.Resumed != n {
				t.Errorf("resumed %+v; want %d", d, n)
			}
		}
		take := func() {
			t.Helper()
			list := h.Claim(5)
			if len(list) != 1 || list[0].TurnID != ref.TurnID {
				t.Fatalf("claimed %+v", list)
			}
			ref = list[0].TurnRef
		}
		want(0)
		h = &house{h.Successor()}
		take()
		want(1)
		h.Release(ref) // in good order: nobody died
		take()
		want(1)
		h = &house{h.Successor()} // and this time a message brings the takeover
		a := h.Accept(storetest.Claiming(storetest.Entry("c", "3", "")))[0]
		if a.Claimed == nil || a.Claimed.TurnID != ref.TurnID {
			t.Fatalf("%+v", a)
		}
		ref = a.Claimed.TurnRef
		want(2)
		h.Commit(ref, agent.Step{Calls: []agent.Call{{Step: "plan"}}})
		want(0)
		// The next turn did not kill anybody.
		h = &house{h.Successor()}
		take()
		want(1)
		ref = h.Commit(ref, storetest.End("done", "answered")).TurnRef
		want(0)
	})
}

// Messages come in while turns end: none may be left with nobody to run it.
func TestNoTurnIsStranded(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		const writers, each = 4, 25
		var wg sync.WaitGroup
		var done atomic.Int64
		var work func(c *core.Claimed)
		work = func(c *core.Claimed) {
			for c != nil {
				next, err := h.Router.Commit(h.Ctx, c.TurnRef, storetest.End("done", "answered"), nil)
				if err != nil {
					t.Errorf("commit: %v", err)
					return
				}
				done.Add(1)
				c = next
			}
		}
		for w := range writers {
			wg.Go(func() {
				for i := range each {
					e := storetest.Claiming(storetest.Entry(fmt.Sprint("c", i%2), fmt.Sprint(w, ".", i), "x"))
					out, err := h.Router.Accept(h.Ctx, h.Owner(), []intake.Entry{e})
					if err != nil {
						t.Errorf("accept: %v", err)
						return
					}
					if c := out[0].Claimed; c != nil {
						wg.Go(func() { work(c) })
					}
				}
			})
		}
		wg.Wait()
		if done.Load() != writers*each {
			t.Errorf("%d turns of %d ended", done.Load(), writers*each)
		}
	})
}

// An engine is late while a turn is in its first model call, and the person cancels it
// meanwhile, from a chat or otherwise. When the engine is back somebody serves the session.
func TestCancelWhileTheEngineIsLateStrandsNoSession(t *testing.T) {
	t.Parallel()
	for name, cancel := range map[string]func(h *house, ref core.TurnRef){
		"by a command": func(h *house, _ core.TurnRef) {
			if a := h.Accept(storetest.Control(storetest.Entry("c", "2", "/cancel"), intake.EffectCancel, "nothing"))[0]; a.CancelTurn != 0 {
				h.Errorf("it is asked to stop: %+v", a)
			}
		},
		"by number": func(h *house, ref core.TurnRef) {
			h.Cancel(ref.TurnID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, storetest.Postgres(t))
			storetest.OldServer(t, h.DB)
			ref := h.Begun("c", "1")
			h.Expire()
			cancel(h, ref)
			h.WantState(ref.TurnID, "cancelled")
			h.Renew()
			if _, err := h.Router.Commit(h.Ctx, ref, agent.Step{}, nil); !errors.Is(err, core.ErrFenced) {
				t.Errorf("a step of the cancelled turn: %v", err)
			}
			a := h.Accept(storetest.Claiming(storetest.Entry("c", "3", "are you there?")))[0]
			if a.Claimed == nil || a.Claimed.TurnID != a.TurnID {
				t.Fatalf("nobody serves the session: %+v", a)
			}
			h.Release(ref) // what the engine does then
			h.Commit(a.Claimed.TurnRef, storetest.End("done", "answered"))
		})
	}
}

// A late engine goes on with a turn, whatever else of the session is cancelled meanwhile.
func TestCancelOfAQueuedTurnLeavesTheLease(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storetest.Postgres(t))
	storetest.OldServer(t, h.DB)
	ref := h.Begun("c", "1")
	h.Commit(ref, agent.Step{Calls: []agent.Call{{Step: "plan"}}})
	queued := h.Accept(storetest.Entry("c", "2", "queued"))[0]
	h.Expire()
	h.Cancel(queued.TurnID)
	h.WantState(queued.TurnID, "cancelled")
	h.Renew()
	h.Commit(ref, storetest.End("done", "answered"))
}

// A turn was ended by somebody else and left its lease behind: giving the session back
// frees it. With another turn begun under the lease it does not.
func TestGiveBackOfAnEndedTurnFreesTheSession(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.Begun("c", "1")
		storetest.Exec(t, h.DB, "UPDATE turns SET state = 'cancelled' WHERE id = "+storetest.NameOf(ref.TurnID))
		h.Release(ref)
		queued := h.Accept(storetest.Entry("c", "2", "are you there?"))[0]
		list := h.Claim(5)
		if len(list) != 1 || list[0].TurnID != queued.TurnID {
			t.Fatalf("nobody serves the session: %+v", list)
		}
		h.Accept(storetest.Entry("c", "3", "and then"))
		next := h.Commit(list[0].TurnRef, storetest.End("done", "answered"))
		h.Release(list[0].TurnRef)
		h.Commit(next.TurnRef, agent.Step{})
	})
}

package turns_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/store/storetest"
)

// A retry loads what was asked, as it reads now, with all that was merged into it, and
// what was done; its own message only asks for it.
func TestRetryLoadsTheOriginal(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.Accept(storetest.Claiming(storetest.WithFile(storetest.Entry("c", "1", "one"), "f", 7)))[0].Claimed.TurnRef
		h.One(storetest.Mode(storetest.Entry("c", "2", "two"), "steer"))
		h.absorb(ref, 0)
		h.One(storetest.Edited("c", "1", "e0", "one, while it ran", "steer"))
		h.absorb(ref, 0)
		h.Commit(ref, agent.Step{Plan: &agent.PlanRow{Goal: "g", Tasks: []agent.TaskRow{{Task: agent.Task{Type: agent.TaskExec, Detail: "pay"}}}}})
		h.Commit(ref, agent.Step{Tasks: []agent.TaskChange{{Type: agent.TaskExec, State: agent.TaskRunning}}})
		h.Commit(ref, agent.Step{
			Tasks: []agent.TaskChange{{Type: agent.TaskExec, State: agent.TaskDone, Result: &tools.Result{End: tools.EndOK, Output: "paid"}}},
			End:   &agent.End{State: "failed", Outcome: "timeout"},
		})
		h.One(storetest.Edited("c", "2", "e1", "two, changed", "steer"))
		a := h.One(storetest.Claiming(storetest.RetryEntry("c", "3", "m2")))
		if a.Claimed == nil || a.Outcome != "" {
			t.Fatalf("%+v", a)
		}
		again := a.Claimed.TurnRef
		// A message that comes while a retry waits or runs is not lost either.
		d := h.Load(again)
		m := d.Turn.Message
		if !d.Retry || m.Text != "one, while it ran\n\ntwo, changed" || m.Author != "marco" || d.ReplyTo != "m3" {
			t.Errorf("it answers %+v to %s", m, d.ReplyTo)
		}
		if len(d.State.Former) != 1 || d.State.Former[0].Outcome != "timeout" || d.State.Former[0].Plans[0].Tasks[0].Result.Output != "paid" {
			t.Errorf("what was done: %+v", d.State.Former)
		}
		// A task that was done before comes to its end without having run.
		h.Commit(again, agent.Step{
			Plan:  &agent.PlanRow{Goal: "g", Tasks: []agent.TaskRow{{Task: agent.Task{Type: agent.TaskExec, Detail: "pay"}}}},
			Tasks: []agent.TaskChange{{Type: agent.TaskExec, State: agent.TaskDone, Result: &tools.Result{End: tools.EndOK, Code: agent.CodeDoneBefore, Output: "paid"}}},
		})
		if row := h.Load(again).State.Plans[0].Tasks[0]; row.State != agent.TaskDone || row.Result.Code != agent.CodeDoneBefore {
			t.Errorf("the task is %+v", row)
		}
		if a := h.One(storetest.RetryEntry("c", "4", "")); a.Outcome == "" || a.TurnID != 0 {
			t.Errorf("beside an open retry: %+v", a)
		}
		h.Commit(again, storetest.End("done", "answered"))
		a = h.One(storetest.Claiming(storetest.RetryEntry("c", "5", "")))
		if d := h.Load(a.Claimed.TurnRef); d.Turn.Message.Text != m.Text || len(d.State.Former) != 2 {
			t.Errorf("a retry of a retry answers %q after %d", d.Turn.Message.Text, len(d.State.Former))
		}
		if v, err := h.Router.Turn(h.Ctx, a.TurnID, false); err != nil || v.RetryOf != ref.TurnID {
			t.Errorf("linked to %+v, %v", v, err)
		}
		if got := h.Answers("c"); !slices.Equal(got, []string{"retry_open"}) {
			t.Errorf("said %q", got)
		}
	})
}

// A credential that is found when a message is tried again goes from where it was
// typed.
func TestRetryRedactsTheOriginal(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.Accept(storetest.Claiming(storetest.Entry("c", "1", "it is hunter2")))[0].Claimed.TurnRef
		h.Commit(ref, agent.Step{
			Calls: []agent.Call{{Step: "plan.0.1", Role: "planner", Answer: "hunter2?"}},
			Plan:  &agent.PlanRow{Goal: "hunter2", Tasks: []agent.TaskRow{{Task: agent.Task{Type: agent.TaskMsg, Detail: "say hunter2"}}}},
			End:   &agent.End{State: "failed", Outcome: "model_error"},
		})
		again := h.One(storetest.Claiming(storetest.RetryEntry("c", "2", ""))).Claimed.TurnRef
		h.Commit(again, agent.Step{Redact: []string{"hunter2"}, End: &agent.End{State: "failed", Outcome: "not_available"}})
		for _, query := range []string{
			"SELECT count(*) FROM messages WHERE text LIKE '%hunter2%'", "SELECT count(*) FROM plans WHERE goal LIKE '%hunter2%'",
			"SELECT count(*) FROM tasks WHERE detail LIKE '%hunter2%'",
		} {
			h.WantCount(0, query)
		}
		a := h.One(storetest.Claiming(storetest.RetryEntry("c", "3", "")))
		if d := h.Load(a.Claimed.TurnRef); d.Turn.Message.Text != "it is [redacted]" || strings.Contains(fmt.Sprint(d.State.Former), "hunter2") {
			t.Errorf("tried again: %+v", d)
		}
	})
}

// An edit of a waiting /retry makes it a message like any other, and an original that is
// taken back, or kept no more, leaves nothing to do again.
func TestRetryWhoseOriginalIsGoneDoesNothing(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for i, conv := range []string{"edited", "deleted", "gone"} {
			h.Commit(h.Begun(conv, fmt.Sprint("a", i)), storetest.End("done", "answered"))
		}
		again := h.One(storetest.RetryEntry("edited", "r0", ""))
		h.One(storetest.Edited("edited", "r0", "e0", "something else", "steer"))
		list := h.Claim(1)
		if len(list) != 1 || list[0].TurnID != again.TurnID {
			t.Fatalf("claimed %+v", list)
		}
		if d := h.Load(list[0].TurnRef); d.Retry || d.Turn.Message.Text != "something else" {
			t.Errorf("edited, it answers %q (retry %v)", d.Turn.Message.Text, d.Retry)
		}
		again = h.One(storetest.RetryEntry("deleted", "r1", ""))
		h.One(deleted("deleted", "a1", "d1"))
		h.WantState(again.TurnID, "cancelled")

		running := h.One(storetest.Claiming(storetest.RetryEntry("gone", "r2", ""))).Claimed.TurnRef
		former := h.Load(running)
		if former.Turn.Message.Text == "" {
			t.Fatal("nothing to begin with")
		}
		if err := storetest.Write(h.Ctx, h.DB,
			"UPDATE messages SET turn_id = NULL WHERE direction = 'in' AND text = 'hello a2'",
		); err != nil {
			t.Fatal(err)
		}
		if d := h.Load(running); !d.Retry || d.Turn.Message.Text != "" {
			t.Errorf("without the original it answers %q", d.Turn.Message.Text)
		}
	})
}

// A retry is merged into nothing; what is collected behind it is answered with it.
func TestRetryIsNotMerged(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		first := h.Begun("c", "1")
		h.Commit(first, storetest.End("done", "answered"))
		running := h.Begun("c", "2")
		again := h.One(storetest.Mode(storetest.RetryEntry("c", "3", "m1"), "steer"))
		if list := h.absorb(running, 0); len(list) != 0 {
			t.Errorf("absorbed %q", texts(list))
		}
		if a := h.One(storetest.Mode(storetest.Entry("c", "4", "and this"), "collect")); !a.Merged || a.TurnID != again.TurnID {
			t.Errorf("collected %+v", a)
		}
		next := h.Commit(running, storetest.End("done", "answered"))
		if d := h.Load(next.TurnRef); d.Turn.Message.Text != "hello 1\n\nand this" || d.ReplyTo != "m4" {
			t.Errorf("it answers %q to %s", d.Turn.Message.Text, d.ReplyTo)
		}
	})
}

// asked is an entry that its person wrote so long ago.
func askedAgo(e intake.Entry, ago time.Duration) intake.Entry {
	e.Turn().Asked = time.Now().Add(-ago)
	return e
}

func (h *house) backlog(ref core.TurnRef) (turns []int64) {
	h.Helper()
	list, err := h.Router.Backlog(h.Ctx, ref, 15*time.Minute)
	if err != nil {
		h.Fatal(err)
	}
	for _, w := range list {
		turns = append(turns, w.Turn)
	}
	return turns
}

// What waited while the session was left alone is a backlog; what waited because it was
// busy is none.
func TestBacklogIsWhatWaitedWhileTheSessionWasLeftAlone(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		stale := h.Accept(
			storetest.Claiming(askedAgo(storetest.Entry("c", "1", "one"), 3*time.Hour)), askedAgo(storetest.Entry("c", "2", "two"), 2*time.Hour),
			storetest.By(askedAgo(storetest.Entry("c", "3", "another's"), 2*time.Hour), "ann"), storetest.Entry("c", "4", "just now"),
		)
		ref := stale[0].Claimed.TurnRef
		if got, want := h.backlog(ref), []int64{ref.TurnID, stale[1].TurnID}; !slices.Equal(got, want) {
			t.Errorf("the backlog is %v, want %v", got, want)
		}
		step := agent.Step{Say: []agent.Say{{Notice: true, Text: "shall I?"}}, End: &agent.End{State: "done", Outcome: "stale"}}
		next, err := h.Router.Offer(h.Ctx, ref, []int64{stale[1].TurnID}, step, *storetest.Text("shall I?"))
		if err != nil || next == nil || next.TurnID != stale[2].TurnID {
			t.Fatalf("offered: %+v, %v", next, err)
		}
		h.WantState(stale[1].TurnID, "merged")
		if got := h.backlog(next.TurnRef); !slices.Equal(got, []int64{stale[2].TurnID}) {
			t.Errorf("an offer to another person counts as work: %v", got)
		}
		if _, err := h.Router.Offer(h.Ctx, next.TurnRef, []int64{stale[1].TurnID}, step, *storetest.Text("again")); err == nil {
			t.Error("merged twice")
		}
		next = h.Commit(next.TurnRef, storetest.End("done", "stale"))
		if got := h.backlog(next.TurnRef); len(got) != 0 {
			t.Errorf("asked just now, it is stale: %v", got)
		}
		h.Commit(next.TurnRef, storetest.End("done", "answered"))
		// The turn before it ended a moment ago: the session was busy.
		busy := h.One(storetest.Claiming(askedAgo(storetest.Entry("c", "5", "waited"), time.Hour))).Claimed.TurnRef
		if got := h.backlog(busy); len(got) != 0 {
			t.Errorf("a busy session is stale: %v", got)
		}
	})
}

// The time that nobody worked on a turn is counted, once, and what was asked in that
// time is stale although a turn ended since.
func TestResumeCountsTheTimeAway(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.Begun("c", "1")
		resume := func() time.Duration {
			t.Helper()
			away, err := h.Router.Resume(h.Ctx, ref, 15*time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			return away.Round(time.Minute)
		}
		if got := resume(); got != 0 {
			t.Errorf("at once it was away %s", got)
		}
		began := h.Load(ref).Turn.StartedAt
		h.Later(3 * time.Hour)
		if got := resume(); got != 3*time.Hour {
			t.Errorf("it was away %s", got)
		}
		h.Later(3*time.Hour + 10*time.Minute)
		if got := resume(); got != 3*time.Hour {
			t.Errorf("a short pause is counted: %s", got)
		}
		if d := h.Load(ref); d.Away.Round(time.Minute) != 3*time.Hour || d.Turn.StartedAt.Sub(began).Round(time.Minute) != 3*time.Hour {
			t.Errorf("loaded: away %s, began %s later", d.Away, d.Turn.StartedAt.Sub(began))
		}
		meanwhile := storetest.Entry("c", "2", "meanwhile")
		meanwhile.Turn().Asked = time.Now().Add(time.Hour)
		h.One(meanwhile)
		next := h.Commit(ref, storetest.End("done", "answered"))
		if got := h.backlog(next.TurnRef); !slices.Equal(got, []int64{next.TurnID}) {
			t.Errorf("asked while the turn before was left alone: %v", got)
		}
	})
}

package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
)

// retry is /retry; of is the message replied to.
func retry(conv, key, of string) intake.Entry {
	e := entry(conv, key, "/retry")
	e.Turn().Retry, e.Say = &intake.Retry{Of: channels.MessageID(of)}, says(everything())
	return e
}

// everything answers each outcome by its name.
func everything() map[intake.Outcome]*outbox.Reply {
	replies := map[intake.Outcome]*outbox.Reply{}
	for _, s := range []intake.Outcome{
		intake.OutcomeBusy, intake.RetryNone, intake.RetryUnknown, intake.RetryOpen, intake.RetryNotYours, intake.RetryForgotten,
		intake.ChoiceLeft, intake.EditTooLate, intake.EditAsked,
	} {
		replies[s] = text(string(s))
	}
	return replies
}

// answers are the replies to a session's commands.
func (h *house) answers(conv string) (list []string) {
	h.Helper()
	events, err := h.Router.Events(h.Ctx, "tg:"+conv, 0, 1000)
	if err != nil {
		h.Fatal(err)
	}
	for _, e := range events {
		if e.Message != nil && e.Message.Direction == "out" {
			list = append(list, e.Message.Text)
		}
	}
	return list
}

// A retry loads what was asked, as it reads now, with all that was merged into it, and
// what was done; its own message only asks for it.
func TestRetryLoadsTheOriginal(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.Accept(claiming(withFile(entry("c", "1", "one"), "f", 7)))[0].Claimed.TurnRef
		h.one(mode(entry("c", "2", "two"), "steer"))
		h.absorb(ref, 0)
		h.one(edited("c", "1", "e0", "one, while it ran", "steer"))
		h.absorb(ref, 0)
		h.Commit(ref, agent.Step{Plan: &agent.PlanRow{Goal: "g", Tasks: []agent.TaskRow{{Task: agent.Task{Type: agent.TaskExec, Detail: "pay"}}}}})
		h.Commit(ref, agent.Step{Tasks: []agent.TaskChange{{Type: agent.TaskExec, State: agent.TaskRunning}}})
		h.Commit(ref, agent.Step{
			Tasks: []agent.TaskChange{{Type: agent.TaskExec, State: agent.TaskDone, Result: &tools.Result{End: tools.EndOK, Output: "paid"}}},
			End:   &agent.End{State: "failed", Outcome: "timeout"},
		})
		h.one(edited("c", "2", "e1", "two, changed", "steer"))
		a := h.one(claiming(retry("c", "3", "m2")))
		if a.Claimed == nil || a.Outcome != "" {
			t.Fatalf("%+v", a)
		}
		again := a.Claimed.TurnRef
		// A message that comes while a retry waits or runs is not lost either.
		d := h.load(again)
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
		if row := h.load(again).State.Plans[0].Tasks[0]; row.State != agent.TaskDone || row.Result.Code != agent.CodeDoneBefore {
			t.Errorf("the task is %+v", row)
		}
		if a := h.one(retry("c", "4", "")); a.Outcome == "" || a.TurnID != 0 {
			t.Errorf("beside an open retry: %+v", a)
		}
		h.Commit(again, end("done", "answered"))
		a = h.one(claiming(retry("c", "5", "")))
		if d := h.load(a.Claimed.TurnRef); d.Turn.Message.Text != m.Text || len(d.State.Former) != 2 {
			t.Errorf("a retry of a retry answers %q after %d", d.Turn.Message.Text, len(d.State.Former))
		}
		if v, err := h.Router.Turn(h.Ctx, a.TurnID, false); err != nil || v.RetryOf != ref.TurnID {
			t.Errorf("linked to %+v, %v", v, err)
		}
		if got := h.answers("c"); !slices.Equal(got, []string{"retry_open"}) {
			t.Errorf("said %q", got)
		}
	})
}

// A credential that is found when a message is tried again goes from where it was
// typed.
func TestRetryRedactsTheOriginal(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.Accept(claiming(entry("c", "1", "it is hunter2")))[0].Claimed.TurnRef
		h.Commit(ref, agent.Step{
			Calls: []agent.Call{{Step: "plan.0.1", Role: "planner", Answer: "hunter2?"}},
			Plan:  &agent.PlanRow{Goal: "hunter2", Tasks: []agent.TaskRow{{Task: agent.Task{Type: agent.TaskMsg, Detail: "say hunter2"}}}},
			End:   &agent.End{State: "failed", Outcome: "model_error"},
		})
		again := h.one(claiming(retry("c", "2", ""))).Claimed.TurnRef
		h.Commit(again, agent.Step{Redact: []string{"hunter2"}, End: &agent.End{State: "failed", Outcome: "not_available"}})
		for _, query := range []string{
			"SELECT count(*) FROM messages WHERE text LIKE '%hunter2%'", "SELECT count(*) FROM plans WHERE goal LIKE '%hunter2%'",
			"SELECT count(*) FROM tasks WHERE detail LIKE '%hunter2%'",
		} {
			h.wantCount(0, query)
		}
		a := h.one(claiming(retry("c", "3", "")))
		if d := h.load(a.Claimed.TurnRef); d.Turn.Message.Text != "it is [redacted]" || strings.Contains(fmt.Sprint(d.State.Former), "hunter2") {
			t.Errorf("tried again: %+v", d)
		}
	})
}

// An edit of a waiting /retry makes it a message like any other, and an original that is
// taken back, or kept no more, leaves nothing to do again.
func TestRetryWhoseOriginalIsGoneDoesNothing(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for i, conv := range []string{"edited", "deleted", "gone"} {
			h.Commit(h.Begun(conv, fmt.Sprint("a", i)), end("done", "answered"))
		}
		again := h.one(retry("edited", "r0", ""))
		h.one(edited("edited", "r0", "e0", "something else", "steer"))
		list := h.Claim(1)
		if len(list) != 1 || list[0].TurnID != again.TurnID {
			t.Fatalf("claimed %+v", list)
		}
		if d := h.load(list[0].TurnRef); d.Retry || d.Turn.Message.Text != "something else" {
			t.Errorf("edited, it answers %q (retry %v)", d.Turn.Message.Text, d.Retry)
		}
		again = h.one(retry("deleted", "r1", ""))
		h.one(deleted("deleted", "a1", "d1"))
		h.is(again.TurnID, "cancelled")

		running := h.one(claiming(retry("gone", "r2", ""))).Claimed.TurnRef
		former := h.load(running)
		if former.Turn.Message.Text == "" {
			t.Fatal("nothing to begin with")
		}
		if err := h.DB.WriteText(h.Ctx, true,
			"UPDATE messages SET turn_id = NULL WHERE direction = 'in' AND text = 'hello a2'",
		); err != nil {
			t.Fatal(err)
		}
		if d := h.load(running); !d.Retry || d.Turn.Message.Text != "" {
			t.Errorf("without the original it answers %q", d.Turn.Message.Text)
		}
	})
}

// A retry is merged into nothing; what is collected behind it is answered with it.
func TestRetryIsNotMerged(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		first := h.Begun("c", "1")
		h.Commit(first, end("done", "answered"))
		running := h.Begun("c", "2")
		again := h.one(mode(retry("c", "3", "m1"), "steer"))
		if list := h.absorb(running, 0); len(list) != 0 {
			t.Errorf("absorbed %q", texts(list))
		}
		if a := h.one(mode(entry("c", "4", "and this"), "collect")); !a.Merged || a.TurnID != again.TurnID {
			t.Errorf("collected %+v", a)
		}
		next := h.Commit(running, end("done", "answered"))
		if d := h.load(next.TurnRef); d.Turn.Message.Text != "hello 1\n\nand this" || d.ReplyTo != "m4" {
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
			claiming(askedAgo(entry("c", "1", "one"), 3*time.Hour)), askedAgo(entry("c", "2", "two"), 2*time.Hour),
			by(askedAgo(entry("c", "3", "another's"), 2*time.Hour), "ann"), entry("c", "4", "just now"),
		)
		ref := stale[0].Claimed.TurnRef
		if got, want := h.backlog(ref), []int64{ref.TurnID, stale[1].TurnID}; !slices.Equal(got, want) {
			t.Errorf("the backlog is %v, want %v", got, want)
		}
		step := agent.Step{Say: []agent.Say{{Notice: true, Text: "shall I?"}}, End: &agent.End{State: "done", Outcome: "stale"}}
		next, err := h.Router.Offer(h.Ctx, ref, []int64{stale[1].TurnID}, step, *text("shall I?"))
		if err != nil || next == nil || next.TurnID != stale[2].TurnID {
			t.Fatalf("offered: %+v, %v", next, err)
		}
		h.is(stale[1].TurnID, "merged")
		if got := h.backlog(next.TurnRef); !slices.Equal(got, []int64{stale[2].TurnID}) {
			t.Errorf("an offer to another person counts as work: %v", got)
		}
		if _, err := h.Router.Offer(h.Ctx, next.TurnRef, []int64{stale[1].TurnID}, step, *text("again")); err == nil {
			t.Error("merged twice")
		}
		next = h.Commit(next.TurnRef, end("done", "stale"))
		if got := h.backlog(next.TurnRef); len(got) != 0 {
			t.Errorf("asked just now, it is stale: %v", got)
		}
		h.Commit(next.TurnRef, end("done", "answered"))
		// The turn before it ended a moment ago: the session was busy.
		busy := h.one(claiming(askedAgo(entry("c", "5", "waited"), time.Hour))).Claimed.TurnRef
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
		began := h.load(ref).Turn.StartedAt
		h.later(3 * time.Hour)
		if got := resume(); got != 3*time.Hour {
			t.Errorf("it was away %s", got)
		}
		h.later(3*time.Hour + 10*time.Minute)
		if got := resume(); got != 3*time.Hour {
			t.Errorf("a short pause is counted: %s", got)
		}
		if d := h.load(ref); d.Away.Round(time.Minute) != 3*time.Hour || d.Turn.StartedAt.Sub(began).Round(time.Minute) != 3*time.Hour {
			t.Errorf("loaded: away %s, began %s later", d.Away, d.Turn.StartedAt.Sub(began))
		}
		meanwhile := entry("c", "2", "meanwhile")
		meanwhile.Turn().Asked = time.Now().Add(time.Hour)
		h.one(meanwhile)
		next := h.Commit(ref, end("done", "answered"))
		if got := h.backlog(next.TurnRef); !slices.Equal(got, []int64{next.TurnID}) {
			t.Errorf("asked while the turn before was left alone: %v", got)
		}
	})
}

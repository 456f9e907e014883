package store_test

import (
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/agent/tools"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/scheduler"
)

// lastRun is what the history says of a job's last run.
func (h *house) lastRun(job int64) scheduler.Run {
	h.Helper()
	runs, err := h.Router.Runs(h.Ctx, job, 0, 1)
	if err != nil || len(runs) != 1 {
		h.Fatalf("the last run of job %d: %+v, %v", job, runs, err)
	}
	return runs[0]
}

// A history says "delivered" only once the platform said so of each part.
func TestHistorySaysWhatWasDelivered(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.withRun()
		s := submission("k")
		s.Say = true
		h.submit(s, intake.TurnIntent{})
		hold, seen := h.Hold(), ""
		h.Settle(hold, h.Begin(hold, "c"), outbox.Settlement{State: outbox.DeliverySent, PlatformID: "0"}) // what was said before
		for _, settled := range []outbox.Settlement{
			{State: outbox.DeliverySent, PlatformID: "1"},
			{State: outbox.DeliveryPending, FreeTry: true},
			{State: outbox.DeliverySent, PlatformID: "2"},
		} {
			seen += h.lastRun(1).Delivery + " "
			d := h.Begin(hold, "c")
			seen += h.lastRun(1).Delivery + " "
			h.Settle(hold, d, settled)
		}
		if run := h.lastRun(1); seen != "pending pending pending pending pending pending " || run.Delivery != "delivered" || run.State != scheduler.RunDone {
			t.Errorf("%s%+v", seen, run)
		}
		for state, want := range map[string]string{"unknown": "unknown", "dead": "dead", "dropped": "dropped"} {
			h.write("UPDATE deliveries SET state = '" + state + "' WHERE part = 1")
			if got := h.lastRun(1).Delivery; got != want {
				t.Errorf("a part is %s: %s", state, got)
			}
		}
	})
}

// What each try used is in the history, while it runs and afterwards; a try that only looked, or was refused, did not act.
func TestHistoryOfTries(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.withRun()
		look := "look"
		work := h.DB.Scheduler(h.owner(), look)
		for try, c := range []struct {
			task  agent.Task
			end   tools.Result
			acted bool
		}{
			{agent.Task{Type: agent.TaskTool, Tool: &look}, tools.Result{End: tools.EndOK}, false},
			{agent.Task{Type: agent.TaskExec, Detail: "pay"}, tools.Result{End: tools.EndRefused}, false},
			{agent.Task{Type: agent.TaskExec, Detail: "pay"}, tools.Result{End: tools.EndError}, true},
		} {
			s := submission(string(rune('a' + try)))
			s.Try = try + 1
			ref := h.submit(s, intake.TurnIntent{MayClaim: true}).Claimed.TurnRef
			h.Commit(ref, agent.Step{
				Calls: []agent.Call{{Step: "plan.0.1", Role: "planner", Answer: "{}", Usage: llm.Usage{In: 10, Out: 5, Cost: 0.25}}},
				Plan:  &agent.PlanRow{Goal: "g", Tasks: []agent.TaskRow{{Task: c.task}}},
			})
			h.Commit(ref, agent.Step{Tasks: []agent.TaskChange{{Type: c.task.Type, State: agent.TaskRunning}}})
			h.Commit(ref, agent.Step{Tasks: []agent.TaskChange{{Type: c.task.Type, State: agent.TaskFailed, Result: &c.end}}})
			used := func() {
				t.Helper()
				if run, n := h.lastRun(1), try+1; run.Try != n || run.Calls != n || run.TokensIn != int64(10*n) || run.TokensOut != int64(5*n) || run.Cost != 0.25*float64(n) || run.Delivery != "" {
					t.Errorf("try %d: %+v", n, run)
				}
			}
			used()
			h.Commit(ref, end("failed", "no_plan"))
			used()
			ended, _, err := work.EndedRuns(h.Ctx, 9)
			if err != nil || len(ended) != 1 || ended[0].Final != c.acted {
				t.Fatalf("try %d: %+v, %v", try+1, ended, err)
			}
			if err := work.Settle(h.Ctx, []scheduler.Settled{{Run: ended[0].Run, State: scheduler.RunDue, RetryAt: time.Now().Add(-time.Second)}}); err != nil {
				t.Fatal(err)
			}
		}
		if run := h.lastRun(1); run.State != scheduler.RunDue || run.Try != 4 || run.Cost != 0.75 || run.Lag() <= 0 {
			t.Errorf("afterwards: %+v", run)
		}
	})
}

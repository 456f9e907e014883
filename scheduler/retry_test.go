package scheduler

import (
	"testing"
	"time"
)

// A run that fails is tried again after 30 s, 1, 5, 15 and 60 minutes, and has then failed.
func TestRetries(t *testing.T) {
	t.Parallel()
	now := at(t, "2026-11-23T00:00:00Z")
	run := EndedRun{Job: Job{Failures: 3}, Run: Run{Try: 1, State: RunRunning}, Ended: EndedFailed, Outcome: "model_error"}
	for _, want := range []time.Duration{30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour} {
		if s := Settle(run, now); s.State != RunDue || s.RetryAt.Sub(now) != want || s.Failed || s.Disable {
			t.Errorf("try %d: %+v; want again after %s", run.Run.Try, s, want)
		}
		run.Run.Try++
	}
	if s := Settle(run, now); s.State != RunFailed || !s.RetryAt.IsZero() || !s.Failed || s.Disable || s.Reason != "model_error" {
		t.Errorf("the last: %+v", s)
	}
	run.Job.Failures = MostFailures - 1
	if s := Settle(run, now); !s.Disable || s.Reason != "model_error; it failed 10 times in a row" {
		t.Errorf("the tenth in a row: %+v", s)
	}
}

func TestSettle(t *testing.T) {
	t.Parallel()
	now, none, two := at(t, "2026-11-23T00:00:00Z"), 0, 2
	for name, c := range map[string]struct {
		run    EndedRun
		state  RunState
		again  time.Duration
		failed bool
		reason string
	}{
		"done":             {EndedRun{Ended: EndedDone, Outcome: "answered"}, RunDone, 0, false, ""},
		"nothing to say":   {EndedRun{Ended: EndedDone, Outcome: "quiet"}, RunDone, 0, false, "nothing to say"},
		"no model":         {EndedRun{Ended: EndedDone, Outcome: "no_model"}, RunDone, 0, false, "no model"},
		"merged":           {EndedRun{Ended: EndedMerged}, RunDone, 0, false, ""},
		"cancelled":        {EndedRun{Ended: EndedCancelled}, RunFailed, 0, false, "cancelled: somebody stopped it"},
		"gone":             {EndedRun{Ended: EndedGone}, RunFailed, 0, false, "stuck: what became of it is not kept any more"},
		"dead":             {EndedRun{Ended: EndedDead}, RunDue, 1, false, "retry: its engine died"},
		"dead each time":   {EndedRun{Ended: EndedDead, Run: Run{Try: 6}}, RunFailed, 0, true, "stuck: its engine died each time"},
		"no money":         {EndedRun{Ended: EndedFailed, Outcome: "over_limit", Final: true}, RunFailed, 0, true, "over_limit"},
		"it acted":         {EndedRun{Ended: EndedFailed, Outcome: "timeout", Final: true}, RunFailed, 0, true, "timeout"},
		"no retries":       {EndedRun{Ended: EndedFailed, Outcome: "x", Job: Job{Rules: Rules{Retries: &none}}}, RunFailed, 0, true, "x"},
		"the second of 2":  {EndedRun{Ended: EndedFailed, Outcome: "x", Run: Run{Try: 2}, Job: Job{Rules: Rules{Retries: &two}}}, RunDue, time.Minute, false, "retry: x"},
		"no more than two": {EndedRun{Ended: EndedFailed, Outcome: "x", Run: Run{Try: 3}, Job: Job{Rules: Rules{Retries: &two}}}, RunFailed, 0, true, "x"},
	} {
		c.run.Run.Try = max(c.run.Run.Try, 1)
		s := Settle(c.run, now)
		again := time.Duration(0)
		if !s.RetryAt.IsZero() {
			again = max(s.RetryAt.Sub(now), 1)
		}
		if s.State != c.state || again != c.again || s.Failed != c.failed || s.Reason != c.reason || s.Disable {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

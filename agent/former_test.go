package agent

import (
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/agent/tools"
)

// tried is a world whose turn does the work of another again. That one paid once,
// posted, failed, and was cut off.
func tried(t *testing.T) *world {
	w := newWorld(t)
	done := func(task Task, output string, taint tools.Taint) TaskRow {
		return TaskRow{Task: task, State: TaskDone, Result: &tools.Result{End: tools.EndOK, Output: output, Taint: taint}}
	}
	plan := PlanRow{Goal: "FORMER GOAL", Tasks: []TaskRow{
		done(execTask("pay"), "FORMER OUTPUT", ""),
		done(toolTask("post", "a"), "posted", ""),
		done(toolTask("look", "a"), "seen", ""),
		{Task: execTask("flaky"), State: TaskFailed, Result: &tools.Result{End: tools.EndError, Code: "exit 1"}, Review: &Review{Status: "replan", Reason: "FORMER REASON"}},
		{Task: execTask("half"), State: TaskInterrupted, Result: interrupted("")},
		{Task: msgTask("tell"), State: TaskCancelled},
	}}
	for i := range plan.Tasks {
		plan.Tasks[i].Position = i
	}
	w.journal.context.Former = []Former{{AskedAt: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), State: "failed", Outcome: "timeout", Plans: []PlanRow{plan}}}
	w.script(map[string][]string{
		rolePlanner: {planText(
			execTask("pay"), execTask("  pay "), toolTask("post", "a"), toolTask("look", "a"), execTask("flaky"), execTask("half"), msgTask("tell"),
		)},
		roleReviewer: {okText()}, roleWorker: {"there you are"},
	})
	return w
}

// What was done is not done again, and stands for one task each; what only looks, what
// failed and what was cut off is.
func TestRetryRepeatsNothingDone(t *testing.T) {
	t.Parallel()
	w := tried(t)
	w.run()
	w.wantEnd("done", "answered")
	if want := []string{"  pay ", `look{"word":"a"}`, "flaky", "half"}; !slices.Equal(w.ran, want) {
		t.Errorf("ran %q, want %q", w.ran, want)
	}
	tasks := w.journal.plans[0].Tasks
	if r := tasks[0].Result; tasks[0].State != TaskDone || r == nil || r.Code != CodeDoneBefore || r.Output != "FORMER OUTPUT" {
		t.Errorf("the task that was done is %s with %+v", tasks[0].State, r)
	}
	if r := tasks[1].Result; r.Code == CodeDoneBefore {
		t.Errorf("done once, it stands for two: %+v", r)
	}
	first := w.requests(rolePlanner)[0].User
	for _, want := range []string{"Tried before", "FORMER GOAL", "FORMER OUTPUT", "FORMER REASON", "2026-03-01 09:00 UTC, ended failed (timeout)", "was cut off when the program stopped"} {
		if !strings.Contains(first, want) {
			t.Errorf("the planner does not read %q:\n%s", want, first)
		}
	}
}

// A retry that is killed at any commit does no more than one that is not.
func TestRetryKilledAtEveryCommitRepeatsNothing(t *testing.T) {
	t.Parallel()
	calm := tried(t)
	calm.run()
	for n := range calm.journal.steps {
		for _, applied := range []bool{false, true} {
			w := tried(t)
			w.journal.fault = func(i int, apply func()) error {
				if i != n || applied {
					apply()
				}
				if i == n {
					return errKilled
				}
				return nil
			}
			_ = w.agent().Run(t.Context(), w.turn, w.journal)
			w.journal.fault = nil
			if w.journal.end == nil {
				w.run()
			}
			if got := count(w.ran, "pay") + count(w.ran, `post{"word":"a"}`); got != 0 || count(w.ran, "  pay ") > 1 || count(w.ran, "flaky") > 1 {
				t.Errorf("killed at %d (applied %v): ran %q", n, applied, w.ran)
			}
		}
	}
}

// A retry of a retry takes what either of them did, once; a recorded result is no
// second doing. What earlier turns brought from outside taints the turn, and a right
// that is gone is gone.
func TestRetryOfARetryTakesWhatEitherDid(t *testing.T) {
	t.Parallel()
	w := tried(t)
	again := w.journal.context.Former[0]
	again.Plans = []PlanRow{{Goal: "again", Tasks: []TaskRow{
		{Task: execTask("pay"), State: TaskDone, Result: &tools.Result{End: tools.EndOK, Code: CodeDoneBefore, Output: "FORMER OUTPUT"}},
		{Task: execTask("flaky"), State: TaskDone, Position: 1, Result: &tools.Result{End: tools.EndOK, Output: "at last", Taint: "web"}},
	}}}
	w.journal.context.Former = append(w.journal.context.Former, again)
	w.decide = func(q tools.Question) tools.Decision {
		if q.Tool == "post" {
			return tools.Decision{Verdict: tools.Refuse, Rule: "test", Reason: "not any more"}
		}
		if q.Taint != "web" {
			t.Errorf("%s is decided with taint %q", q.Tool, q.Taint)
		}
		return tools.Decision{Verdict: tools.Allow, Rule: "test"}
	}
	w.script(map[string][]string{
		rolePlanner:  {planText(execTask("pay"), execTask("pay"), execTask("flaky"), msgTask("tell"))},
		roleReviewer: {okText()}, roleWorker: {"there you are"},
	})
	w.run()
	if want := []string{"pay"}; !slices.Equal(w.ran, want) {
		t.Errorf("ran %q, want %q", w.ran, want)
	}
}

// A command that differs in white space alone may be another: in quotes, in a program
// that it hands over, at the end of a comment.
func TestRetryTakesNoOtherCommandForDone(t *testing.T) {
	t.Parallel()
	for was, now := range map[string]string{
		"printf 'a  b' > list":                              "printf 'a b' > list",
		"python3 - <<'E'\nfor x in l:\n  a(x)\n  pay(x)\nE": "python3 - <<'E'\nfor x in l:\n  a(x)\npay(x)\nE",
		"rm -rf build # out\nmake":                          "rm -rf build # out make",
	} {
		w := newWorld(t)
		w.journal.context.Former = []Former{{State: "done", Plans: []PlanRow{{Goal: "g", Tasks: []TaskRow{
			{Task: execTask(was), State: TaskDone, Result: &tools.Result{End: tools.EndOK, Output: "old"}},
		}}}}}
		w.script(map[string][]string{
			rolePlanner: {planText(execTask(now), msgTask("tell"))}, roleReviewer: {okText()}, roleWorker: {"there"},
		})
		w.run()
		if !slices.Equal(w.ran, []string{now}) {
			t.Errorf("ran %q, want %q, for only %q had been run", w.ran, now, was)
		}
	}
}

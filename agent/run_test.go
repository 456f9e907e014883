package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"switchboard/agent/llm"
	"switchboard/agent/tools"
)

func TestReadyAnswerIsOneCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	task := answerTask("Forty-two.")
	task.Choices = []string{"Fine", "More"}
	w.script(map[string][]string{rolePlanner: {planText(task)}})
	w.run()
	w.wantTexts("Forty-two.")
	w.wantEnd("done", "asked")
	if len(w.journal.steps) != 1 {
		t.Fatalf("%d commits, want 1", len(w.journal.steps))
	}
	step := w.journal.steps[0]
	if len(step.Calls) != 1 || step.Calls[0].Step != "plan.0.1" || step.Plan == nil || len(step.Tasks) != 1 || len(step.Say) != 1 || step.End == nil {
		t.Errorf("the commit lacks something: %+v", step)
	}
	if say := step.Say[0]; !say.Final || say.Notice || !slices.Equal(say.Choices, task.Choices) || say.Taint != tools.Clean {
		t.Errorf("said %+v", say)
	}
	if plan := w.journal.plans[0]; plan.Goal != "reach it" || plan.Tasks[0].State != TaskDone {
		t.Errorf("plan %+v", plan)
	}
}

func TestFailedTaskIsReplannedAndAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.script(map[string][]string{
		rolePlanner: {
			planText(execTask("first"), execTask("never"), msgTask("tell")),
			planText(execTask("second"), msgTask("tell it")),
		},
		roleReviewer: {replanText("the file is missing."), `{"status":"ok","reason":null,"learn":"files live in /srv"}`},
		roleWorker:   {"It is done."},
	})
	w.exec = func(_ context.Context, cmd tools.Command) tools.Result {
		if cmd.Line == "first" {
			return tools.Result{End: tools.EndError, Code: "exit_status", Output: "no such file"}
		}
		return tools.Result{End: tools.EndOK, Output: "fine"}
	}
	w.run()
	w.wantTexts("It is done.")
	w.wantEnd("done", "answered")
	if w.journal.said[0].Notice || !w.journal.said[0].Final {
		t.Errorf("said %+v", w.journal.said)
	}
	if want := []string{"first", "second"}; !slices.Equal(w.ran, want) {
		t.Errorf("ran %q, want %q", w.ran, want)
	}
	var states []TaskState
	for _, plan := range w.journal.plans {
		for _, task := range plan.Tasks {
			states = append(states, task.State)
		}
	}
	if want := []TaskState{TaskFailed, TaskCancelled, TaskCancelled, TaskDone, TaskDone}; !slices.Equal(states, want) {
		t.Errorf("states %v, want %v", states, want)
	}
	if got := w.journal.plans[1].Tasks[0].Review.Learn; got != "files live in /srv" {
		t.Errorf("learned %q", got)
	}
	// A verdict is no message: the person sees it in the progress.
	for _, step := range w.journal.steps {
		if step.Review != nil && step.Review.Status == "replan" && len(step.Say) > 0 {
			t.Errorf("the replan is told: %+v", step)
		}
	}
	// An answer is committed before anything follows from it.
	for i, step := range w.journal.steps {
		for _, call := range step.Calls {
			if call.Role != roleWorker && (step.Plan != nil || step.Review != nil || len(step.Tasks) > 0) {
				t.Errorf("commit %d holds %s and what follows from it", i, call.Step)
			}
		}
	}
	if calls := len(w.journal.calls); calls != 5 {
		t.Errorf("%d calls recorded, want 5", calls)
	}
}

// crashScript is a turn with every kind of step; outside effects are counted.
func crashScript(t *testing.T) *world {
	w := newWorld(t)
	w.extra = []tools.Tool{w.tool("save", tools.EffectWrite, false)}
	w.answer = func(_ context.Context, _ string, req llm.Request) (llm.Response, error) {
		text := "worker says " + lastLine(req.User)
		switch {
		case req.Role == rolePlanner && strings.Contains(req.User, "## What failed"):
			text = planText(execTask("third"), toolTask("look", "b"), msgTask("the end"))
		case req.Role == rolePlanner && !strings.Contains(req.User, "## Faults in your last plan"):
			text = planText(execTask("no message"))
		case req.Role == rolePlanner:
			text = planText(execTask("first"), toolTask("save", "a"), msgTask("between"), execTask("second"), msgTask("never"))
		case req.Role == roleReviewer && strings.Contains(req.User, "Command: second"):
			text = replanText("it was the wrong one")
		case req.Role == roleReviewer:
			text = okText()
		}
		return llm.Response{Text: text, Finish: "stop"}, nil
	}
	return w
}

// steerScript is a turn into which something is merged at every kind of boundary.
func steerScript(t *testing.T) *world {
	w := crashScript(t)
	script := w.answer
	w.answer = func(ctx context.Context, model string, req llm.Request) (llm.Response, error) {
		switch {
		case req.Role == rolePlanner && strings.Contains(req.User, "ONE"): // after a replan
			return llm.Response{Text: planText(msgTask("between too"), execTask("fourth"), msgTask("the end")), Finish: "stop"}, nil
		case req.Role == rolePlanner && strings.Contains(req.User, "## What failed"):
			w.journal.send(more(31, "ONE")) // while planning
		case req.Role == roleWorker && strings.Contains(req.User, "between too"):
			w.journal.send(more(32, "TWO")) // during a middle message
		}
		if req.Role == rolePlanner && strings.Contains(req.User, "TWO") {
			return llm.Response{Text: planText(execTask("fifth"), msgTask("the end")), Finish: "stop"}, nil
		}
		return script(ctx, model, req)
	}
	return w
}

// restartScript is a turn whose message is changed during its second command.
func restartScript(t *testing.T) *world {
	w := crashScript(t)
	script := w.answer
	edit := Incoming{ID: 21, Text: "EDITED", Author: "marco", Replaces: 11}
	w.answer = func(ctx context.Context, model string, req llm.Request) (llm.Response, error) {
		text := planText(execTask("first"), execTask("slow"), msgTask("never"))
		switch {
		case req.Role == roleReviewer && strings.Contains(req.User, "Command: slow"):
			w.journal.send(edit) // the kill came before it
			return script(ctx, model, req)
		case req.Role != rolePlanner:
			return script(ctx, model, req)
		case strings.Contains(req.User, "EDITED"):
			text = planText(execTask("other"), msgTask("the end"))
		}
		return llm.Response{Text: text, Finish: "stop"}, nil
	}
	w.exec = func(_ context.Context, cmd tools.Command) tools.Result {
		if cmd.Line == "slow" {
			w.journal.send(edit)
			w.stop(ErrRestart)
			return tools.Result{End: tools.EndCancelled, Code: "killed"}
		}
		return tools.Result{End: tools.EndOK}
	}
	return w
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

func TestTurnKilledAtEveryCommitRepeatsNothing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script func(*testing.T) *world
		// again is how many calls and reviews more a kill may cost than the calls that
		// were lost with it: of a command that was to be broken off and was cut off
		// instead.
		again int
	}{
		"replan":  {crashScript, 0},
		"steer":   {steerScript, 0},
		"restart": {restartScript, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killedAtEveryCommit(t, tc.script, tc.again)
		})
	}
}

func killedAtEveryCommit(t *testing.T, script func(*testing.T) *world, again int) {
	calm := script(t)
	if err := calm.restarted(); err != nil {
		t.Fatal(err)
	}
	calm.wantEnd("done", "answered")
	commits := len(calm.journal.steps)
	if commits < 12 {
		t.Fatalf("only %d commits: the script does not cover enough", commits)
	}
	for n := range commits {
		for _, applied := range []bool{false, true} {
			w := script(t)
			w.journal.fault = func(i int, apply func()) error {
				if i != n || applied {
					apply()
				}
				if i == n {
					return errKilled
				}
				return nil
			}
			err := w.restarted()
			if !errors.Is(err, errKilled) {
				t.Fatalf("killed at %d: Run returned %v", n, err)
			}
			asked, ran := len(w.asked), len(w.ran)
			lost := len(w.journal.steps[n].Calls)
			if applied {
				lost = 0
			}
			if w.journal.end == nil {
				if err := w.restarted(); err != nil {
					t.Fatalf("killed at %d (applied %v): resumed: %v", n, applied, err)
				}
			}
			if len(w.asked) > len(calm.asked)+lost+again {
				t.Errorf("killed at %d (applied %v): asked %d+%d times, without a kill %d, lost %d",
					n, applied, asked, len(w.asked)-asked, len(calm.asked), lost)
			}
			for _, effect := range []string{"first", "second", "third", "slow", `save{"word":"a"}`} {
				if uses := count(w.ran, effect); uses > 1 {
					t.Errorf("killed at %d (applied %v): %s ran %d times (%d runs before)", n, applied, effect, uses, ran)
				}
			}
			if got, want := w.journal.texts(), calm.journal.texts(); !slices.Equal(got, want) {
				t.Errorf("killed at %d (applied %v): said %q, want %q", n, applied, got, want)
			}
			if *w.journal.end != *calm.journal.end {
				t.Errorf("killed at %d (applied %v): ended %+v", n, applied, *w.journal.end)
			}
			if d := w.journal.reviews - calm.journal.reviews; d < 0 || d > again {
				t.Errorf("killed at %d (applied %v): %d reviews, want %d", n, applied, w.journal.reviews, calm.journal.reviews)
			}
		}
	}
}

func count(list []string, item string) int {
	n := 0
	for _, s := range list {
		if s == item {
			n++
		}
	}
	return n
}

func TestTaskCutOffIsRunAgainOnlyIfItReads(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		task Task
		runs int // after the resume
		want TaskState
	}{
		{"exec", execTask("once"), 0, TaskInterrupted},
		{"outside", toolTask("post", "x"), 0, TaskInterrupted},
		{"read", toolTask("look", "x"), 1, TaskDone},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.script(map[string][]string{roleReviewer: {okText()}, roleWorker: {"told"}})
			row := PlanRow{Goal: "g", Tasks: []TaskRow{
				{Task: tc.task, State: TaskRunning},
				{Task: msgTask("tell"), Position: 1, State: TaskRunning},
			}}
			w.journal.plans = []PlanRow{row}
			w.run()
			w.wantTexts("told")
			got := w.journal.plans[0].Tasks[0]
			if got.State != tc.want || len(w.ran) != tc.runs {
				t.Errorf("state %s, ran %q; want %s and %d runs", got.State, w.ran, tc.want, tc.runs)
			}
			if tc.want == TaskInterrupted {
				if review := w.requests(roleReviewer)[0].User; !strings.Contains(review, "Ended: error (interrupted)") {
					t.Errorf("the reviewer was not told:\n%s", review)
				}
			}
		})
	}
}

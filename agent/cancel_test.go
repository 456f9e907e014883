package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"switchboard/agent/llm"
	"switchboard/agent/tools"
)

func TestCancelDuringACommandEndsTheTurnAndItsTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.script(map[string][]string{rolePlanner: {planText(execTask("first"), execTask("sleep 60"), execTask("third"), msgTask("tell"))}, roleReviewer: {okText()}})
	ctx, cancel := context.WithCancelCause(context.Background())
	w.exec = func(ctx context.Context, cmd tools.Command) tools.Result {
		if cmd.Line == "first" {
			return tools.Result{End: tools.EndOK}
		}
		cancel(ErrCancelled)
		<-ctx.Done()
		return tools.Result{End: tools.EndCancelled, Code: "killed", Output: "so far"}
	}
	if err := w.agent().Run(ctx, w.turn, w.journal); err != nil {
		t.Fatal(err)
	}
	w.wantEnd("cancelled", "cancelled")
	w.wantTexts("Cancelled. Done: `first`; stopped midway: `sleep 60`; not done: `third`.")
	got := w.journal.plans[0].Tasks[1]
	if got.State != TaskCancelled || got.Result == nil || got.Result.Output != "so far" {
		t.Errorf("the killed task is %+v", got)
	}
	if last := w.journal.steps[len(w.journal.steps)-1]; last.End == nil || len(last.Tasks) != 1 || len(last.Say) != 1 {
		t.Errorf("result, notice and end are not one commit: %+v", last)
	}
}

func TestCancelDuringAModelCallEndsTheTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	w.answer = func(ctx context.Context, _ string, _ llm.Request) (llm.Response, error) {
		cancel(ErrCancelled)
		<-ctx.Done()
		return llm.Response{}, fmt.Errorf("ask: %w", ctx.Err())
	}
	if err := w.agent().Run(ctx, w.turn, w.journal); err != nil {
		t.Fatal(err)
	}
	w.wantEnd("cancelled", "cancelled")
	w.wantTexts("Cancelled.")
	if len(w.journal.calls) != 1 || w.journal.calls[0].Error == "" {
		t.Errorf("calls %+v", w.journal.calls)
	}
}

func TestCancelBeforeTheResumeRunsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.journal.plans = []PlanRow{{Goal: "g", Tasks: []TaskRow{
		{Task: execTask("cut off"), State: TaskRunning},
		{Task: msgTask("tell"), Position: 1, State: TaskPending},
	}}}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(ErrCancelled)
	if err := w.agent().Run(ctx, w.turn, w.journal); err != nil {
		t.Fatal(err)
	}
	w.wantTexts("Cancelled. Done: nothing; stopped midway: `cut off`.")
	if got := w.journal.plans[0].Tasks[0]; got.State != TaskInterrupted || got.Result.Code != "interrupted" || len(w.ran) > 0 {
		t.Errorf("task %+v, ran %q", got, w.ran)
	}
}

func TestHandBackWritesNothing(t *testing.T) {
	t.Parallel()
	for name, cause := range map[string]error{"released": ErrReleased, "another cause": errors.New("lease lost"), "no cause": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.script(map[string][]string{rolePlanner: {planText(execTask("sleep"), msgTask("tell"))}})
			ctx, cancel := context.WithCancelCause(context.Background())
			commits := 0
			w.exec = func(ctx context.Context, _ tools.Command) tools.Result {
				commits = len(w.journal.steps)
				cancel(cause)
				<-ctx.Done()
				return tools.Result{End: tools.EndCancelled}
			}
			err := w.agent().Run(ctx, w.turn, w.journal)
			if err != ErrReleased { //nolint:errorlint // the very value is promised
				t.Errorf("Run returned %v", err)
			}
			if len(w.journal.steps) != commits || w.journal.end != nil {
				t.Errorf("wrote %+v after the release", w.journal.steps[commits:])
			}
		})
	}
}

func TestHandBackDuringAModelCallCommitsNothing(t *testing.T) {
	t.Parallel()
	for _, role := range []string{rolePlanner, roleReviewer, roleWorker} {
		w := newWorld(t)
		w.script(map[string][]string{rolePlanner: {planText(execTask("ls"), msgTask("tell"))}, roleReviewer: {okText()}, roleWorker: {"told"}})
		script := w.answer
		ctx, cancel := context.WithCancelCause(context.Background())
		commits := 0
		w.answer = func(ctx context.Context, model string, req llm.Request) (llm.Response, error) {
			if req.Role == role {
				commits = len(w.journal.steps)
				cancel(ErrReleased)
			}
			return script(ctx, model, req) // it answers all the same
		}
		if err := w.agent().Run(ctx, w.turn, w.journal); !errors.Is(err, ErrReleased) {
			t.Errorf("%s: Run returned %v", role, err)
		}
		if len(w.journal.steps) != commits {
			t.Errorf("%s: wrote %+v after the release", role, w.journal.steps[commits:])
		}
		w.answer = script
		w.run()
		w.wantTexts("told")
		if count(w.ran, "ls") != 1 {
			t.Errorf("%s: ran %q", role, w.ran)
		}
	}
}

func TestFailedCommitEndsTheRun(t *testing.T) {
	t.Parallel()
	for _, fault := range []error{ErrReleased, errors.New("disk full")} {
		w := newWorld(t)
		w.script(map[string][]string{rolePlanner: {planText(execTask("never"), msgTask("tell"))}})
		w.journal.fault = func(int, func()) error { return fmt.Errorf("journal: %w", fault) }
		err := w.agent().Run(context.Background(), w.turn, w.journal)
		if !errors.Is(err, fault) {
			t.Errorf("Run returned %v, want %v", err, fault)
		}
		if len(w.ran) > 0 || len(w.journal.steps) != 1 {
			t.Errorf("went on after a commit failed: ran %q, %d commits", w.ran, len(w.journal.steps))
		}
	}
}

func TestNewRefusesMissingModelsAndCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.agent()
	if _, err := New(w.cfg, nil, a.toolbox, w, w, a.log, Options{}); err == nil {
		t.Error("took no models")
	}
	w.cfg.MaxLLMCalls = 0
	if _, err := New(w.cfg, w, a.toolbox, w, w, a.log, Options{}); err == nil || !strings.Contains(err.Error(), "max_llm_calls (0)") {
		t.Errorf("took no calls: %v", err)
	}
}

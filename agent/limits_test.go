package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"switchboard/agent/llm"
	"switchboard/agent/tools"
)

func TestCallCapEndsTheTurn(t *testing.T) {
	t.Parallel()
	for limit := 1; limit <= 4; limit++ {
		w := newWorld(t)
		w.cfg.MaxLLMCalls = limit
		w.script(map[string][]string{rolePlanner: {planText(execTask("a"), execTask("b"), msgTask("tell"))}, roleReviewer: {okText()}, roleWorker: {"told"}})
		w.run()
		want := End{State: "failed", Outcome: "call_limit"}
		if limit == 4 {
			want = End{State: "done", Outcome: "answered"}
		}
		if *w.journal.end != want || len(w.asked) != limit || len(w.journal.calls) != limit {
			t.Errorf("limit %d: %d calls, %d recorded, ended %+v", limit, len(w.asked), len(w.journal.calls), *w.journal.end)
		}
	}
}

func TestCallCapCountsFailuresAndResumes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cfg.MaxLLMCalls = 3
	w.cfg.Fallback = []string{"second", "third", "fourth"}
	w.journal.calls = []Call{{Step: "plan.0.1", Error: "gone"}}
	w.answer = func(context.Context, string, llm.Request) (llm.Response, error) {
		return llm.Response{}, llm.ErrUnavailable
	}
	w.run()
	if want := []string{"second", "third"}; !slices.Equal(w.models, want) {
		t.Errorf("asked %q, want %q", w.models, want)
	}
	w.wantEnd("failed", "call_limit")
}

func TestTurnTimeoutHoldsAcrossResumes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn.StartedAt = w.opts.Now().Add(-w.cfg.TurnTimeout)
	w.journal.plans = []PlanRow{{Goal: "g", Tasks: []TaskRow{
		{Task: execTask("ls -l"), State: TaskDone, Result: &tools.Result{End: tools.EndOK}},
		{Task: toolTask("post", "x"), Position: 1, State: TaskRunning},
		{Task: msgTask("tell"), Position: 2, State: TaskPending},
	}}}
	w.run()
	w.wantEnd("failed", "timeout")
	w.wantTexts("I stopped: this took longer than the 15m0s that one request may take. Done: `ls -l`; stopped midway: `use post`.")
	if len(w.asked)+len(w.ran) > 0 {
		t.Errorf("asked %d, ran %q after the time", len(w.asked), w.ran)
	}
	if got := w.journal.plans[0].Tasks[1].State; got != TaskInterrupted {
		t.Errorf("the task cut off is %s", got)
	}
}

// simulate runs test in a bubble with the bubble's clock.
func simulate(t *testing.T, test func(t *testing.T, w *world)) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.turn.Workspace = dir
		w.opts.Now = time.Now
		w.turn.StartedAt = time.Now()
		test(t, w)
	})
}

func TestTurnTimeoutStopsACommand(t *testing.T) {
	simulate(t, func(t *testing.T, w *world) {
		w.script(map[string][]string{rolePlanner: {planText(execTask("sleep"), msgTask("tell"))}})
		w.exec = func(ctx context.Context, _ tools.Command) tools.Result {
			<-ctx.Done()
			return tools.Result{End: tools.EndCancelled, Output: "half"}
		}
		w.run()
		w.wantEnd("failed", "timeout")
		if took := time.Since(w.turn.StartedAt); took != w.cfg.TurnTimeout {
			t.Errorf("took %s", took)
		}
		if got := w.journal.plans[0].Tasks[0]; got.State != TaskCancelled || got.Result.Output != "half" {
			t.Errorf("task %+v", got)
		}
	})
}

func TestStalledModelFallsBack(t *testing.T) {
	simulate(t, func(t *testing.T, w *world) {
		w.cfg.Fallback = []string{"offline", "second", "third"} // the planner's own model is not tried twice
		w.cfg.LLMTimeout = 2 * time.Minute
		w.answer = func(ctx context.Context, model string, req llm.Request) (llm.Response, error) {
			if model == "third" {
				return llm.Response{Text: planText(answerTask("from the third"))}, nil
			}
			<-ctx.Done()
			return llm.Response{}, fmt.Errorf("%w: %w", llm.ErrStalled, ctx.Err())
		}
		w.run()
		w.wantTexts("from the third")
		if took := time.Since(w.turn.StartedAt); took != 2*w.cfg.StallTimeout {
			t.Errorf("took %s, want two stalls", took)
		}
		if timeouts := []time.Duration{w.asked[0].Timeout, w.asked[2].Timeout}; timeouts[0] != time.Minute || timeouts[1] != 2*time.Minute {
			t.Errorf("timeouts %v", timeouts)
		}
		var steps []string
		for _, call := range w.journal.calls {
			steps = append(steps, fmt.Sprintf("%s %v", call.Step, call.Error == ""))
		}
		if want := []string{"plan.0.1 false", "plan.0.1~1 false", "plan.0.1~2 true"}; !slices.Equal(steps, want) {
			t.Errorf("recorded %q, want %q", steps, want)
		}
	})
}

func TestFailedModelIsNotAskedAgainOnResume(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cfg.Fallback = []string{"second"}
	w.journal.calls = []Call{{Step: "plan.0.1+1", Error: "429"}, {Step: "plan.0.1", Error: "down"}}
	w.script(map[string][]string{rolePlanner: {planText(answerTask("yes"))}})
	w.run()
	if !slices.Equal(w.models, []string{"second"}) {
		t.Errorf("asked %q", w.models)
	}
}

func TestModelErrorsEndInASentenceForThePerson(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err     error
		outcome string
		says    string
	}{
		{llm.ErrNoKey, "no_model", "not set up"},
		{llm.ErrUnknownModel, "no_model", "not set up"},
		{llm.ErrUnauthorized, "no_model", "not set up"},
		{llm.ErrContextTooLong, "model_error", "more text"},
		{llm.ErrRefused, "model_error", "declined"},
		{&llm.RateLimitError{Err: errors.New("x")}, "model_error", "overloaded"},
		{llm.ErrUnavailable, "model_error", "no answer"},
		{errors.New("anything"), "model_error", "no answer"},
	} {
		w := newWorld(t)
		w.answer = func(context.Context, string, llm.Request) (llm.Response, error) {
			return llm.Response{}, fmt.Errorf("provider acme at internal.example: %w", tc.err)
		}
		w.run()
		w.wantEnd("failed", tc.outcome)
		if text := w.journal.texts()[0]; !strings.Contains(text, tc.says) || strings.Contains(text, "acme") {
			t.Errorf("%v: said %q", tc.err, text)
		}
		if call := w.journal.calls[0]; !strings.Contains(call.Error, "acme") || call.Answer != "" {
			t.Errorf("%v: recorded %+v", tc.err, call)
		}
	}
}

// What has to be set right is told to an admin in a chat of their own, and to nobody
// else.
func TestModelSetupErrorIsShownToAdminsInPrivateOnly(t *testing.T) {
	t.Parallel()
	fault := &llm.SetupError{
		Reason: `the key for "acme" was refused`, Fix: "set the variable ACME_API_KEY (llm.providers.acme.api_key) to a valid key",
		Err: fmt.Errorf("%w (401: wrong words of theirs)", llm.ErrUnauthorized),
	}
	const plain = "I cannot answer: the language model is not set up properly. The log on my machine has the details."
	for _, tc := range []struct {
		role   string
		direct bool
		want   string
	}{
		{"admin", true, `I cannot answer: the key for "acme" was refused; set the variable ACME_API_KEY (llm.providers.acme.api_key) to a valid key.`},
		{"admin", false, plain},
		{"user", true, plain},
	} {
		w := newWorld(t)
		w.turn.Person.Role, w.turn.Place.Direct = tc.role, tc.direct
		w.answer = func(context.Context, string, llm.Request) (llm.Response, error) {
			return llm.Response{}, fmt.Errorf("planner: acme/x: %w", fault)
		}
		w.run()
		w.wantEnd("failed", "no_model")
		w.wantTexts(tc.want)
	}
}

// A finished answer that the client found unusable is the planner's fault, not the model's.
func TestUnusableAnswerIsAFault(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.answer = func(_ context.Context, _ string, req llm.Request) (llm.Response, error) {
		switch {
		case req.Role == roleWorker:
			return llm.Response{Text: "the beginning", Finish: "length"}, fmt.Errorf("%w: cut off", llm.ErrUnavailable)
		case !strings.Contains(req.User, "## Faults in your last plan"):
			return llm.Response{Text: `{"goal":`, Finish: "length"}, fmt.Errorf("%w: cut off", llm.ErrUnavailable)
		}
		return llm.Response{Text: planText(msgTask("tell")), Finish: "stop"}, nil
	}
	w.run()
	w.wantTexts("the beginning […]")
}

func TestThirdRunOfACommandIsRefusedAsACycle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.script(map[string][]string{
		rolePlanner:  {planText(execTask("make"), toolTask("look", "a"), execTask(" make"), toolTask("look", "b"), execTask("make "), msgTask("tell"))},
		roleReviewer: {okText()}, roleWorker: {"told"},
	})
	w.run()
	if want := []string{"make", `look{"word":"a"}`, " make", `look{"word":"b"}`}; !slices.Equal(w.ran, want) {
		t.Errorf("ran %q, want %q", w.ran, want)
	}
	got := w.journal.plans[0].Tasks[4].Result
	if got == nil || got.End != tools.EndRefused || got.Code != "cycle" || got.Rule == "" || got.Hint == "" {
		t.Errorf("result %+v", got)
	}
}

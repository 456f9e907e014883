package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"switchboard/agent/llm"
)

// What becomes of a turn when the cost of a call is not reserved: nothing is asked, and there is
// no row of a call that was not made.
func TestCallsThatAreNotReserved(t *testing.T) {
	t.Parallel()
	away := errors.New("the database is away")
	for name, tc := range map[string]struct {
		refusal error // of the first model, or of the second
		second  bool
		calls   []string
		text    string
		outcome string
		err     error // of Run
	}{
		"over the limit": {refusal: &OverLimitError{Text: "Used up."}, text: "Used up.", outcome: "over_limit"},
		"over the limit, of a fallback": {
			refusal: &OverLimitError{Text: "Used up."}, second: true, calls: []string{"plan.0.1 plan.0.1 false"}, text: "Used up.", outcome: "over_limit",
		},
		"no price": {
			refusal: &llm.SetupError{Reason: "the model has no price", Fix: "set one", Err: llm.ErrNotAvailable},
			calls:   []string{"plan.0.1  false", "plan.0.1~1 plan.0.1~1 true"}, text: "from the second", outcome: "answered",
		},
		"not written": {refusal: away, err: away},
		"fenced":      {refusal: ErrReleased, err: ErrReleased},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.cfg.Fallback = []string{"second"}
			asked := 0
			w.journal.reserve = func(step string, q llm.Quote) (bool, error) {
				if strings.HasSuffix(step, "~1") == tc.second {
					return false, tc.refusal
				}
				return true, nil
			}
			w.answer = func(_ context.Context, model string, req llm.Request) (llm.Response, error) {
				if err := req.Reserve(llm.Quote{Provider: "p", Model: model, Most: 1}); err != nil {
					return llm.Response{}, fmt.Errorf("planner: %w", err)
				}
				asked++
				if model == "second" {
					return llm.Response{Text: planText(answerTask("from the second"))}, nil
				}
				return llm.Response{}, llm.ErrUnavailable
			}
			err := w.agent().Run(t.Context(), w.turn, w.journal)
			if !errors.Is(err, tc.err) || (err == nil) != (tc.err == nil) {
				t.Fatalf("Run: %v", err)
			}
			var calls []string
			for _, call := range w.journal.calls {
				calls = append(calls, fmt.Sprintf("%s %s %v", call.Step, call.Held, call.Error == ""))
			}
			if !slices.Equal(calls, tc.calls) {
				t.Errorf("calls %q, want %q", calls, tc.calls)
			}
			if tc.err != nil {
				if w.journal.end != nil || len(w.journal.said) > 0 {
					t.Errorf("written: %+v, %q", w.journal.end, w.journal.texts())
				}
				return
			}
			if got := w.journal.texts(); !slices.Equal(got, []string{tc.text}) || w.journal.end.Outcome != tc.outcome {
				t.Errorf("says %q and ends %+v", got, w.journal.end)
			}
		})
	}
}

// A call that is asked again under its step is settled under the key that it is kept by.
func TestCallsAreSettledUnderTheirOwnKey(t *testing.T) {
	simulate(t, func(t *testing.T, w *world) {
		w.journal.reserve = func(string, llm.Quote) (bool, error) { return true, nil }
		tries := 0
		w.answer = func(_ context.Context, model string, req llm.Request) (llm.Response, error) {
			if err := req.Reserve(llm.Quote{Model: model, Most: 1}); err != nil {
				return llm.Response{}, err
			}
			if tries++; tries == 1 {
				w.stop(ErrRestart)
				return llm.Response{}, context.Canceled
			}
			return llm.Response{Text: planText(answerTask("yes"))}, nil
		}
		if err := w.restarted(); err != nil {
			t.Fatal(err)
		}
		var calls []string
		for _, call := range w.journal.calls {
			calls = append(calls, call.Step+" "+call.Held)
		}
		if want := []string{"plan.0.1+1 plan.0.1", "plan.0.1 plan.0.1"}; !slices.Equal(calls, want) {
			t.Errorf("calls %q, want %q", calls, want)
		}
	})
}

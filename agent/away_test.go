package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"switchboard/agent/llm"
)

// keepRunning runs the turn again each time that it was put off, when it is time.
func (w *world) keepRunning() {
	w.t.Helper()
	for w.journal.end == nil {
		waits := len(w.journal.waits)
		if err := w.agent().Run(context.Background(), w.turn, w.journal); err != nil {
			w.t.Fatalf("Run: %v", err)
		}
		if w.journal.end != nil {
			return
		}
		if len(w.journal.waits) == waits {
			w.t.Fatal("the turn neither ended nor waits")
		}
		wait := w.journal.waits[waits].Wait
		if !w.journal.waits[waits].Timed {
			w.turn.StartedAt = w.turn.StartedAt.Add(wait)
		}
		time.Sleep(wait)
	}
}

// fails has each model fail with err until so long after the start.
func (w *world) fails(err error, until time.Duration) {
	answer, began := w.answer, time.Now()
	w.answer = func(ctx context.Context, model string, req llm.Request) (llm.Response, error) {
		if time.Since(began) < until {
			return llm.Response{}, fmt.Errorf("planner: %w", err)
		}
		return answer(ctx, model, req)
	}
}

func TestTurnWaitsForAModelThatIsAway(t *testing.T) {
	const told = "The language model does not answer. I will keep trying."
	for name, tc := range map[string]struct {
		err     error
		away    time.Duration
		set     func(w *world)
		tries   []time.Duration // after the start
		outcome string
		texts   []string
	}{
		"not for long": {
			err: llm.ErrAway, away: 4 * time.Second,
			tries: []time.Duration{0, 5}, outcome: "answered", texts: []string{"yes"},
		},
		"a minute": {
			err: llm.ErrAway, away: time.Minute,
			tries: []time.Duration{0, 5, 10, 20, 40, 80}, outcome: "answered", texts: []string{told, "yes"},
		},
		"in another language": {
			err: llm.ErrAway, away: 30 * time.Second, set: func(w *world) { w.turn.Session.Language = "de" },
			tries: []time.Duration{0, 5, 10, 20, 40}, outcome: "answered", texts: []string{modelAway.DE, "yes"},
		},
		"longer than anybody waits": {
			err: llm.ErrAway, away: time.Hour, set: func(w *world) { w.turn.KeepTrying = 3 * time.Minute },
			tries: []time.Duration{0, 5, 10, 20, 40, 80, 140}, outcome: "model_error",
			texts: []string{told, "I cannot answer now: the language model gave no answer. Please try again in a while."},
		},
		"it stalls": {
			err: llm.ErrStalled, away: 4 * time.Second,
			tries: []time.Duration{0, 5}, outcome: "answered", texts: []string{"yes"},
		},
		"it names no time": {
			err: &llm.RateLimitError{Err: errors.New("429")}, away: 4 * time.Second,
			tries: []time.Duration{0, 5}, outcome: "answered", texts: []string{"yes"},
		},
		"it names a time": {
			err: &llm.RateLimitError{RetryAfter: 90 * time.Second, Err: errors.New("429")}, away: time.Minute,
			tries: []time.Duration{0, 90}, outcome: "answered", texts: []string{told, "yes"},
		},
		"it names a time that nobody waits for": {
			err: &llm.RateLimitError{RetryAfter: time.Hour, Err: errors.New("429")}, away: time.Hour,
			tries: []time.Duration{0}, outcome: "model_error",
			texts: []string{"I cannot answer now: the language model is overloaded. Please try again in a while."},
		},
		"the key is wrong": {
			err: llm.ErrUnauthorized, away: time.Minute, tries: []time.Duration{0}, outcome: "no_model",
			texts: []string{"I cannot answer: the language model is not set up properly. The log on my machine has the details."},
		},
		"nothing is paid": {
			err: llm.ErrNoCredit, away: time.Minute, tries: []time.Duration{0}, outcome: "no_model",
			texts: []string{"I cannot answer: the language model is not set up properly. The log on my machine has the details."},
		},
		"there is no such model": {
			err: llm.ErrUnknownModel, away: time.Minute, tries: []time.Duration{0}, outcome: "no_model",
			texts: []string{"I cannot answer: the language model is not set up properly. The log on my machine has the details."},
		},
		"a job within its time": {
			err: llm.ErrAway, away: 30 * time.Second, set: func(w *world) { w.turn.Limits = Limits{Run: 1, Timeout: time.Minute} },
			tries: []time.Duration{0, 5, 10, 20, 40}, outcome: "answered", texts: []string{"yes"},
		},
		"a job out of its time": {
			err: llm.ErrAway, away: time.Hour, set: func(w *world) { w.turn.Limits = Limits{Run: 1, Timeout: time.Minute} },
			tries: []time.Duration{0, 5, 10, 20, 40}, outcome: "model_error",
			texts: []string{"I cannot answer now: the language model gave no answer. Please try again in a while."},
		},
		"longer than a turn may take": {
			err: llm.ErrAway, away: 3 * time.Minute, set: func(w *world) { w.cfg.TurnTimeout = time.Minute },
			tries: []time.Duration{0, 5, 10, 20, 40, 80, 140, 200}, outcome: "answered", texts: []string{told, "yes"},
		},
		"an admin reads what to do": {
			err:  &llm.SetupError{Reason: "no answer comes from http://localhost", Fix: "start it", Err: llm.ErrAway},
			away: 30 * time.Second, set: func(w *world) { w.turn.Person.Role, w.turn.Place.Direct = "admin", true },
			tries: []time.Duration{0, 5, 10, 20, 40}, outcome: "answered",
			texts: []string{told + " (no answer comes from http://localhost; start it.)", "yes"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(t *testing.T, w *world) {
				w.turn.Person.Role, w.turn.KeepTrying = "user", 15*time.Minute
				w.script(map[string][]string{rolePlanner: {planText(answerTask("yes"))}})
				if tc.set != nil {
					tc.set(w)
				}
				w.fails(tc.err, tc.away)
				began := time.Now()
				var tries []time.Duration
				answer := w.answer
				w.answer = func(ctx context.Context, model string, req llm.Request) (llm.Response, error) {
					tries = append(tries, time.Since(began)/time.Second)
					return answer(ctx, model, req)
				}
				w.keepRunning()
				if w.journal.end.Outcome != tc.outcome || !slices.Equal(tries, tc.tries) {
					t.Errorf("ended %s after tries at %d, want %s, %d", w.journal.end.Outcome, tries, tc.outcome, tc.tries)
				}
				w.wantTexts(tc.texts...)
				for _, wait := range w.journal.waits {
					if wait.Outcome != OutcomeModelAway || wait.Timed != (w.turn.Limits.Run != 0) {
						t.Errorf("put off with %+v", wait)
					}
				}
				if len(w.journal.calls) != 1 {
					t.Errorf("%d rows of calls, want one, which each try writes over", len(w.journal.calls))
				}
			})
		})
	}
}

// What was done before the model went away is done once, and its reviewer is asked again.
func TestTaskIsNotDoneAgainAfterTheModelWasAway(t *testing.T) {
	simulate(t, func(t *testing.T, w *world) {
		w.turn.KeepTrying = 15 * time.Minute
		w.cfg.MaxLLMCalls = 3
		w.script(map[string][]string{
			rolePlanner: {planText(execTask("make coffee"), msgTask("say so"))}, roleReviewer: {okText()}, roleWorker: {"It is made."},
		})
		answer, away := w.answer, map[string]time.Time{}
		w.answer = func(ctx context.Context, model string, req llm.Request) (llm.Response, error) {
			if req.Role != rolePlanner && away[req.Role].IsZero() {
				away[req.Role] = time.Now()
			}
			if since := away[req.Role]; !since.IsZero() && time.Since(since) < 30*time.Second {
				return llm.Response{}, llm.ErrAway
			}
			return answer(ctx, model, req)
		}
		w.keepRunning()
		w.wantEnd("done", "answered")
		w.wantTexts(modelAway.EN, "It is made.")
		if !slices.Equal(w.ran, []string{"make coffee"}) || len(w.requests(rolePlanner)) != 1 {
			t.Errorf("ran %q, planned %d times", w.ran, len(w.requests(rolePlanner)))
		}
	})
}

// With fallbacks the next model goes first, and where all are away they are all asked again.
func TestFallbackGoesBeforeWaiting(t *testing.T) {
	simulate(t, func(t *testing.T, w *world) {
		w.turn.KeepTrying = 15 * time.Minute
		w.cfg.Fallback = []string{"second"}
		began := time.Now()
		w.answer = func(_ context.Context, model string, _ llm.Request) (llm.Response, error) {
			switch {
			case model != "second":
				return llm.Response{}, &llm.RateLimitError{RetryAfter: 10 * time.Minute, Err: errors.New("429")}
			case time.Since(began) < 8*time.Second:
				return llm.Response{}, llm.ErrAway
			}
			return llm.Response{Text: planText(answerTask("from the second")), Finish: "stop"}, nil
		}
		w.keepRunning()
		w.wantTexts("from the second")
		if len(w.models) != 6 || w.models[5] != "second" || time.Since(began) != 10*time.Second {
			t.Errorf("asked %q in %s", w.models, time.Since(began))
		}
	})
}

// Nobody hears of a model that is away in a turn which says nothing before its end.
func TestQuietTurnWaitsForItsModelWithoutAWord(t *testing.T) {
	simulate(t, func(t *testing.T, w *world) {
		w.turn.KeepTrying, w.turn.Limits = 15*time.Minute, Limits{Quiet: true}
		w.script(map[string][]string{rolePlanner: {planText(answerTask(QuietAnswer))}})
		w.fails(llm.ErrAway, time.Minute)
		w.cfg.Planner = "own"
		w.keepRunning()
		w.wantTexts()
		w.wantEnd("done", "quiet")
	})
}

// A turn that is cancelled just as it is to wait is cancelled, and its call is paid all the same.
func TestTurnThatIsCancelledDoesNotWait(t *testing.T) {
	simulate(t, func(t *testing.T, w *world) {
		w.turn.KeepTrying = 15 * time.Minute
		w.answer = func(context.Context, string, llm.Request) (llm.Response, error) {
			return llm.Response{Usage: llm.Usage{In: 7}}, llm.ErrAway
		}
		w.journal.fault = func(_ int, apply func()) error {
			if steps := w.journal.steps; steps[len(steps)-1].End != nil && steps[len(steps)-1].End.State == "queued" {
				return ErrCancelled
			}
			apply()
			return nil
		}
		w.keepRunning()
		w.wantEnd("cancelled", "cancelled")
		if len(w.journal.calls) != 1 || w.journal.calls[0].Usage.In != 7 || len(w.journal.waits) != 0 {
			t.Errorf("calls %+v, waits %v", w.journal.calls, w.journal.waits)
		}
	})
}

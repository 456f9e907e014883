package agent

import (
	"context"
	"errors"
	"slices"
	"testing"

	"switchboard/agent/tools"
)

// The gate confirms each use of a tool as it is about to run, also one that a person allowed, and nothing else.
func TestGateConfirmsWhatIsAboutToRun(t *testing.T) {
	t.Parallel()
	w := asking(t, toolTask("look", "a"), execTask("rm x"), msgTask("tell"))
	var confirmed []string
	last := tools.Decision{}
	w.confirm = func(_ context.Context, q tools.Question, d tools.Decision) tools.Decision {
		confirmed = append(confirmed, q.Tool+" of "+q.Person+" on "+q.Channel+": "+d.Rule)
		if len(confirmed) == 3 && last.Verdict != "" {
			return last
		}
		return d
	}
	w.run()
	want := []string{"look of marco on console: role.admin", "exec of marco on console: policy.ask"}
	if !slices.Equal(confirmed, want) || len(w.journal.asks) != 1 {
		t.Fatalf("confirmed %q, asked %v", confirmed, w.journal.asks)
	}
	w.journal.says = func(Ask) Approval { return Approval{ID: 7, State: Accepted, Scope: "once", By: "marco"} }
	last = tools.Decision{Verdict: tools.Refuse, Rule: "policy.service", Reason: "it is Sunday"}
	w.run()
	task := w.journal.plans[0].Tasks[1]
	if len(confirmed) != 3 || count(w.ran, "rm x") != 0 || len(w.journal.used) != 0 || task.State != TaskFailed || task.Result.Rule != "policy.service" || task.Result.Hint != "it is Sunday" {
		t.Errorf("confirmed %q, ran %v, used %v: %+v", confirmed, w.ran, w.journal.used, task.Result)
	}
}

// Nobody is asked about what would not be let run.
func TestNobodyIsAskedAboutWhatIsNotConfirmed(t *testing.T) {
	t.Parallel()
	w := asking(t, execTask("rm x"), msgTask("tell"))
	w.confirm = func(context.Context, tools.Question, tools.Decision) tools.Decision {
		return tools.Decision{Verdict: tools.Refuse, Rule: "policy.service", Reason: "no"}
	}
	w.run()
	if len(w.journal.asks) != 0 || len(w.ran) != 0 || w.journal.plans[0].Tasks[0].Result.Rule != "policy.service" {
		t.Errorf("asked %v, ran %v", w.journal.asks, w.ran)
	}
}

// A turn that is stopped while the service is asked was refused nothing: it ends as cancelled, or goes on elsewhere.
func TestTurnStoppedWhileTheServiceIsAsked(t *testing.T) {
	t.Parallel()
	for cause, want := range map[error]error{ErrCancelled: nil, ErrReleased: ErrReleased} {
		w := asking(t, toolTask("look", "a"), msgTask("tell"))
		ctx, cancel := context.WithCancelCause(t.Context())
		w.confirm = func(context.Context, tools.Question, tools.Decision) tools.Decision {
			cancel(cause)
			return tools.Decision{Verdict: tools.Refuse, Rule: "policy.service", Reason: "no answer"}
		}
		if err := w.agent().Run(ctx, w.turn, w.journal); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%v: %v", cause, err)
		}
		for _, task := range tasksOf(w.journal.plans) {
			if task.State == TaskFailed {
				t.Errorf("%v: %+v", cause, task.Result)
			}
		}
		if len(w.ran) != 0 || (w.journal.end != nil) != (want == nil) {
			t.Errorf("%v: ran %v, end %+v", cause, w.ran, w.journal.end)
		}
	}
}

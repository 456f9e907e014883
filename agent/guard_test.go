package agent

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"switchboard/agent/tools"
)

// A testGuard ends what it guards when told to.
type testGuard struct {
	unsafe atomic.Bool
	taken  int
	end    context.CancelCauseFunc
	over   bool
}

func (g *testGuard) Safe() bool { return !g.unsafe.Load() }

func (g *testGuard) Guard(ctx context.Context) (context.Context, context.CancelFunc) {
	g.taken++
	ctx, g.end = context.WithCancelCause(ctx)
	return ctx, func() { g.over = true; g.end(nil) }
}

// What the leases cut off is neither done nor failed: the reviewer is told, and it is
// not done again.
func TestLeaseCutsOffATask(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		task   Task
		result tools.Result
		want   TaskState
	}{
		{"a command", execTask("once"), tools.Result{End: tools.EndError, Code: tools.CodeInterrupted, Output: "half"}, TaskInterrupted},
		{"a tool", toolTask("wait", "x"), tools.Result{}, TaskInterrupted},
		{"done in time", execTask("once"), tools.Result{End: tools.EndOK, Output: "all"}, TaskDone},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w, guard := newWorld(t), &testGuard{}
			w.opts.Guard = guard
			waiting := w.tool("wait", tools.EffectOutside, false)
			waiting.Run = func(ctx context.Context, _ tools.Call) tools.Result {
				w.ran = append(w.ran, "wait")
				guard.end(tools.ErrUnsafe)
				<-ctx.Done()
				return tools.Result{End: tools.EndError, Code: "http", Output: "the connection broke"}
			}
			w.extra = []tools.Tool{waiting}
			w.exec = func(ctx context.Context, _ tools.Command) tools.Result {
				guard.end(tools.ErrUnsafe)
				<-ctx.Done()
				return tc.result
			}
			w.script(map[string][]string{
				rolePlanner:  {planText(tc.task, msgTask("tell"))},
				roleReviewer: {okText()}, roleWorker: {"It was cut off."},
			})
			w.run()
			if got := w.journal.plans[0].Tasks[0].State; got != tc.want || len(w.ran) != 1 || !guard.over {
				t.Errorf("it is %s, ran %q, guard over: %v", got, w.ran, guard.over)
			}
			review := w.requests(roleReviewer)[0].User
			if told := strings.Contains(review, "Ended: error (interrupted)"); told != (tc.want == TaskInterrupted) {
				t.Errorf("the reviewer reads\n%s", review)
			}
			w.wantEnd("done", "answered")
		})
	}
}

// The guard is there before the start is committed: what held then need not hold after.
func TestTaskWhoseLeaseIsLostBeforeItsStartIsNotBegun(t *testing.T) {
	t.Parallel()
	for name, task := range map[string]Task{"a command": execTask("never"), "a tool": toolTask("post", "x")} {
		w, guard := newWorld(t), &testGuard{}
		w.opts.Guard = guard
		w.journal.fault = func(_ int, apply func()) error {
			if guard.taken == 1 {
				guard.end(tools.ErrUnsafe)
			}
			apply()
			return nil
		}
		w.script(map[string][]string{
			rolePlanner:  {planText(task, msgTask("tell"))},
			roleReviewer: {okText()}, roleWorker: {"It was not begun."},
		})
		w.run()
		if got := w.journal.plans[0].Tasks[0]; got.State != TaskInterrupted || got.Result.Hint != notBegun || len(w.ran) > 0 {
			t.Errorf("%s: it is %s (%+v) and ran %q", name, got.State, got.Result, w.ran)
		}
	}
}

func TestUnsafeEngineBeginsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, guard := newWorld(t), &testGuard{}
		w.opts.Guard, w.opts.Now = guard, time.Now
		w.turn.StartedAt = time.Now()
		guard.unsafe.Store(true)
		w.script(map[string][]string{
			rolePlanner:  {planText(toolTask("look", "x"), execTask("later"), msgTask("tell"))},
			roleReviewer: {okText()}, roleWorker: {"Done."},
		})
		began := time.Now()
		w.exec = func(context.Context, tools.Command) tools.Result {
			if time.Since(began) < 30*time.Second {
				t.Error("it was begun while nothing may begin")
			}
			return tools.Result{End: tools.EndOK}
		}
		time.AfterFunc(30*time.Second, func() {
			if task := w.journal.plans[0].Tasks[1]; task.State != TaskPending || len(w.ran) != 1 {
				t.Errorf("meanwhile it is %s, and %q ran", task.State, w.ran)
			}
			guard.unsafe.Store(false)
		})
		w.run()
		if guard.taken != 1 || len(w.ran) != 2 {
			t.Errorf("%d guards, ran %q", guard.taken, w.ran)
		}
	})
}

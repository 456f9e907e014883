package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/scheduler"
	"switchboard/store/storetest"
)

func TestJobsRunOnTime(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, r *rig) {
		often := r.add(scheduler.Job{Spec: every(20 * time.Minute)})
		once := r.add(scheduler.Job{Spec: scheduler.Spec{At: time.Now().UTC().Add(90 * time.Minute).Format("2006-01-02T15:04:05"), Zone: "UTC"}})
		r.runFor(12*time.Hour + time.Second)
		runs := r.history(often.ID)
		if len(runs) != 36 || len(r.history(once.ID)) != 1 || len(r.started) != 37 {
			t.Errorf("%d runs, %d, %d started", len(runs), len(r.history(once.ID)), len(r.started))
		}
		for i, run := range append(runs, r.history(once.ID)...) {
			if run.State != scheduler.RunDone || run.Lag() > 100*time.Millisecond || i > 0 && i < 36 && run.Slot.Sub(runs[i-1].Slot) != 20*time.Minute || run.Delivery != "pending" {
				t.Errorf("%+v", run)
			}
		}
		if job := r.job(once.ID); job.State != scheduler.JobDone || !job.Due.IsZero() {
			t.Errorf("a one-shot that ran: %+v", job)
		}
		// Idle it looks 4 times a minute, and once more for each run.
		if n := r.looks.Load(); n > 12*60*4+3*37 {
			t.Errorf("%d looks in 12 hours", n)
		}
	})
}

// The program is started a hundred times around the instant of a slot, and each time dies at any step.
func TestRestartsAcrossASlot(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		job := r.add(scheduler.Job{Spec: scheduler.Spec{At: time.Now().UTC().Add(3 * time.Second).Format("2006-01-02T15:04:05"), Zone: "UTC"}})
		time.Sleep(time.Until(job.Due.Add(-time.Second)))
		dice := rand.New(rand.NewPCG(1, 2))
		var died atomic.Bool
		die := func(scheduler.DueRun) error {
			if dice.IntN(8) > 0 {
				died.Store(true)
				return errors.New("it died")
			}
			return nil
		}
		r.fault, r.after = die, die
		for n := 1; n <= 100 || !died.Load() && n < 400; n++ { // longer where a busy machine comes to no run
			r.runFor(time.Duration(1+dice.IntN(max(40, n))) * time.Millisecond)
		}
		r.fault, r.after = nil, nil
		r.runUntil(func() bool { return states(r.history(job.ID)) == string(scheduler.RunDone) })
		r.runFor(2 * time.Second)
		runs := r.history(job.ID)
		if len(runs) != 1 || runs[0].State != scheduler.RunDone || len(r.started) != 1 || !died.Load() {
			t.Errorf("%+v; started %v; died: %v", runs, r.started, died.Load())
		}
		for key, n := range r.started {
			if n != 1 {
				t.Errorf("%s was started %d times", key, n)
			}
		}
	})
}

// One job's turn takes ten minutes, as does maintenance, a start hangs, another cannot be started: the others are on time.
func TestSlowJobDelaysNoOther(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, r *rig) {
		slow := r.add(scheduler.Job{Payload: scheduler.PayloadAgent, Spec: every(time.Minute)})
		mends := r.add(scheduler.Job{Payload: scheduler.PayloadMaintenance, Spec: every(time.Minute)})
		r.upkeep = func(context.Context, *scheduler.Job) (scheduler.Maintained, error) {
			time.Sleep(10 * time.Minute)
			return scheduler.Maintained{}, nil
		}
		hangs, broken := r.add(scheduler.Job{Spec: every(time.Minute)}), r.add(scheduler.Job{Spec: every(time.Minute)})
		r.fault = func(run scheduler.DueRun) error {
			switch run.Job.ID {
			case hangs.ID:
				time.Sleep(29 * time.Second)
			case broken.ID:
				return errors.New("no such thing")
			}
			return nil
		}
		var others []int64
		for range 20 {
			others = append(others, r.add(scheduler.Job{Spec: every(time.Minute)}).ID)
		}
		r.runFor(10*time.Minute + time.Second)
		for _, id := range []int64{slow.ID, mends.ID} {
			if runs := r.history(id); states(runs) != "running"+strings.Repeat(" skipped", 9) || !strings.HasPrefix(runs[1].Reason, "overlap") {
				t.Errorf("slow job %d: %s", id, states(runs))
			}
		}
		if runs := r.history(broken.ID); states(runs) != "due"+strings.Repeat(" skipped", 9) || r.job(broken.ID).Failures != 0 {
			t.Errorf("the broken one: %s", states(runs))
		}
		for _, id := range others {
			for _, run := range r.history(id) {
				if run.State != scheduler.RunDone || run.Lag() > time.Second {
					t.Errorf("%+v", run)
				}
			}
		}
		if n := r.log.Count("could not be started"); n > 3 {
			t.Errorf("the log says %d times that a run could not be started", n)
		}
	})
}

func TestOverlap(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		job := func(o scheduler.Overlap) int64 {
			return r.add(scheduler.Job{Payload: scheduler.PayloadAgent, Spec: every(time.Second), Rules: scheduler.Rules{Misfire: scheduler.MisfireAll, Overlap: o}}).ID // a slow machine misses none
		}
		queue, allow := job(scheduler.OverlapQueue), job(scheduler.OverlapAllow)
		wait := func(what string, ids map[int64]string) { // and more runs, as time goes on
			t.Helper()
			wrong := func() (all string) {
				for id, want := range ids {
					if got := states(r.history(id)); !strings.HasPrefix(got, want) {
						all += fmt.Sprintf("job %d: %s; want %s\n", id, got, want)
					}
				}
				return all
			}
			r.runUntil(func() bool { return wrong() == "" })
			if all := wrong(); all != "" {
				t.Errorf("%s: %s", what, all)
			}
		}
		wait("the first runs", map[int64]string{queue: "running due", allow: "running running"})
		r.end("done", "answered")
		wait("the first is over", map[int64]string{queue: "done running"})
	})
}

func TestFailedRunsAreTriedAgainAndThenDisableTheirJob(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, r *rig) {
		job := r.add(scheduler.Job{Payload: scheduler.PayloadAgent, Spec: every(3 * time.Hour)})
		var began []time.Duration
		r.after = func(scheduler.DueRun) error {
			began = append(began, time.Since(job.CreatedAt))
			r.end("failed", "no_plan")
			return nil
		}
		r.runFor(40 * time.Hour)
		runs := r.history(job.ID)
		if got := states(runs); got != strings.TrimSpace(strings.Repeat("failed ", 10)) || runs[0].Try != 6 || len(began) != 60 {
			t.Errorf("%s, %d tries of the first, %d in all", got, runs[0].Try, len(began))
		}
		for i, want := range []time.Duration{30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour} {
			if wait := began[i+1] - began[i]; wait < want || wait > want+4*time.Second {
				t.Errorf("try %d came %s after the one before", i+2, wait)
			}
		}
		if job := r.job(job.ID); job.State != scheduler.JobDisabled || job.Failures != 10 || len(r.told) != 1 || !strings.Contains(r.told[0], "/jobs 1 resume") {
			t.Errorf("%+v; told %q", job, r.told)
		}
	})
}

func TestMissedRunsAreToldOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, r *rig) {
		often, hourly := r.add(scheduler.Job{Spec: every(10 * time.Minute)}), r.add(scheduler.Job{Spec: every(time.Hour)})
		once := r.add(scheduler.Job{Spec: scheduler.Spec{At: time.Now().UTC().Add(time.Hour).Format("2006-01-02T15:04:05"), Zone: "UTC"}})
		time.Sleep(5*time.Hour + time.Minute)
		for range 4 {
			r.runFor(15 * time.Second)
		}
		if runs := r.history(often.ID); states(runs) != "missed done" || runs[0].Count != 29 {
			t.Errorf("%s: %+v", states(runs), runs)
		}
		if runs := r.history(hourly.ID); states(runs) != "missed done" || runs[0].Count != 4 {
			t.Errorf("%s: %+v", states(runs), runs)
		}
		if runs := r.history(once.ID); states(runs) != "done" || runs[0].Lag() < 4*time.Hour {
			t.Errorf("%s: %+v", states(runs), runs)
		}
		if len(r.told) != 1 || !strings.HasPrefix(r.told[0], "marco: ") || !strings.Contains(r.told[0], "29 times from") || !strings.Contains(r.told[0], "4 times from") {
			t.Errorf("told %q", r.told)
		}
	})
}

func TestMaintenance(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, r *rig) {
		r.set.Enabled = false
		job, mine := r.add(scheduler.Job{Payload: scheduler.PayloadMaintenance, Spec: every(time.Hour)}), r.add(scheduler.Job{Spec: every(time.Hour)})
		cut := true
		r.upkeep = func(ctx context.Context, job *scheduler.Job) (scheduler.Maintained, error) {
			if cut {
				<-ctx.Done()
				return scheduler.Maintained{}, ctx.Err()
			}
			return scheduler.Maintained{Did: "3 rows", Seen: "x"}, nil
		}
		r.runFor(time.Hour + time.Minute) // its engine stops in the middle of it
		if got := states(r.history(job.ID)); got != "running" {
			t.Errorf("%s", got)
		}
		cut = false
		r.runFor(time.Minute) // it lives, as far as anybody knows
		if got := states(r.history(job.ID)); got != "running" {
			t.Errorf("beside its engine: %s", got)
		}
		if err := r.Engine.Close(r.Ctx); err != nil {
			t.Fatal(err)
		}
		next := storetest.NewHouse(t, r.DB)
		r.Engine = next.Engine
		r.runFor(time.Minute)
		runs := r.history(job.ID)
		if states(runs) != "done" || runs[0].Try != 2 || runs[0].Reason != "3 rows" || r.job(job.ID).Seen != "x" {
			t.Errorf("by the next engine: %+v, %+v", runs, r.job(job.ID))
		}
		if runs := r.history(mine.ID); len(runs) != 0 {
			t.Errorf("switched off: %+v", runs)
		}
	})
}

// Its owner may not any more, the queue is full, it fails at once; the machine lost a time zone.
func TestRunsThatAreNotStarted(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, r *rig) {
		paused, busy, failing, lost := r.add(scheduler.Job{Spec: every(time.Minute)}), r.add(scheduler.Job{Spec: every(time.Minute)}),
			r.add(scheduler.Job{Spec: every(time.Minute)}), r.add(scheduler.Job{Spec: every(time.Minute)})
		storetest.Exec(r, r.DB, fmt.Sprintf(`UPDATE jobs SET spec = '{"every":60000000000,"zone":"Atlantis/Capital"}' WHERE id = %d`, lost.ID))
		r.not = func(run scheduler.DueRun) scheduler.NotStarted {
			return map[int64]scheduler.NotStarted{
				paused.ID:  {State: scheduler.RunFailed, Reason: "person: marco is not known any more", Pause: true},
				busy.ID:    {State: scheduler.RunSkipped, Reason: "busy: 50 messages wait"},
				failing.ID: {State: scheduler.RunFailed, Reason: "payload: no"},
			}[run.Job.ID]
		}
		r.runFor(12 * time.Minute)
		if job := r.job(paused.ID); states(r.history(paused.ID)) != "failed" || job.State != scheduler.JobPaused || !strings.HasPrefix(job.Reason, "person: ") {
			t.Errorf("%+v", job)
		}
		if got := states(r.history(busy.ID)); r.job(busy.ID).State != scheduler.JobActive || !strings.HasPrefix(got, "skipped skipped") {
			t.Errorf("busy: %s", got)
		}
		if job := r.job(failing.ID); len(r.history(failing.ID)) != 10 || job.State != scheduler.JobDisabled {
			t.Errorf("failing: %+v", job)
		}
		if job := r.job(lost.ID); job.State != scheduler.JobDisabled || !strings.Contains(job.Reason, "Atlantis") {
			t.Errorf("in a lost zone: %+v", job)
		}
		if len(r.warned) != 1 || len(r.told) != 2 {
			t.Errorf("warned %q, told %q", r.warned, r.told)
		}
	})
}

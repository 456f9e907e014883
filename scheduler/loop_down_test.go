package scheduler_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"switchboard/scheduler"
)

// A job that is due each ten minutes, and a program that was down for so long when the first came: exactly these rows,
// one message for all that were missed, and no more of either at the next start.
func TestRowsAfterDownTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		down            time.Duration
		skip, once, all string
	}{
		{30 * time.Second, "1 missed", "1 done", "1 done"},
		{5 * time.Minute, "1 missed", "1 done", "1 done"},
		{35 * time.Minute, "4 missed", "3 missed, 1 done", "4 done"},
		{2*time.Hour + 5*time.Minute, "13 missed", "12 missed, 1 done", "7 missed, 6 done"},
		{30*24*time.Hour + 5*time.Minute, "4321 missed", "4320 missed, 1 done", "4315 missed, 6 done"},
	} {
		t.Run(c.down.String(), func(t *testing.T) {
			onBoth(t, func(t *testing.T, r *rig) {
				want := map[scheduler.Misfire]string{scheduler.MisfireSkip: c.skip, scheduler.MisfireOnce: c.once, scheduler.MisfireAll: c.all}
				ids := map[scheduler.Misfire]int64{}
				first := time.Now().Truncate(time.Second).Add(-c.down)
				for misfire := range want {
					job := r.add(scheduler.Job{Spec: every(10 * time.Minute), Rules: scheduler.Rules{Misfire: misfire}})
					r.due(first, job)
					ids[misfire] = job.ID
				}
				once := r.add(scheduler.Job{Spec: scheduler.Spec{At: time.Now().UTC().Add(10 * time.Minute).Format("2006-01-02T15:04:05"), Zone: "UTC"}})
				r.due(first, once)
				got := func() (all string) {
					for misfire, want := range want {
						if rows := rows(r.history(ids[misfire])); rows != want {
							all += fmt.Sprintf("%s: %s; want %s\n", misfire, rows, want)
						}
					}
					if rows := rows(r.history(once.ID)); rows != "1 done" {
						all += "due once: " + rows + "\n"
					}
					r.mu.Lock()
					defer r.mu.Unlock()
					if len(r.told) != 1 {
						all += fmt.Sprintf("told %q\n", r.told)
					}
					return all
				}
				r.runUntil(func() bool { return got() == "" })
				r.runFor(2 * time.Second) // started again, it does no more
				if wrong := got(); wrong != "" {
					t.Error(wrong)
				}
			})
		})
	}
}

// rows counts the rows of a history by their state, those that were missed by their slots.
func rows(runs []scheduler.Run) string {
	var words []string
	done := 0
	for _, r := range runs {
		if r.State == scheduler.RunDone {
			done++
		} else {
			words = append(words, fmt.Sprintf("%d %s", r.Count, r.State))
		}
	}
	if done > 0 {
		words = append(words, fmt.Sprintf("%d done", done))
	}
	return strings.Join(words, ", ")
}

// A run that cannot be started is tried for a day, and has then failed; the next slot is tried again.
func TestARunThatCannotBeStartedIsStuckInTheEnd(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, r *rig) {
		job := r.add(scheduler.Job{Spec: every(20 * time.Hour)})
		r.fault = func(run scheduler.DueRun) error {
			if run.Run.Slot.Sub(job.Slot) < time.Hour {
				return errors.New("no such thing")
			}
			return nil
		}
		for _, c := range []struct {
			after time.Duration
			want  string
		}{{0, "due"}, {24*time.Hour - time.Minute, "due missed"}, {24 * time.Hour, "failed missed"}, {40 * time.Hour, "failed missed done"}} {
			time.Sleep(time.Until(job.Due.Add(c.after)))
			r.runFor(30 * time.Second)
			if runs := r.history(job.ID); states(runs) != c.want || runs[0].Try != 1 || (runs[0].State == scheduler.RunFailed) != strings.HasPrefix(runs[0].Reason, "stuck: ") {
				t.Errorf("after %s: %+v; want %s", c.after, runs, c.want)
			}
		}
		if job := r.job(job.ID); job.Failures != 0 || len(r.started) != 1 {
			t.Errorf("%+v, started %v", job, r.started)
		}
	})
}

// A run whose start was not tried for days, as its owner was away, does not fail of the first error.
func TestARunThatWasNotTriedIsNotStuck(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, r *rig) {
		job := r.add(scheduler.Job{Spec: scheduler.Spec{At: time.Now().UTC().Add(time.Minute).Format("2006-01-02T15:04:05"), Zone: "UTC"}})
		errs := 0
		r.fault = func(scheduler.DueRun) error {
			if errs--; errs >= 0 {
				return errors.New("the database is away")
			}
			return nil
		}
		for _, after := range []time.Duration{0, 48 * time.Hour} {
			errs = 2
			time.Sleep(time.Until(job.Due.Add(after)))
			r.runFor(2 * time.Second)
		}
		r.runFor(30 * time.Second)
		if runs := r.history(job.ID); states(runs) != "done" {
			t.Errorf("%+v", runs)
		}
	})
}

// What speaks in a channel that is served nowhere waits for it, before it is claimed and after; what was due once comes late.
func TestJobsWaitForTheirChannel(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, r *rig) {
		once := r.add(scheduler.Job{Spec: scheduler.Spec{At: time.Now().UTC().Add(time.Minute).Format("2006-01-02T15:04:05"), Zone: "UTC"}})
		often, claimed := r.add(scheduler.Job{Spec: every(10 * time.Minute)}), r.add(scheduler.Job{Spec: every(10 * time.Minute)})
		r.fault = func(run scheduler.DueRun) error {
			if run.Job.ID == claimed.ID && run.Run.Slot.Equal(claimed.Slot) {
				return errors.New("its channel is not connected here")
			}
			return nil
		}
		r.serves = []string{"slack"}
		r.runFor(10*time.Minute - time.Second)
		r.serves = []string{"tg"}
		r.runFor(10 * time.Second)
		r.serves = []string{"slack"}
		r.runFor(2 * time.Hour)
		if n := r.log.Count("could not be started"); n != 1 || states(r.history(claimed.ID)) != "due" {
			t.Errorf("away: tried %d times, %+v", n, r.history(claimed.ID))
		}
		r.fault, r.serves = nil, []string{"tg", "slack"}
		r.runFor(20 * time.Second)
		for id, want := range map[int64]string{once.ID: "1 done", often.ID: "11 missed, 2 done", claimed.ID: "11 missed, 1 skipped, 1 done"} {
			if got := rows(r.history(id)); got != want {
				t.Errorf("job %d: %s; want %s", id, got, want)
			}
		}
	})
}

package scheduler_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"switchboard/scheduler"
)

// promise: P9.missed-leaves-a-row
//
// A job that is due each ten minutes, and a program that was down for so long when the first came: exactly these rows,
// one message for all that were missed, and no more of either at the next start.
func TestRowsAfterDownTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		down            time.Duration
		skip, once, all string
	}{
		{30 * time.Second, "1 done", "1 done", "1 done"},
		{5 * time.Minute, "1 missed", "1 done", "1 done"},
		{35 * time.Minute, "4 missed", "3 missed, 1 done", "4 done"},
		{2*time.Hour + 5*time.Minute, "13 missed", "12 missed, 1 done", "7 missed, 6 done"},
		{30 * 24 * time.Hour, "4320 missed, 1 done", "4320 missed, 1 done", "4314 missed, 7 done"},
	} {
		t.Run(c.down.String(), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, r *rig) {
				want := map[scheduler.Misfire]string{scheduler.MisfireSkip: c.skip, scheduler.MisfireOnce: c.once, scheduler.MisfireAll: c.all}
				ids := map[scheduler.Misfire]int64{}
				for misfire := range want {
					ids[misfire] = r.add(scheduler.Job{Spec: every(10 * time.Minute), Rules: scheduler.Rules{Misfire: misfire}}).ID
				}
				once := r.add(scheduler.Job{Spec: scheduler.Spec{At: time.Now().UTC().Add(10 * time.Minute).Format("2006-01-02T15:04:05"), Zone: "UTC"}}).ID
				time.Sleep(10*time.Minute + c.down)
				for range 2 {
					r.runFor(20 * time.Second)
					for misfire, want := range want {
						if got := rows(r.history(ids[misfire])); got != want {
							t.Errorf("%s: %s; want %s", misfire, got, want)
						}
					}
					if got := rows(r.history(once)); got != "1 done" {
						t.Errorf("due once: %s", got)
					}
					if missed := c.down > time.Minute; len(r.told) > 1 || (len(r.told) == 1) != missed {
						t.Errorf("told %q", r.told)
					}
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

// A run that cannot be started is tried for a day, and has then failed; the next slot is tried anew.
//
// promise: P9.not-started
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

// What speaks in a channel that is served nowhere waits for it, before it is claimed and after; what was due once comes late.
//
// promise: P9.missed-leaves-a-row
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

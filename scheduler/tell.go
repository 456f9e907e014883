package scheduler

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// mostNamed is how many lines a summary of missed runs has.
const mostNamed = 20

// tellMissed sends each owner one summary of the runs that were missed.
func (s *Scheduler) tellMissed(ctx context.Context, _ *sync.WaitGroup) (time.Duration, error) {
	missed, err := s.Store.Untold(ctx, s.reach())
	if err != nil || len(missed) == 0 {
		return idlePause, err
	}
	ids := make([]int64, len(missed))
	for i, m := range missed {
		ids[i] = m.Run.ID
	}
	owner, told := missed[0].Job.Owner, false
	if owner != "" {
		key := "missed:" + strconv.FormatInt(ids[0], 10) + ":" + strconv.FormatInt(ids[len(ids)-1], 10)
		if told, err = s.Teller.Tell(ctx, owner, key, summary(missed), ids...); err != nil {
			return 0, err
		}
	}
	if !told {
		if err := s.Store.Told(ctx, ids); err != nil {
			return 0, err
		}
	}
	return busyPause, nil // there may be others
}

// summary says what was missed.
func summary(missed []DueRun) string {
	var b strings.Builder
	b.WriteString("These did not run, because I was not running then:")
	for i, m := range missed {
		if i == mostNamed {
			fmt.Fprintf(&b, "\n- and %d more; /jobs N history shows them", len(missed)-i)
			break
		}
		zone := m.Job.Spec.Location()
		fmt.Fprintf(&b, "\n- job %d%s: ", m.Job.ID, titled(&m.Job))
		if m.Run.Count == 1 {
			b.WriteString(sayMoment(m.Run.Slot, zone))
		} else {
			if m.Run.Reason != "" {
				b.WriteString("more than ")
			}
			fmt.Fprintf(&b, "%d times from %s to %s", m.Run.Count, sayMoment(m.Run.Slot, zone), sayMoment(m.Run.Last, zone))
		}
		fmt.Fprintf(&b, " (%s)", zone)
	}
	return b.String()
}

// titled is what a job is called, in brackets.
func titled(job *Job) string {
	title := job.Name
	if title == "" {
		title = strings.Join(strings.Fields(job.Text), " ")
	}
	if cut := []rune(title); len(cut) > 60 {
		title = string(cut[:59]) + "…"
	}
	if title == "" {
		return ""
	}
	return " (" + title + ")"
}

// disabled tells the owner, or of the program's own job the admins, that a job does not run any more.
// It is said before it is written, so that no crash lies between; the key has it said once.
func (s *Scheduler) disabled(ctx context.Context, job *Job, run *Run, reason string) {
	s.Log.WarnContext(ctx, "a job is disabled", "job_id", job.ID, "reason", reason)
	if job.Owner == "" {
		s.Teller.Warn(ctx, *job, reason)
		return
	}
	key := fmt.Sprintf("disabled:%d:%d", job.ID, run.Slot.UnixMicro())
	text := fmt.Sprintf("Job %d%s is stopped: %s. Fix that, then write /jobs %d resume.", job.ID, titled(job), reason, job.ID)
	switch told, err := s.Teller.Tell(ctx, job.Owner, key, text); {
	case err != nil && ctx.Err() == nil:
		s.Log.WarnContext(ctx, "the owner of a disabled job was not told", "job_id", job.ID, "error", err)
	case err == nil && !told:
		s.Teller.Warn(ctx, *job, reason)
	}
}

package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"switchboard/internal/words"
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
	told := false
	if owner := missed[0].Job.Owner; owner != "" {
		told, err = s.Teller.Tell(ctx, owner, fmt.Sprintf("missed:%d:%d", ids[0], ids[len(ids)-1]), summary(missed), ids...)
	}
	if err == nil && !told {
		err = s.Store.Told(ctx, ids)
	}
	return busyPause, err // there may be others
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
		switch {
		case m.Run.Count == 1:
			b.WriteString(sayMoment(m.Run.Slot, zone))
		case m.Run.Reason != "":
			b.WriteString("more than ")
			fallthrough
		default:
			fmt.Fprintf(&b, "%d times from %s to %s", m.Run.Count, sayMoment(m.Run.Slot, zone), sayMoment(m.Run.Last, zone))
		}
		fmt.Fprintf(&b, " (%s)", zone)
	}
	return b.String()
}

// titled is what a job is called, in brackets.
func titled(job *Job) string {
	if title := words.OneLine(cmp.Or(job.Name, job.Text), 60); title != "" {
		return " (" + title + ")"
	}
	return ""
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

package scheduler

import (
	"fmt"
	"time"
)

// pauses are before the second try of a run, the third and so on.
var pauses = [MostRetries]time.Duration{30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour}

// How the work of a run ended: EndedRun.Ended.
const (
	EndedDone      = "done"
	EndedFailed    = "failed"
	EndedCancelled = "cancelled"
	EndedMerged    = "merged"
	EndedGone      = "gone" // its turn is kept no more
	EndedDead      = "dead" // its engine is
)

// unsaid are the outcomes of a turn that is done and said nothing.
var unsaid = map[string]string{"quiet": "nothing to say", "no_model": "no model"}

// Retried says that a run is tried again whose try of that number fails.
func (r *Rules) Retried(try int) bool {
	most := MostRetries
	if r.Retries != nil {
		most = min(max(*r.Retries, 0), MostRetries)
	}
	return try <= most
}

// Settle says what becomes of a run whose work is over: it is done, tried again after 30 s, 1, 5, 15 and
// 60 minutes unless it is final, or failed. MostFailures runs that failed in a row disable their job.
func Settle(run EndedRun, now time.Time) Settled {
	s := Settled{Run: run.Run, State: RunFailed}
	again := run.Job.Rules.Retried(run.Run.Try) && !run.Final
	switch {
	case run.Ended == EndedDone || run.Ended == EndedMerged:
		s.State, s.Reason, s.Seen = RunDone, unsaid[run.Outcome], run.Seen
	case run.Ended == EndedCancelled:
		s.Reason = "cancelled: somebody stopped it"
	case run.Ended == EndedGone:
		s.Reason = "stuck: what became of it is not kept any more"
	case run.Ended == EndedDead && again:
		s.State, s.Reason, s.RetryAt = RunDue, "retry: its engine died", now
	case run.Ended == EndedDead:
		s.Reason, s.Failed = "stuck: its engine died each time", true
	case again:
		s.State, s.Reason, s.RetryAt = RunDue, "retry: "+run.Outcome, now.Add(pauses[max(run.Run.Try, 1)-1])
	default:
		s.Reason, s.Failed = run.Outcome, true
	}
	if s.Failed && run.Job.Failures+1 >= MostFailures {
		s.Disable = true
		s.Reason = fmt.Sprintf("%s; it failed %d times in a row", s.Reason, run.Job.Failures+1)
	}
	return s
}

package scheduler

import (
	"context"
	"maps"
	"sync"
	"time"

	"switchboard/internal/retry"
)

// later is when a run is tried to be started again, and how often it was.
type later struct {
	at    time.Time
	tries int
}

// start has runs started that are due, all at once.
func (s *Scheduler) start(ctx context.Context, going *sync.WaitGroup) (time.Duration, error) {
	limit := s.limit()
	if limit == 0 {
		return idlePause, nil // who ends wakes us
	}
	runs, next, err := s.Store.DueRuns(ctx, limit, s.reach())
	if err != nil {
		return 0, err
	}
	pause := s.until(next)
	for _, run := range runs {
		if wait := s.take(run.Run.ID); wait > 0 {
			pause = min(pause, wait)
			continue
		}
		pause = min(pause, busyPause) // it may be a turn, which will end
		going.Go(func() {
			defer s.leave(run.Run.ID)
			if run.Job.Payload == PayloadMaintenance {
				s.maintain(ctx, run)
				return
			}
			select {
			case s.slots <- struct{}{}:
				defer func() { <-s.slots }()
				s.startOne(ctx, run)
			case <-ctx.Done():
			}
		})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.more = len(runs) == limit
	return pause, nil
}

// limit is how many due runs are to be read: as many as may be taken up, and those that are due still because
// they are being started, or wait to be tried again. 0: none may.
func (s *Scheduler) limit() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.later, func(_ int64, l *later) bool { return time.Since(l.at) > 2*time.Minute }) // others started them
	if len(s.going) >= batch/2 {
		s.more = true
		return 0
	}
	return batch + len(s.going) + len(s.later)
}

// take takes a run up, or returns how long it waits before that.
func (s *Scheduler) take(run int64) (wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.going[run] {
		return idlePause
	}
	if l := s.later[run]; l != nil && time.Now().Before(l.at) {
		return time.Until(l.at)
	}
	s.going[run] = true
	return 0
}

// failed has a run tried again that could not be started, after 1 s, doubling to a minute, and returns how often that was.
func (s *Scheduler) failed(run int64) (tries int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.later[run]
	if l == nil {
		l = &later{}
		s.later[run] = l
	}
	l.at = time.Now().Add(retry.Pause(l.tries, time.Second, time.Minute))
	l.tries++
	return l.tries
}

// leave says that a run is started, and has others taken up once half of the slots are free.
func (s *Scheduler) leave(run int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.going, run)
	if s.more && len(s.going) < starting {
		s.more = false
		s.Wake()
	}
}

// startOne has a run started; what came of it otherwise is settled. An error costs no try: nobody knows whether
// it was started, and the key makes it harmless to ask again.
func (s *Scheduler) startOne(ctx context.Context, run DueRun) {
	within, stop := context.WithTimeout(ctx, startWithin)
	not, err := s.Starter.Start(within, run)
	stop()
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		tries := s.failed(run.Run.ID)
		if tries == 1 {
			s.Log.WarnContext(ctx, "a run could not be started, it is tried again", "job_id", run.Job.ID, "run_id", run.Run.ID, "try", run.Run.Try, "error", err)
		}
		if s.clock.now().Sub(run.Run.StartAt) < stuckAfter || tries <= stuckTries {
			return
		}
		not = NotStarted{State: RunFailed, Reason: "stuck: it could not be started"}
	}
	s.mu.Lock()
	delete(s.later, run.Run.ID)
	s.mu.Unlock()
	if not.State == "" {
		return
	}
	if not.Pause {
		s.Teller.Warn(ctx, run.Job, not.Reason)
	}
	settled := Settled{Run: run.Run, State: not.State, Reason: not.Reason, Seen: not.Seen, Pause: not.Pause, Failed: not.State == RunFailed && !not.Pause}
	settled.Disable = settled.Failed && run.Job.Failures+1 >= MostFailures
	s.settleAll(ctx, []EndedRun{{Job: run.Job, Run: run.Run}}, []Settled{settled})
}

// maintain does a run of the program's own work. Where the engine stops in the middle of it, the next one that
// looks finds the run, and does it again.
func (s *Scheduler) maintain(ctx context.Context, run DueRun) {
	begun, err := s.Store.Begin(ctx, run.Run)
	if err != nil || !begun {
		return // it is due still, or others have it
	}
	run.Run.State = RunRunning
	did, err := s.Maintainer.Maintain(ctx, &run.Job)
	if ctx.Err() != nil {
		return
	}
	ended := EndedRun{Job: run.Job, Run: run.Run, Ended: EndedDone}
	if err != nil {
		s.Log.WarnContext(ctx, "maintenance failed, it is tried again", "job_id", run.Job.ID, "name", run.Job.Name, "error", err)
		ended.Ended, ended.Outcome = EndedFailed, "error: "+err.Error()
	}
	settled := Settle(ended, s.clock.now())
	if err == nil {
		settled.Reason, settled.Seen = did.Did, did.Seen
	}
	for !s.settleAll(ctx, []EndedRun{ended}, []Settled{settled}) && retry.Sleep(ctx, busyPause) {
	}
}

package scheduler

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"switchboard/retry"
)

const (
	// idlePause lies between looks of a scheduler that has nothing to do.
	idlePause = 15 * time.Second
	// busyPause lies between looks while runs are open, or something did not work.
	busyPause = time.Second
	// batch is how many jobs are claimed, or runs are taken up to be started or settled, by one look.
	batch = 500
	// starting is how many runs are started at once.
	starting = 32
	// startWithin is how long a start may take before it is given up, and tried again.
	startWithin = 30 * time.Second
	// stuckAfter is for how long a run is tried to be started whose start brings nothing but errors.
	stuckAfter = 24 * time.Hour
	// leap is how far a clock may go apart from another in a moment before the log says so.
	leap = 2 * time.Second
)

// Settings are what a Scheduler goes by that may change while it runs.
type Settings struct {
	// Enabled false starts nothing but maintenance.
	Enabled bool
	Defaults
}

// Deps are what a Scheduler works with.
type Deps struct {
	Store      Store
	Starter    Starter
	Maintainer Maintainer
	Teller     Teller
	Settings   func() Settings
	Channels   func() []string // those of this engine
	Log        *slog.Logger
}

// A Scheduler claims the runs of jobs that are due, has them started, and settles them. Of several on
// one database each does what is due, and no run is done twice.
type Scheduler struct {
	Deps
	wake  chan struct{}
	room  chan struct{} // of starts
	clock theirClock
	mu    sync.Mutex
	going map[int64]bool   // runs that are being started or maintained here
	later map[int64]*later // those whose start failed, until they are tried again
	more  bool             // others wait until some of those are started
}

// later is when a run is tried to be started again, and how often it was.
type later struct {
	at    time.Time
	tries int
}

// New returns a Scheduler; Run does the work.
func New(deps Deps) *Scheduler {
	return &Scheduler{Deps: deps, wake: make(chan struct{}, 1), room: make(chan struct{}, starting), going: map[int64]bool{}, later: map[int64]*later{}}
}

// Wake has the scheduler look at once: a job was made or changed. It never blocks.
func (s *Scheduler) Wake() { retry.Signal(s.wake) }

// Run works until ctx ends, and returns once nothing that it began goes on.
func (s *Scheduler) Run(ctx context.Context) {
	var going sync.WaitGroup
	defer going.Wait()
	for {
		pause := idlePause
		for _, part := range []func(context.Context, *sync.WaitGroup) (time.Duration, error){s.claim, s.start, s.settle, s.tellMissed} {
			wait, err := part(ctx, &going)
			if err != nil && ctx.Err() == nil {
				s.Log.WarnContext(ctx, "jobs wait, it is tried again", "error", err)
				wait = busyPause
			}
			pause = min(pause, wait)
		}
		if !retry.Await(ctx, s.wake, pause) {
			return
		}
	}
}

// reach is what this engine may claim and start now.
func (s *Scheduler) reach() Reach {
	if !s.Settings().Enabled {
		return Reach{}
	}
	return Reach{s.Channels()}
}

// claim claims what is due and says how long nothing else is.
func (s *Scheduler) claim(ctx context.Context, _ *sync.WaitGroup) (time.Duration, error) {
	for {
		settings, asked := s.Settings(), time.Now()
		jobs, now, next, err := s.Store.DueJobs(ctx, batch, s.reach())
		if err != nil {
			return 0, err
		}
		if by := s.clock.set(now, asked); by != 0 {
			s.Log.WarnContext(ctx, "the clock jumped; slots that it went over are treated as missed, and none runs twice", "by", by.Round(time.Second).String())
		}
		claims := make([]Claim, len(jobs))
		for i, j := range jobs {
			claims[i] = Decide(j.Job, now, j.Open, settings.Defaults)
			if claims[i].Disable != "" {
				s.disabled(ctx, &j.Job, &Run{Slot: j.Job.Slot}, claims[i].Disable)
			}
		}
		if len(claims) > 0 {
			if _, err := s.Store.Claim(ctx, claims); err != nil {
				return 0, err
			}
		}
		if len(jobs) < batch {
			return s.until(next), nil
		}
	}
}

// until is how long it is to an instant by the database's clock; the zero time is far off.
func (s *Scheduler) until(at time.Time) time.Duration {
	if at.IsZero() {
		return idlePause
	}
	return max(at.Sub(s.clock.now()), 0)
}

// start has runs started that are due, each beside the others.
func (s *Scheduler) start(ctx context.Context, going *sync.WaitGroup) (time.Duration, error) {
	limit := s.roomFor()
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
			case s.room <- struct{}{}:
				defer func() { <-s.room }()
				s.startOne(ctx, run)
			case <-ctx.Done():
			}
		})
	}
	s.wait(len(runs) == limit)
	return pause, nil
}

// roomFor is how many due runs are to be read: as many as may be taken up, and those that are due still because
// they are being started, or wait to be tried again. 0: there is no room.
func (s *Scheduler) roomFor() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.later, func(_ int64, l *later) bool { return time.Since(l.at) > 2*time.Minute }) // others started them
	if len(s.going) >= batch/2 {
		s.more = true
		return 0
	}
	return batch + len(s.going) + len(s.later)
}

func (s *Scheduler) wait(more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.more = more
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

// postpone has a run tried again that could not be started, after 1 s, doubling to a minute; first: it is the
// first time.
func (s *Scheduler) postpone(run int64) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.later[run]
	if l == nil {
		l = &later{}
		s.later[run] = l
	}
	l.at = time.Now().Add(retry.Pause(l.tries, time.Second, time.Minute))
	l.tries++
	return l.tries == 1
}

// started forgets that the start of a run failed.
func (s *Scheduler) started(run int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.later, run)
}

// leave says that a run is started, and has others taken up once half of the room is free.
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
	settled := Settled{Run: run.Run, State: not.State, Reason: not.Reason, Seen: not.Seen, Pause: not.Pause, Failed: not.State == RunFailed && !not.Pause}
	switch {
	case err != nil && s.clock.now().Sub(run.Run.StartAt) < stuckAfter:
		if s.postpone(run.Run.ID) {
			s.Log.WarnContext(ctx, "a run could not be started, it is tried again", "job_id", run.Job.ID, "run_id", run.Run.ID, "try", run.Run.Try, "error", err)
		}
		return
	case err != nil:
		settled.State, settled.Reason, settled.Failed = RunFailed, "stuck: it could not be started", true
	case not.State == "":
		s.started(run.Run.ID)
		return
	case not.Pause:
		s.Teller.Warn(ctx, run.Job, not.Reason)
	}
	settled.Disable = settled.Failed && run.Job.Failures+1 >= MostFailures
	s.started(run.Run.ID)
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

// settle settles runs whose work is over.
func (s *Scheduler) settle(ctx context.Context, _ *sync.WaitGroup) (time.Duration, error) {
	ended, open, err := s.Store.EndedRuns(ctx, batch)
	if err != nil {
		return 0, err
	}
	settled := make([]Settled, len(ended))
	for i, e := range ended {
		settled[i] = Settle(e, s.clock.now())
	}
	switch {
	case len(ended) == 0 && open == 0:
		return idlePause, nil
	case len(ended) == 0 || !s.settleAll(ctx, ended, settled):
		return busyPause, nil
	}
	return 0, nil // what waited for them may begin
}

// settleAll writes what became of runs, after it was told where their jobs are disabled.
func (s *Scheduler) settleAll(ctx context.Context, ended []EndedRun, settled []Settled) bool {
	for i := range settled {
		if settled[i].Disable {
			s.disabled(ctx, &ended[i].Job, &ended[i].Run, settled[i].Reason)
		}
	}
	err := s.Store.Settle(ctx, settled)
	if err != nil && ctx.Err() == nil {
		s.Log.WarnContext(ctx, "what became of runs was not written, it is tried again", "error", err)
	}
	return err == nil
}

// A theirClock says the database's time between looks at it.
type theirClock struct {
	mu          sync.Mutex
	at          time.Time // what it said
	asked, read time.Time // between these by our own
}

// set sets the clock to what the database said after it was asked, and returns how far it jumped
// since the last time; 0: it did not.
func (c *theirClock) set(at, asked time.Time) (by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	read := time.Now()
	if !c.at.IsZero() {
		earliest, latest := c.at.Add(asked.Sub(c.read)), c.at.Add(read.Sub(c.asked))
		switch {
		case at.Before(earliest.Add(-leap)):
			by = at.Sub(earliest)
		case at.After(latest.Add(leap)):
			by = at.Sub(latest)
		}
	}
	c.at, c.asked, c.read = at, asked, read
	return by
}

func (c *theirClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at.Add(time.Since(c.read))
}

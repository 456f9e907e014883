package scheduler

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"switchboard/internal/retry"
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
	// stuckAfter is for how long a run is tried to be started whose start brings nothing but errors, and stuckTries
	// how often at least: it may have waited for its owner, and not been tried at all.
	stuckAfter = 24 * time.Hour
	stuckTries = 3
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
	slots chan struct{} // of starts
	clock theirClock
	mu    sync.Mutex
	going map[int64]bool   // runs that are being started or maintained here
	later map[int64]*later // those whose start failed, until they are tried again
	more  bool             // others wait until some of those are started
	// setBack: the clock may have been ahead, and jobs may wait until the time it had reached. Only Run looks.
	setBack bool
}

// New returns a Scheduler; Run does the work.
func New(deps Deps) *Scheduler {
	return &Scheduler{
		Deps: deps, wake: make(chan struct{}, 1), slots: make(chan struct{}, starting), going: map[int64]bool{}, later: map[int64]*later{}, setBack: true,
	}
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
			s.setBack = s.setBack || by < 0
		}
		if s.setBack {
			if err := s.rearm(ctx, now); err != nil {
				return 0, err
			}
			s.setBack = false
		}
		claims, defaults := make([]Claim, len(jobs)), settings.Defaults
		for i, j := range jobs {
			if cmp.Or(j.Job.Rules.Misfire, defaults.Misfire) == MisfireSkip && defaults.Since.IsZero() {
				if defaults.Since, err = s.Store.RunningSince(ctx); err != nil {
					return 0, err
				}
			}
			claims[i] = Decide(j.Job, now, j.Open, defaults)
			if claims[i].Disable != "" {
				s.disabled(ctx, &j.Job, &Run{Slot: j.Job.Slot}, claims[i].Disable)
			}
		}
		if len(claims) > 0 {
			if err := s.Store.Claim(ctx, claims); err != nil {
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

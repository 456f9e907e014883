package router

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"switchboard/agent"
	"switchboard/internal/retry"
	"switchboard/router/delivery"
	"switchboard/router/ledger"
)

const (
	// pollBusy and pollIdle are how often work is looked for without being woken,
	// with turns waiting and without.
	pollBusy = time.Second
	pollIdle = 15 * time.Second
	// pollFirst is for how long after its start an engine looks as often as if turns waited: of those
	// that an engine before it put off it knows nothing, and none is for longer, but where a model says so.
	pollFirst = time.Minute
	// pollShared stands for pollIdle beside other engines: what one left that died is
	// told by no wake.
	pollShared = 5 * time.Second
	// nextPatience is how long a session's next turn waits for a worker before the
	// session is given back, and claimsAtOnce how many sessions one transaction takes:
	// the first of them need not wait for the last.
	nextPatience = 200 * time.Millisecond
	claimsAtOnce = 16
)

// An Agent answers one turn; *agent.Agent is one.
type Agent interface {
	Run(ctx context.Context, turn agent.Turn, journal agent.Journal) error
}

// A runner leases sessions and runs their turns, in each one after the other.
type runner struct {
	Deps
	*live
	notified notified // of limits
	Lines    *delivery.Lines
	asTyped  func(slash, text string) string // the router's
	work     context.Context                 // of turns

	workers     *workers
	running     *runningTurns
	leased      leased
	idle        idleSessions
	wake        chan struct{}  // a turn may wait for this engine
	due         chan struct{}  // an approval waits that did not
	wantsWorker atomic.Bool    // some session waits for a worker
	wantsShare  atomic.Bool    // some session may wait for its person's share of workers
	unannounced atomic.Bool    // other engines do not know of something that waits
	stopping    atomic.Bool    // no further turn is begun
	turns       sync.WaitGroup // that run
}

func newRunner(work context.Context, deps Deps, now *live) *runner {
	return &runner{
		Deps: deps, live: now, work: work, workers: newWorkers(now.settings().Config.Workers), running: &runningTurns{turns: map[int64]*runningTurn{}},
		leased: leased{look: make(chan struct{}, 1), asked: map[int64]bool{}},
		idle:   idleSessions{list: map[int64]idleSession{}}, wake: make(chan struct{}, 1), due: make(chan struct{}, 1),
	}
}

// findWork claims sessions whose turns nobody runs (queued while all workers were
// busy, or left by a dead engine), until ctx ends.
func (r *runner) findWork(ctx context.Context) {
	time.AfterFunc(r.settings().Config.CollectWindow, r.turnQueuedHere) // for what an engine before this one collected
	began := time.Now()
	for {
		more, err := r.claimAll(ctx)
		if err != nil && ctx.Err() == nil {
			r.Log.ErrorContext(ctx, "cannot look for waiting turns", "error", err)
		}
		pause := pollIdle
		switch {
		case more || err != nil || time.Since(began) < pollFirst:
			pause = pollBusy
		case r.Wakes != nil:
			pause = pollShared
		}
		if !retry.Await(ctx, r.wake, pause) {
			return
		}
	}
}

// claimAll claims sessions while there are workers; more says that some may still
// wait.
func (r *runner) claimAll(ctx context.Context) (more bool, err error) {
	for ctx.Err() == nil {
		if !r.Engine.Safe() {
			r.passOn()
			return true, nil
		}
		limit, full := r.workers.reserve(claimsAtOnce)
		if limit <= 0 {
			r.passOn()
			return true, nil
		}
		r.wantsWorker.Store(false) // what comes to wait after the look sets it again
		stops := r.running.stops()
		list, err := r.Ledger.Claim(ctx, r.Engine.ID(), r.Channels.names(), full, limit)
		if err != nil {
			r.workers.unreserve(limit)
			r.leased.soon() // it may be committed all the same
			return true, err
		}
		begun, shared := 0, len(full) > 0
		for _, c := range list {
			if r.Engine.Safe() && r.workers.assign(c.Person) {
				r.begin(claimed{c, stops}, c.Person)
				begun++
			} else { // a person's share ran out within this claim, or the leases did
				r.giveBack(c.TurnRef)
				shared = true
			}
		}
		r.workers.unreserve(limit - begun)
		if len(list) < limit {
			r.wantsShare.Store(shared)
			if shared {
				r.passOn()
			}
			return shared, nil
		}
		r.wantsWorker.Store(true) // there may be more than were asked for
	}
	return false, nil
}

// passOn wakes the other engines, once, for turns that wait and have no worker here.
func (r *runner) passOn() {
	if r.unannounced.Swap(false) {
		r.Lines.Wake(ledger.Wake{Kind: ledger.WakeTurn})
	}
}

// stop breaks an open turn off, wherever it runs.
func (r *runner) stop(turnID int64, cause error) {
	if !r.running.stop(turnID, cause) {
		r.Lines.Wake(ledger.Wake{Kind: ledger.WakeStop, Turn: turnID})
	}
	r.signal() // one that nobody runs now still has to be ended, or run
}

// turnQueuedHere makes findWork look for a turn that nobody runs. Other engines are woken
// for what it has no worker for.
func (r *runner) turnQueuedHere() {
	r.wantsWorker.Store(true)
	r.unannounced.Store(true)
	r.signal()
}

// signal makes findWork look.
func (r *runner) signal() { retry.Signal(r.wake) }

// turnQueuedElsewhere makes findWork look for a turn that another engine cannot run, now
// or with the next worker that is free.
func (r *runner) turnQueuedElsewhere() {
	if !r.workers.idle() {
		r.wantsWorker.Store(true)
	}
	r.signal()
}

// mayBegin reserves a worker for a turn of person that could begin at once. While others
// wait for one, a newcomer queues behind them.
func (r *runner) mayBegin(person string) bool {
	return !r.wantsWorker.Load() && r.Engine.Safe() && r.workers.take(person)
}

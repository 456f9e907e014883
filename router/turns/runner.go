package turns

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"switchboard/agent"
	"switchboard/internal/retry"
	"switchboard/router/core"
	"switchboard/router/money"
	"switchboard/router/outbox/delivery"
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

// Settings are what turns go by, which may change while they run.
type Settings struct {
	Workers       int           // turns at once
	CollectWindow time.Duration // for how long a message waits for more
	StaleAfter    time.Duration // after which it is asked whether a message is still meant
	IdleTimeout   time.Duration // after which a session is put away
	DefaultMode   string        // of a session that has none
	TimeZone      string        // of whoever named none, an IANA name
	// ApprovalDeadline is how long a question for permission waits.
	ApprovalDeadline time.Duration
	Budget           money.Budget
}

// zone is the time zone that somebody reads times in: the session's, else their own, else that of the settings.
func (s *Settings) zone(session, person string) string {
	return cmp.Or(session, person, s.TimeZone, "UTC")
}

// Deps are what a Runner is made of; all are needed but what says otherwise.
type Deps struct {
	Settings func() Settings // as they are now
	// Line is a channel on which turns may run; nil: there is none of that name. Channels are all of them.
	Line     func(channel string) *delivery.Connection
	Channels func() []string
	People   People
	Agent    Agent
	Engine   delivery.Engine
	Ledger   Ledger
	// Shared: other engines work on the same database.
	Shared  bool
	DataDir string // workspaces are made in it
	// Order is what a text orders that calls a tool by its name.
	Order func(text string) *agent.Order
	// AsTyped is a text with its commands as they are typed in a conversation, where slash begins one.
	AsTyped func(slash, text string) string
	// Made are the buttons under an answer that says what a person's turn made; nil: there are none.
	Made func(ctx context.Context, made []string, person, language string) []core.Button
	Log  *slog.Logger
}

// A Runner leases sessions and runs their turns, in each one after the other.
type Runner struct {
	Deps
	Lines    *delivery.Connections // set before anything runs
	notified notified              // of limits
	work     context.Context       // of turns

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

// New is a runner whose turns run under work; it does nothing before FindWork.
func New(work context.Context, deps Deps) *Runner {
	return &Runner{
		Deps: deps, work: work, workers: newWorkers(deps.Settings().Workers), running: &runningTurns{turns: map[int64]*runningTurn{}},
		leased: leased{look: make(chan struct{}, 1), asked: map[int64]bool{}},
		idle:   idleSessions{list: map[int64]idleSession{}}, wake: make(chan struct{}, 1), due: make(chan struct{}, 1),
	}
}

func (r *Runner) settings() *Settings {
	now := r.Settings()
	return &now
}

// SetWorkers makes the turns at once so many.
func (r *Runner) SetWorkers(total int) {
	r.workers.set(total)
	r.Look()
}

// End has no further turn begin.
func (r *Runner) End() { r.stopping.Store(true) }

// Ends says that no further turn begins.
func (r *Runner) Ends() bool { return r.stopping.Load() }

// Wait waits until no turn runs.
func (r *Runner) Wait() { r.turns.Wait() }

// Stops counts the stops of turns that did not run here, for Begin.
func (r *Runner) Stops() int64 { return r.running.stops() }

// Begin runs a turn that was claimed, with a worker that MayBegin reserved. stops is what Stops was before the claim.
func (r *Runner) Begin(c core.Claimed, stops int64, person string) {
	r.begin(claimed{c, stops}, person)
}

// GiveWorker gives back a worker that MayBegin reserved.
func (r *Runner) GiveWorker(person string) { r.workers.give(person) }

// Runs says whether a turn runs on this engine.
func (r *Runner) Runs(turn int64) bool { return r.running.has(turn) }

// MarkEdited notes that a message of a turn was changed; here: it runs here.
func (r *Runner) MarkEdited(turn int64) (here bool) { return r.running.markEdited(turn, true) }

// Compare has the leases compared with what runs here at once, as an answer of the database was lost.
func (r *Runner) Compare() { r.leased.soon() }

// Asked notes that another engine asked a turn to stop, or to begin anew; 0: any may have been asked.
func (r *Runner) Asked(turn int64) { r.leased.ask(turn) }

// Due is signalled once something waits for a decision that did not.
func (r *Runner) Due() chan struct{} { return r.due }

// Leave waits until no turn of a channel runs here. After grace they are handed back. It ends with ctx.
func (r *Runner) Leave(ctx context.Context, channel string, grace time.Duration) {
	turns := r.running.on(channel) // and no more: what begins sees that the channel is detached
	within, over := context.WithTimeout(ctx, grace)
	defer over()
	for _, turn := range turns {
		retry.Await(within, turn.over, math.MaxInt64)
	}
	for _, turn := range turns {
		if ctx.Err() == nil {
			turn.lose(agent.ErrHandBack)
		}
	}
	for _, turn := range turns {
		retry.Await(ctx, turn.over, math.MaxInt64)
	}
}

// FindWork claims sessions whose turns nobody runs (queued while all workers were
// busy, or left by a dead engine), until ctx ends.
func (r *Runner) FindWork(ctx context.Context) {
	time.AfterFunc(r.settings().CollectWindow, r.Queued) // for what an engine before this one collected
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
		case r.Shared:
			pause = pollShared
		}
		if !retry.Await(ctx, r.wake, pause) {
			return
		}
	}
}

// claimAll claims sessions while there are workers; more says that some may still
// wait.
func (r *Runner) claimAll(ctx context.Context) (more bool, err error) {
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
		list, err := r.Ledger.Claim(ctx, r.Engine.ID(), r.Channels(), full, limit)
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
func (r *Runner) passOn() {
	if r.unannounced.Swap(false) {
		r.Lines.Wake(core.Wake{Kind: core.WakeTurn})
	}
}

// Stop breaks an open turn off, wherever it runs.
func (r *Runner) Stop(turnID int64, cause error) {
	if !r.running.stop(turnID, cause) {
		r.Lines.Wake(core.Wake{Kind: core.WakeStop, Turn: turnID})
	}
	r.Look() // one that nobody runs now still has to be ended, or run
}

// Queued makes FindWork look for a turn that nobody runs. Other engines are woken
// for what it has no worker for.
func (r *Runner) Queued() {
	r.wantsWorker.Store(true)
	r.unannounced.Store(true)
	r.Look()
}

// Look makes FindWork look.
func (r *Runner) Look() { retry.Signal(r.wake) }

// QueuedElsewhere makes FindWork look for a turn that another engine cannot run, now
// or with the next worker that is free.
func (r *Runner) QueuedElsewhere() {
	if !r.workers.idle() {
		r.wantsWorker.Store(true)
	}
	r.Look()
}

// MayBegin reserves a worker for a turn of person that could begin at once. While others
// wait for one, a newcomer queues behind them.
func (r *Runner) MayBegin(person string) bool {
	return !r.wantsWorker.Load() && r.Engine.Safe() && r.workers.take(person)
}

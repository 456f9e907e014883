// Package turns runs what people asked for: it leases sessions, runs their turns one after the other with the
// agent, and writes each step with what it says. Who is served, and what comes in, is the router's.
package turns

import (
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
	// pollBusy and pollIdle are how often work is looked for without a notice,
	// with turns waiting and without.
	pollBusy = time.Second
	pollIdle = 15 * time.Second
	// pollFirst is for how long after its start an engine looks as often as if turns waited: of those
	// that an engine before it put off it knows nothing, and none is for longer, but where a model says so.
	pollFirst = time.Minute
	// pollShared is pollIdle where other engines run too: what one left that died is
	// told by no notice.
	pollShared = 5 * time.Second
	// nextPatience is how long a session's next turn waits for a worker before the
	// session is released, and claimsAtOnce how many sessions one transaction takes:
	// the first of them need not wait for the last.
	nextPatience = 200 * time.Millisecond
	claimsAtOnce = 16
)

// Settings are what turns go by, which may change while they run.
type Settings struct {
	Workers       int           // turns at once
	CollectWindow time.Duration // for how long a message waits for more
	StaleAfter    time.Duration // after which it is asked whether a message is still meant
	IdleTimeout   time.Duration // after which a session is put away
	DefaultMode   string        // of a session that has none
	TimeZone      string        // of people who named none, an IANA name
	// ApprovalDeadline is how long a question for permission waits.
	ApprovalDeadline time.Duration
	Budget           money.Budget
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
	Store    Store
	// Shared: other engines work on the same database.
	Shared  bool
	DataDir string // workspaces are made in it
	// Order is what a text orders that calls a tool by its name.
	Order func(text string) *agent.Order
	// Strangers says that turns in a channel's groups are told what strangers said there; nil: in none.
	Strangers func(channel string) bool
	// AsTyped is a text with its commands as they are typed in a conversation, where slash begins one.
	AsTyped func(slash, text string) string
	// Rested is called when a session rests, and answers at once; nil: it is not.
	Rested func()
	// Made are the buttons under an answer that says what a person's turn made; nil: there are none.
	Made func(ctx context.Context, made []string, person, language string) []core.Button
	Log  *slog.Logger
}

// A Runner leases sessions and runs their turns, in each one after the other.
type Runner struct {
	Deps
	Connections *delivery.Connections // set before anything runs
	notified    money.Notified        // of limits
	work        context.Context       // of turns

	workers     *workers
	running     *runningTurns
	leased      leased
	idle        idleSessions
	notify      chan struct{}  // a turn may wait for this engine
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
		idle:   idleSessions{list: map[int64]idleSession{}}, notify: make(chan struct{}, 1), due: make(chan struct{}, 1),
	}
}

// SetWorkers makes the turns at once so many.
func (r *Runner) SetWorkers(total int) {
	r.workers.set(total)
	r.Poll()
}

// End has no further turn begin.
func (r *Runner) End() { r.stopping.Store(true) }

// Ends says that no further turn begins.
func (r *Runner) Ends() bool { return r.stopping.Load() }

// Wait waits until no turn runs.
func (r *Runner) Wait() { r.turns.Wait() }

// Stops counts the stops of turns that did not run here, for Begin.
func (r *Runner) Stops() int64 { return r.running.stops() }

// GiveWorker frees a worker that MayBegin reserved.
func (r *Runner) GiveWorker(person string) { r.workers.give(person) }

// Runs says whether a turn runs on this engine.
func (r *Runner) Runs(turn int64) bool { return r.running.find(turn, func(*runningTurn) {}) }

// MarkEdited notes that a message of a turn was changed; here: it runs here.
func (r *Runner) MarkEdited(turn int64) (here bool) { return r.running.markEdited(turn, true) }

// Compare has the leases compared with what runs here at once, as an answer of the database was lost.
func (r *Runner) Compare() { r.leased.soon() }

// Asked notes that another engine asked a turn to stop, or to begin again; 0: any may have been asked.
func (r *Runner) Asked(turn int64) { r.leased.ask(turn) }

// Due is signalled once something waits for a decision that did not.
func (r *Runner) Due() chan struct{} { return r.due }

// Leave waits until no turn of a channel runs here. After grace they are aborted. It ends with ctx.
func (r *Runner) Leave(ctx context.Context, channel string, grace time.Duration) {
	turns := r.running.on(channel) // and no more: what begins sees that the channel is detached
	within, over := context.WithTimeout(ctx, grace)
	defer over()
	for _, turn := range turns {
		retry.Await(within, turn.over, math.MaxInt64)
	}
	for _, turn := range turns {
		if ctx.Err() == nil {
			turn.lose(agent.ErrReleased)
		}
	}
	for _, turn := range turns {
		retry.Await(ctx, turn.over, math.MaxInt64)
	}
}

// Stop breaks an open turn off, wherever it runs.
func (r *Runner) Stop(turnID int64, cause error) {
	if !r.running.stop(turnID, cause) {
		r.Connections.Wake(core.Wake{Kind: core.WakeStop, Turn: turnID})
	}
	r.Poll() // one that nobody runs now still has to be ended, or run
}

// Queued makes FindWork look for a turn that nobody runs. Other engines are woken
// for what it has no worker for.
func (r *Runner) Queued() {
	r.wantsWorker.Store(true)
	r.unannounced.Store(true)
	r.Poll()
}

// Poll makes FindWork look at once.
func (r *Runner) Poll() { retry.Signal(r.notify) }

// QueuedElsewhere makes FindWork look for a turn that another engine cannot run, now
// or with the next worker that is free.
func (r *Runner) QueuedElsewhere() {
	if !r.workers.idle() {
		r.wantsWorker.Store(true)
	}
	r.Poll()
}

// MayBegin reserves a worker for a turn of person that could begin at once. While others
// wait for one, a newcomer queues behind them.
func (r *Runner) MayBegin(person string) bool {
	return !r.wantsWorker.Load() && r.Engine.Safe() && r.workers.take(person)
}

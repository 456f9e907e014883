package router

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
)

// ErrStopping is returned by Accept when the engine stops: the event was not
// taken and must not be acknowledged.
var ErrStopping = errors.New("the engine is stopping")

// A Runner answers one turn; *agent.Agent is one.
type Runner interface {
	Run(ctx context.Context, turn agent.Turn, journal agent.Journal) error
}

// Ledger is what the router needs of the store.
type Ledger interface {
	Intake
	Turns
	Steps
	Outbox
	Drafts
	Notices
	Mending
	Views
	Reasons
}

// A channel is a line with the settings that say who may speak there.
type channel struct {
	*line
	config ChannelConfig
}

// An Attached is a channel with the router's part of its settings.
type Attached struct {
	Channel channels.Channel
	Config  ChannelConfig
}

// Deps are what a Router is made of; all are needed.
type Deps struct {
	Config   Config
	Channels []Attached
	Roster   *Roster
	Agent    Runner
	// Usable lists what the gate lets the question's person use, whatever the question
	// says of a tool; nil: nothing.
	Usable func(tools.Question) []string
	Engine Engine
	Ledger Ledger
	Wakes  Wakes       // nil: no other engine shares the database
	Files  Attachments // what messages send along; nil: nothing
	// FileLimits bound the attachments of a message that comes in.
	FileLimits FileLimits
	DataDir    string // workspaces are made in it
	Model      string // the planner's model, for /status
	Log        *slog.Logger
	// Grace is how long turns may go on, and deliveries be flushed, after Run was
	// told to stop; 0: ten seconds.
	Grace time.Duration
}

// A Router brings messages from channels to the agent and answers back.
type Router struct {
	Deps
	Lines     *Lines              // what is sent, and over which connections
	channels  map[string]*channel // by name
	workers   *workers
	rates     *personRates
	running   *runningTurns
	due       *dueTimers
	leased    *leased
	idle      idleSessions
	moves     moves
	strangers strangers     // who was logged as such
	suspects  suspects      // events that could not be taken
	wake      chan struct{} // a turn may wait for this engine
	waiting   atomic.Bool   // some session waits for a worker
	shares    atomic.Bool   // some session may wait for its person's share of workers
	untold    atomic.Bool   // other engines do not know of something that waits
	entering  sync.Mutex    // no Accept begins once stopping is set under it
	stopping  atomic.Bool
	accepts   sync.WaitGroup // Accepts on their way
	stopped   chan struct{}  // closed when intake is over for good
	turns     sync.WaitGroup
	// work is the context of turns and sends; it outlives Run's by the grace.
	work     context.Context
	handBack context.CancelCauseFunc
}

// New returns a router; I/O starts in Run.
func New(deps Deps) (*Router, error) {
	if deps.Grace == 0 {
		deps.Grace = 10 * time.Second
	}
	rates, err := newPersonRates(deps.Config.RatePerson)
	if err != nil {
		return nil, err
	}
	r := &Router{
		Deps:     deps,
		channels: map[string]*channel{},
		workers:  newWorkers(deps.Config.Workers),
		rates:    rates,
		running:  &runningTurns{turns: map[int64]*runningTurn{}},
		leased:   newLeased(),
		wake:     make(chan struct{}, 1),
		stopped:  make(chan struct{}),
	}
	r.due = newDueTimers(r.somebodyWaits)
	r.work, r.handBack = context.WithCancelCause(context.Background())
	list := make([]rated, len(r.Channels))
	for i, at := range r.Channels {
		list[i] = rated{at.Channel, at.Config.Rate}
	}
	r.Lines, err = newLines(r.work, lineDeps{
		StaleAfter: r.Config.StaleAfter, MaxParts: r.Config.MaxParts, People: r.Roster, Engine: r.Engine, Ledger: r.Ledger, Wakes: r.Wakes, Files: r.Files, Log: r.Log,
		Accept: r.Accept, Held: r.look, Menu: r.menu, Runs: r.running.has,
	}, list)
	if err != nil {
		return nil, err
	}
	for _, at := range r.Channels {
		name := at.Channel.Name()
		r.channels[name] = &channel{line: r.Lines.line(name), config: at.Config}
	}
	return r, nil
}

// Run serves every channel until ctx ends, then takes nothing more in, lets
// turns finish or hands them back, flushes deliveries, all within the grace, and
// returns when everything it started has stopped.
func (r *Router) Run(ctx context.Context) {
	r.loadMoves(ctx)
	listening, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	var lines, finder, watchers sync.WaitGroup
	lines.Go(func() { r.Lines.run(listening) })
	finder.Go(func() { r.findWork(ctx) })
	watchers.Go(func() { r.watchLeases(listening) })
	watchers.Go(func() { r.keepIdle(ctx) })
	if r.Wakes != nil {
		watchers.Go(func() { r.Wakes.Listen(listening, r.hear) })
	}
	r.signal()

	<-ctx.Done()
	r.Log.Info("stopping", "grace", r.Grace.String())
	r.entering.Lock()
	r.stopping.Store(true)
	r.entering.Unlock()
	finder.Wait()
	deadline := time.Now().Add(r.Grace)
	// An Accept on its way may begin a turn yet.
	ended := func() { r.accepts.Wait(); r.turns.Wait() }
	if !waitUntil(ended, deadline) {
		r.handBack(agent.ErrHandBack)
		ended()
	}
	flushing, flushed := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	r.Lines.flush(flushing)
	flushed()
	r.handBack(agent.ErrHandBack)
	close(r.stopped)
	hangUp()
	lines.Wait()
	watchers.Wait()
}

// Cancel asks an open turn to stop. ErrNotFound: there is no turn of that id;
// *StateError: it has ended.
func (r *Router) Cancel(ctx context.Context, turnID int64) error {
	c, err := r.Ledger.Cancel(ctx, turnID)
	if err != nil {
		return err
	}
	r.stop(turnID, agent.ErrCancelled)
	r.Lines.committed(c)
	return nil
}

// stop breaks an open turn off, wherever it runs.
func (r *Router) stop(turnID int64, cause error) {
	if !r.running.stop(turnID, cause) {
		r.Lines.tell(Wake{Kind: WakeStop, Turn: turnID})
	}
	r.signal() // one that nobody runs now still has to be ended, or run
}

// look reads anew what other engines may have changed, and looks for what they ran.
func (r *Router) look(ctx context.Context) {
	r.loadMoves(ctx)
	r.loadPeople(ctx)
	r.signal()
}

// somebodyWaits makes findWork look for a turn that is in the ledger and that nobody
// runs. What it has no worker for, other engines are told of.
func (r *Router) somebodyWaits() {
	r.waiting.Store(true)
	r.untold.Store(true)
	r.signal()
}

// signal tells findWork that a turn may wait.
func (r *Router) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// waitUntil waits for wait, until deadline at most, and says whether it is done.
func waitUntil(wait func(), deadline time.Time) bool {
	done := make(chan struct{})
	go func() { wait(); close(done) }()
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

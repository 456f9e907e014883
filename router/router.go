package router

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"switchboard/router/outbox"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/internal/retry"
	"switchboard/internal/secrets"
	"switchboard/router/commands"
	"switchboard/router/ledger"
	"switchboard/router/outbox/delivery"
	"switchboard/router/turns"
)

// errStopping is returned by Accept when the engine stops: the event was not
// taken and must not be acknowledged.
var errStopping = errors.New("the engine is stopping")

// Ledger is what the router needs of the store.
type Ledger interface {
	Intake
	Submissions
	turns.Ledger
	Approvals
	Changes
	SecretList
	Versions
	delivery.Leases
	delivery.Deliveries
	delivery.Unnamed
	delivery.Questions
	delivery.Drafts
	delivery.ShownTurns
	delivery.Notices
	Views
}

// Deps are what a Router is made of; all are needed.
type Deps struct {
	Settings Settings // at the start
	Channels *Channels
	Roster   *Roster
	Agent    turns.Agent
	// Usable lists what the gate lets the question's person use, whatever the question
	// says of a tool; nil: nothing.
	Usable func(tools.Question) []string
	Engine delivery.Engine
	// FirstStart is when this bot was started for the first time: what was written before
	// is kept and not answered; zero: all is answered.
	FirstStart time.Time
	Local      string // identity of whoever runs the program on this machine; empty: nobody does
	Ledger     Ledger
	Wakes      ledger.Wakes       // nil: no other engine shares the database
	Files      outbox.Attachments // what messages send along
	// Commands are those besides the router's own, such as the admins'.
	Commands []commands.Command
	DataDir  string // workspaces are made in it
	// NoticeTargets are where notices of a kind go; see delivery.Deps.
	NoticeTargets func(ledger.NoticeKind) []string
	// Summary says in a line what a tool does; nil: nothing is said.
	Summary func(tool string) string
	// Typed reads the arguments that a person typed for a tool, as tools.Registry does; nil: there are no tools.
	Typed func(tool string, args json.RawMessage) (complete json.RawMessage, takes string, fault error)
	// Missing says what is not set up yet, for admins who write /start; nil: nothing.
	Missing func() []string
	Secrets Secrets // what /secret sets; nil: there is no store of them
	// Reload has the program go by the version of the settings that counts now; nil: they do not
	// change at run time.
	Reload func(context.Context) error
	// Made are the buttons under an answer that says what a person's turn made; nil: there are none.
	Made func(ctx context.Context, made []string, person, language string) []ledger.Button
	// JobsChanged has this engine's scheduler look anew; nil: there is none.
	JobsChanged func()
	// Mask takes known secrets out of what comes in and of what is said.
	Mask *secrets.Masker
	Log  *slog.Logger
	// Grace is how long turns may go on, and deliveries be flushed, after Run has
	// to stop or a channel was detached; 0: ten seconds.
	Grace time.Duration
}

// A Router brings messages from channels to the agent and answers back.
type Router struct {
	Deps
	*live
	Lines      *delivery.Connections // what is sent, and over which connections
	commands   *commands.Table
	commandsIn *regexp.Regexp // finds our commands in a text
	turns      *turns.Runner
	rates      *personRates
	moves      moves
	strangers  strangers      // who was logged as such
	failed     failedEvents   // events that could not be taken
	tries      triedCodes     // who tried codes
	quiet      quiet          // where and for whom no admin is asked just now
	people     chan struct{}  // they are to be read anew
	secrets    chan struct{}  // the same
	versions   chan struct{}  // of the settings, the same
	counting   atomic.Int64   // the version of the settings that counts here
	again      atomic.Bool    // the settings are to be read, whichever version counts
	entering   sync.Mutex     // no Accept begins once the runner is stopping, which is set under it
	accepts    sync.WaitGroup // Accepts on their way
	beside     chan struct{}  // has room for what commands have go on beside
	stopped    chan struct{}  // closed when intake is over for good
	// work is the context of turns and sends; it outlives Run's by the grace.
	work     context.Context
	handBack context.CancelCauseFunc
}

// New returns a router; I/O starts in Run.
func New(deps Deps) (*Router, error) {
	if deps.Grace == 0 {
		deps.Grace = 10 * time.Second
	}
	rates, err := newPersonRates(deps.Settings.Config.RatePerson)
	if err != nil {
		return nil, err
	}
	now := &live{}
	now.set(deps.Settings)
	deps.Settings = Settings{} // nobody is to read what may have changed
	r := &Router{
		Deps:  deps,
		live:  now,
		rates: rates,
		moves: moves{now: map[movedPlace]string{}}, strangers: strangers{logged: map[string]bool{}},
		beside: make(chan struct{}, besideMost), stopped: make(chan struct{}), people: make(chan struct{}, 1), secrets: make(chan struct{}, 1), versions: make(chan struct{}, 1),
	}
	if r.commands, err = commands.New(slices.Concat(r.ownCommands(), r.Commands)...); err != nil {
		return nil, err
	}
	r.commandsIn = regexp.MustCompile(`(?m)(^|[ (])/(` + strings.Join(r.commands.Names(), "|") + `)\b`)
	r.work, r.handBack = context.WithCancelCause(context.Background())
	r.turns = turns.New(r.work, turns.Deps{
		Settings: func() turns.Settings { return now.settings().ofTurns() },
		Line:     r.Channels.line, Channels: r.Channels.names, People: r.Roster, Agent: r.Agent, Engine: r.Engine, Ledger: r.Ledger, Shared: r.Wakes != nil,
		DataDir: r.DataDir, Order: orderOf, AsTyped: r.asTyped, Made: r.Made, Log: r.Log,
	})
	r.Lines = delivery.New(r.work, delivery.Deps{
		StaleAfter: func() time.Duration { return now.settings().Config.StaleAfter },
		MaxParts:   func() int { return now.settings().Config.MaxParts },
		People:     r.Roster, Engine: r.Engine, Ledger: r.Ledger, Wakes: r.Wakes, Files: r.Files, Mask: r.Mask, Log: r.Log,
		Accept: r.Accept, Marks: r.Ledger.Marks, Held: r.look, Menu: r.menu, Targets: r.NoticeTargets, Runs: r.turns.Runs,
		Left: r.left, Zone: r.zoneIn, Grace: r.Grace,
	})
	r.turns.Lines = r.Lines
	for _, at := range r.Channels.List() {
		if err := r.Attach(at); err != nil {
			return nil, err
		}
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
	lines.Go(func() { r.Lines.Run(listening) })
	finder.Go(func() { r.turns.FindWork(ctx) })
	watchers.Go(func() { r.turns.WatchLeases(listening) })
	watchers.Go(func() { r.turns.KeepIdle(ctx) })
	watchers.Go(func() { r.watchPeople(listening) })
	watchers.Go(func() { r.watchSecrets(listening) })
	if r.Reload != nil {
		watchers.Go(func() { r.watchSettings(ctx) })
	}
	watchers.Go(func() { r.watchApprovals(ctx) })
	if r.Wakes != nil {
		watchers.Go(func() { r.Wakes.Listen(listening, r.onWake) })
	}
	r.turns.Look()
	retry.Signal(r.secrets) // one may have been set since the settings were read

	<-ctx.Done()
	r.Log.Info("stopping", "grace", r.Grace.String())
	r.entering.Lock()
	r.turns.End()
	r.entering.Unlock()
	finder.Wait()
	deadline := time.Now().Add(r.Grace)
	late := time.AfterFunc(r.Grace, func() { r.handBack(agent.ErrHandBack) })
	defer late.Stop()
	r.accepts.Wait() // one on its way may begin a turn yet
	r.turns.Wait()
	flushing, flushed := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	r.Lines.Flush(flushing)
	flushed()
	r.handBack(agent.ErrHandBack)
	close(r.stopped)
	hangUp()
	lines.Wait()
	watchers.Wait()
}

// Cancel asks an open turn to stop. ErrNotFound: there is no turn of that id;
// *StateError: it has ended.
func (r *Router) Cancel(ctx context.Context, turnID int64, by ledger.Actor) error {
	c, err := r.Ledger.Cancel(ctx, turnID, by)
	if err != nil {
		return err
	}
	r.turns.Stop(turnID, agent.ErrCancelled)
	r.turns.Queued() // one that had not begun has ended, and what stood behind it may begin
	r.Lines.Committed(c)
	r.closeQuestions(ctx, turnID)
	return nil
}

// look reads anew what other engines may have changed, and looks for what they ran.
func (r *Router) look(ctx context.Context) {
	r.loadMoves(ctx)
	r.loadPeople(ctx)
	r.turns.Look()
}

// onWake does what another engine's commit made possible here. It never blocks.
func (r *Router) onWake(w ledger.Wake) {
	switch w.Kind {
	case ledger.WakeAll:
		r.turns.QueuedElsewhere()
		r.turns.Asked(0)
		retry.Signal(r.people)
		retry.Signal(r.secrets)
		retry.Signal(r.versions)
		r.wakeScheduler()
	case ledger.WakeJobs:
		r.wakeScheduler()
	case ledger.WakeSettings:
		retry.Signal(r.secrets)
		retry.Signal(r.versions)
	case ledger.WakePeople:
		retry.Signal(r.people)
	case ledger.WakeDecided:
		r.Lines.Background(func() { r.Lines.Decided(r.work, w.Approval) })
	case ledger.WakeStop:
		r.turns.Asked(w.Turn)
	case ledger.WakeEdit:
		r.turns.MarkEdited(w.Turn)
	case ledger.WakeTurn:
		if w.Channel == "" || r.Channels.here(w.Channel) != nil {
			r.turns.QueuedElsewhere()
		}
	}
	r.Lines.OnWake(w)
}

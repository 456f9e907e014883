// Package router takes in what comes from channels (who is speaking, may they, what is it),
// commits it, and has a runner run each session's turns in order.
//
//	Accept ─► [event key + message + turn] ─► turn runs (agent) ─► [message + deliveries] ─► delivery
//
// What stands in this folder is the way in; each feature is a folder below it, and core has
// the types that all of them and the store share. The router names no platform,
// writes no SQL (store implements the interfaces declared here) and plans nothing (the
// agent does). cmd wires it.
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

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/internal/secrets"
	"switchboard/router/approvals"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/router/outbox/delivery"
	"switchboard/router/people"
	"switchboard/router/sessions"
	"switchboard/router/settings"
	"switchboard/router/turns"
)

// errStopping is returned by Accept when the engine stops: the event was not
// taken and must not be acknowledged.
var errStopping = errors.New("the engine is stopping")

// Store is what the router needs of the database.
type Store interface {
	Intake
	Submissions
	turns.Store
	Approvals
	Changes
	settings.SecretList
	settings.Versions
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
	Roster   *people.Roster
	Agent    turns.Agent
	// Usable lists what the gate lets the question's person use, whatever the question
	// says of a tool; nil: nothing.
	Usable func(tools.Question) []string
	Engine delivery.Engine
	// FirstStart is when this bot was started for the first time: what was written before
	// is kept and not answered; zero: all is answered.
	FirstStart time.Time
	Local      string // identity of whoever runs the program on this machine; empty: nobody does
	Store      Store
	Wakes      core.Wakes         // nil: no other engine shares the database
	Files      outbox.Attachments // what messages send along
	// Commands are those besides the router's own, such as the admins'.
	Commands []commands.Command
	DataDir  string // workspaces are made in it
	// NoticeTargets are where notices of a kind go; see delivery.Deps.
	NoticeTargets func(outbox.NoticeKind) []string
	// Summary says in a line what a tool does; nil: nothing is said.
	Summary func(tool string) string
	// Typed reads the arguments that a person typed for a tool, as tools.Registry does; nil: there are no tools.
	Typed func(tool string, args json.RawMessage) (complete json.RawMessage, takes string, fault error)
	// Missing says what is not set up yet, for admins who write /start; nil: nothing.
	Missing func() []string
	Secrets settings.Secrets // what /secret sets; nil: there is no store of them
	// Reload has the program go by the version of the settings that counts now; nil: they do not
	// change at run time.
	Reload func(context.Context) error
	// Made are the buttons under an answer that says what a person's turn made; nil: there are none.
	Made func(ctx context.Context, made []string, person, language string) []core.Button
	// JobsChanged has this engine's scheduler look again; nil: there is none.
	JobsChanged func()
	// Rested is called when a session of this engine rests, and answers at once; nil: it is not.
	Rested func()
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
	now         atomic.Pointer[Settings] // that count now; see settings
	Connections *delivery.Connections    // what is sent, and over which connections
	People      *people.Watch
	Asking      *people.Asking
	Settled     *settings.Watch
	Messages    *Messenger
	approvals   *approvals.Service
	sessions    *sessions.Commands
	tools       *toolCommands
	commands    *commands.Table
	commandsIn  *regexp.Regexp // finds our commands in a text
	turns       *turns.Runner
	rates       *personRates
	moves       moves
	strangers   strangers      // who was logged as such
	failed      failedEvents   // events that could not be taken
	tries       people.Tries   // who tried codes
	quiet       quiet          // where and for whom no admin is asked just now
	entering    sync.Mutex     // no Accept begins once the runner is stopping, which is set under it
	accepts     sync.WaitGroup // Accepts on their way
	background  chan struct{}  // has room for what commands have go on beside
	stopped     chan struct{}  // closed when intake is over for good
	// work is the context of turns and sends; it outlives Run's by the grace.
	work  context.Context
	abort context.CancelCauseFunc
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
	r := &Router{
		Deps: deps, rates: rates,
		moves: moves{now: map[movedPlace]string{}}, strangers: strangers{logged: map[string]bool{}},
		background: make(chan struct{}, backgroundMost), stopped: make(chan struct{}),
	}
	r.set(deps.Settings)
	r.Deps.Settings = Settings{} // nobody is to read what may have changed
	r.work, r.abort = context.WithCancelCause(context.Background())
	r.turns = turns.New(r.work, turns.Deps{
		Settings: func() turns.Settings { return r.settings().ofTurns() },
		Line:     r.Channels.line, Channels: r.Channels.names, People: r.Roster, Agent: r.Agent, Engine: r.Engine, Store: r.Store, Shared: r.Wakes != nil,
		DataDir: r.DataDir, Order: orderOf, Strangers: r.Channels.strangers, AsTyped: r.asTyped, Rested: r.Rested, Made: r.Made, Log: r.Log,
	})
	r.Connections = delivery.New(r.work, delivery.Deps{
		StaleAfter: func() time.Duration { return r.settings().Config.StaleAfter },
		MaxParts:   func() int { return r.settings().Config.MaxParts },
		People:     r.Roster, Engine: r.Engine, Store: r.Store, Wakes: r.Wakes, Files: r.Files, Mask: r.Mask, Log: r.Log,
		Accept: r.Accept, Marks: r.Store.Marks, Held: r.look, Menu: r.menu, Targets: r.NoticeTargets, Runs: r.turns.Runs,
		Left: r.left, Zone: r.zoneIn, Grace: r.Grace,
	})
	r.turns.Connections = r.Connections
	r.features()
	if r.commands, err = commands.New(slices.Concat(r.ownCommands(), r.Commands)...); err != nil {
		return nil, err
	}
	r.commandsIn = regexp.MustCompile(`(?m)(^|[ (])/(` + strings.Join(r.commands.Names(), "|") + `)\b`)
	for _, at := range r.Channels.List() {
		if err := r.Attach(at); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// features makes what each feature does here.
func (r *Router) features() {
	r.Messages = &Messenger{Roster: r.Roster, Channels: r.Channels, Connections: r.Connections, Store: r.Store, Log: r.Log}
	r.People = people.NewWatch(people.Watch{Roster: r.Roster, Read: r.goOn, Learned: r.Connections.RefreshMenus, Wakes: r.Wakes, Log: r.Log})
	r.Asking = &people.Asking{
		Connections: r.Connections, Roster: r.Roster, Local: r.Local, AsTyped: r.asTyped, ProposeClaim: r.Store.ProposeClaim,
	}
	r.Settled = settings.NewWatch(settings.WatchDeps{
		Versions: r.Store, Secrets: r.Secrets, Connections: r.Connections, PersonChats: r.Store.PersonChats, Open: r.Messages.open,
		Reload: r.Reload, Log: r.Log,
	})
	r.approvals = &approvals.Service{Store: r.Store, Questions: r.Connections, Queued: r.turns.Queued, Due: r.turns.Due(), Log: r.Log}
	r.sessions = &sessions.Commands{Now: func() sessions.Defaults { return r.settings().ofSessions() }, Assumes: r.Store.Assumes}
	r.tools = &toolCommands{&r.Deps, r.sessions.ModeOf, r.turn}
}

// goOn does what follows once the people are read again: what waited for somebody who is back goes on,
// and menus follow roles.
func (r *Router) goOn() {
	r.Connections.RefreshMenus()
	r.turns.Queued()
	r.wakeScheduler()
}

// Run serves every channel until ctx ends, then takes nothing more in, lets
// turns finish or hands them back, flushes deliveries, all within the grace, and
// returns when everything it started has stopped.
func (r *Router) Run(ctx context.Context) {
	r.moves.load(ctx, r.Store, r.Log)
	listening, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	var lines, finder, watchers sync.WaitGroup
	lines.Go(func() { r.Connections.Run(listening) })
	finder.Go(func() { r.turns.FindWork(ctx) })
	watchers.Go(func() { r.turns.WatchLeases(listening) })
	watchers.Go(func() { r.turns.KeepIdle(ctx) })
	watchers.Go(func() { r.People.Run(listening) })
	watchers.Go(func() { r.Settled.RunSecrets(listening) })
	if r.Reload != nil {
		watchers.Go(func() { r.Settled.Run(ctx) })
	}
	watchers.Go(func() { r.approvals.Watch(ctx) })
	if r.Wakes != nil {
		watchers.Go(func() { r.Wakes.Listen(listening, r.onWake) })
	}
	r.turns.Poll()

	<-ctx.Done()
	r.Log.Info("stopping", "grace", r.Grace.String())
	r.entering.Lock()
	r.turns.End()
	r.entering.Unlock()
	finder.Wait()
	deadline := time.Now().Add(r.Grace)
	late := time.AfterFunc(r.Grace, func() { r.abort(agent.ErrReleased) })
	defer late.Stop()
	r.accepts.Wait() // one on its way may begin a turn yet
	r.turns.Wait()
	flushing, flushed := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	r.Connections.Flush(flushing)
	flushed()
	r.abort(agent.ErrReleased)
	close(r.stopped)
	hangUp()
	lines.Wait()
	watchers.Wait()
}

// Cancel asks an open turn to stop. ErrNotFound: there is no turn of that id;
// *StateError: it has ended.
func (r *Router) Cancel(ctx context.Context, turnID int64, by core.Actor) error {
	c, err := r.Store.Cancel(ctx, turnID, by)
	if err != nil {
		return err
	}
	r.Connections.Active()
	r.turns.Stop(turnID, agent.ErrCancelled)
	r.turns.Queued() // one that had not begun has ended, and what stood behind it may begin
	r.Connections.Committed(c)
	r.approvals.Close(ctx, turnID)
	return nil
}

// look reads again what other engines may have changed, and looks for what they ran.
func (r *Router) look(ctx context.Context) {
	r.moves.load(ctx, r.Store, r.Log)
	r.People.Load(ctx)
	r.turns.Poll()
}

// onWake does what another engine's commit made possible here. It never blocks.
func (r *Router) onWake(w core.Wake) {
	switch w.Kind {
	case core.WakeAll:
		r.turns.QueuedElsewhere()
		r.turns.Asked(0)
		r.People.Poll()
		r.Settled.Poll()
		r.wakeScheduler()
	case core.WakeJobs:
		r.wakeScheduler()
	case core.WakeSettings:
		r.Settled.Poll()
	case core.WakePeople:
		r.People.Poll()
	case core.WakeDecided:
		r.Connections.Background(func() { r.Connections.Decided(r.work, w.Approval) })
	case core.WakeStop:
		r.turns.Asked(w.Turn)
	case core.WakeEdit:
		r.turns.MarkEdited(w.Turn)
	case core.WakeTurn:
		if w.Channel == "" || r.Channels.here(w.Channel) != nil {
			r.turns.QueuedElsewhere()
		}
	}
	r.Connections.OnWake(w)
}

// Package engine is the running program: it opens the database, wires everything together over it, and runs until it
// is stopped or ends with the command that needed it.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"switchboard/agent/tools/workspace"
	web "switchboard/channels/api"
	"switchboard/cmd/switchboard/access"
	"switchboard/cmd/switchboard/live"
	"switchboard/cmd/switchboard/metrics"
	"switchboard/cmd/switchboard/socket"
	"switchboard/configs"
	"switchboard/internal/api"
	"switchboard/router"
	"switchboard/router/browsers"
	"switchboard/router/files"
	"switchboard/router/jobs"
	"switchboard/router/memory"
	"switchboard/router/tokens"
	"switchboard/scheduler"
	"switchboard/store"
	"switchboard/store/database"
	"switchboard/store/engines"
)

// An Engine is the running program: everything wired together, over one database.
type Engine struct {
	mode      Mode
	settings  *live.Settings
	log       *slog.Logger
	db        *store.DB
	owner     *engines.Engine
	router    *router.Router
	agents    agents
	policy    *router.Policy
	metrics   *metrics.Metrics
	jobs      *jobs.Service
	memory    *memory.Service
	rester    *memory.Rester
	embedder  *memory.Embedder
	tokens    *tokens.Service
	scheduler *scheduler.Scheduler
	space     *workspace.Space
	files     *files.Service
	console   *web.Channel // the terminal's
	programs  *web.Channel // the one that programs talk on
	page      *web.Channel // the one of browsers
	browsers  *browsers.Service
	api       *web.API
	local     *api.Server
	tcp       *api.TCPServer // nil: no port is open
	examining sync.Mutex     // the doctor is at it
}

// A Mode is what an engine is there for. Each serves the console.
type Mode struct {
	// Channels makes those besides the console; nil: there are none.
	Channels func(*configs.Settings, *slog.Logger) []router.Attached
	passing  bool // it ends with the command that needed it
	begins   begun
}

// begun is which jobs an engine begins that are due.
type begun int

const (
	allJobs begun = iota
	ownJobs       // the program's own: nobody would read what others say, which wait
	noJobs        // it is about to end
)

// The ways to open an engine.
var (
	Serving   = Mode{Channels: access.Attach}        // it has everything that is configured
	Chatting  = Mode{}                               // the console alone
	Listening = Mode{passing: true}                  // the same, until the command ends
	Passing   = Mode{passing: true, begins: ownJobs} // the same, for a pipe
	Asking    = Mode{passing: true, begins: noJobs}  // for one question
)

// Open wires an engine and takes the database; nothing runs yet.
// engines.ErrRunning says that another process is the engine, a configs.UsageError that the settings are wrong.
func Open(ctx context.Context, mode Mode, settings *configs.Settings, log *slog.Logger) (_ *Engine, err error) {
	if err := settings.MakeDataDir(); err != nil {
		return nil, err
	}
	e := &Engine{mode: mode, log: log, metrics: metrics.New()}
	defer func() {
		if err != nil {
			e.close()
		}
	}()
	if e.db, err = store.Open(ctx, settings.Store, settings.DataDir, log); err != nil {
		return nil, err
	}
	if e.owner, err = engines.Start(ctx, e.db.DB, mode.passing); errors.Is(err, database.ErrCluster) {
		return nil, configs.Usage(err)
	} else if err != nil {
		return nil, err
	}
	e.settings = live.New(settings, e.db, program{e}, mode.Channels != nil, log)
	version, err := e.settings.Start(ctx, e.wire)
	if err != nil {
		return nil, err
	}
	e.router.Settled.BeganBy(version)
	e.api = socket.Server{
		Deps: web.Deps{
			Log: log, Ready: e, Metrics: e.metrics, PProf: settings.Server.PProf && settings.Server.Loopback(),
			Console: e.console, Channel: e.programs,
			Jobs: e.jobs, Memory: e.memory, Eraser: e, Files: e.files, Tools: usedTools{e}, Model: e.plain(),
		},
		Store: e.db.Router(), Router: e.router, Tokens: e.tokens, Settings: e.settings, Browsers: e.browsers, PageURL: e.PageURL,
	}.API()
	if e.local, err = api.Listen(settings.DataDir, e.owner.ID(), e.api.Socket(), log); err != nil {
		return nil, err
	}
	return e, e.openPort(ctx)
}

// Settings are those of the engine.
func (e *Engine) Settings() *live.Settings { return e.settings }

// DB is the engine's database.
func (e *Engine) DB() *store.DB { return e.db }

// Dial connects to the engine from within its process.
func (e *Engine) Dial(ctx context.Context) (net.Conn, error) { return e.local.Dial(ctx) }

// Run serves until ctx ends and everything has stopped.
func (e *Engine) Run(ctx context.Context) error {
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	var parts sync.WaitGroup
	var lost error
	working, cancel := context.WithCancel(ctx)
	parts.Go(func() {
		if err := e.owner.Run(renewing); err != nil && renewing.Err() == nil {
			lost = fmt.Errorf("this engine lost its place: %w", err)
			cancel()
		}
	})
	parts.Go(e.local.Serve)
	if e.tcp != nil {
		parts.Go(e.tcp.Serve)
	}
	parts.Go(func() { e.db.Audit(working) })
	if e.mode.begins != noJobs {
		parts.Go(func() { e.scheduler.Run(working) })
	}
	if e.mode.begins == allJobs {
		parts.Go(func() { e.rester.Run(working) })
		parts.Go(func() { e.embedder.Run(working) })
	}
	parts.Go(func() { e.settings.Watch(working) })
	e.router.Run(working)
	e.closeDoors()
	stop()
	cancel()
	parts.Wait()
	return errors.Join(lost, e.close())
}

// close releases the database; safe to call on a half-made engine.
func (e *Engine) close() error {
	var errs []error
	e.closeDoors()
	if e.owner != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		errs = append(errs, e.owner.Close(ctx))
		e.owner = nil
	}
	if e.db != nil {
		errs = append(errs, e.db.Close())
		e.db = nil
	}
	return errors.Join(errs...)
}

// closeDoors answers no call any more.
func (e *Engine) closeDoors() {
	if e.tcp != nil {
		e.tcp.Close()
	}
	if e.local != nil {
		e.local.Close()
	}
}

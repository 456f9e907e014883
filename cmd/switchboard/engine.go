package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/agent/llm/offline"
	"switchboard/agent/tools"
	"switchboard/agent/tools/host"
	"switchboard/agent/tools/sandbox"
	"switchboard/agent/tools/workspace"
	"switchboard/channels/console"
	"switchboard/configs"
	"switchboard/internal/api"
	"switchboard/router"
	"switchboard/router/core"
	"switchboard/router/files"
	"switchboard/router/jobs"
	"switchboard/router/money"
	"switchboard/router/outbox"
	"switchboard/router/people"
	"switchboard/scheduler"
	"switchboard/store"
	"switchboard/store/database"
	"switchboard/store/engines"
)

const (
	consoleName = "console" // the channel every engine has
	ownerName   = "owner"   // whoever runs it on this machine
)

// An engine is the running program: everything wired together, over one database.
type engine struct {
	now     atomic.Pointer[configs.Settings]
	log     *slog.Logger
	db      *store.DB
	owner   *engines.Engine
	router  *router.Router
	others  channelMaker // nil: it serves the console alone
	begins  begun        // which jobs
	mind    minds
	policy  *router.Policy
	desk    *jobs.Service
	jobs    *scheduler.Scheduler
	space   *workspace.Space
	files   *files.Service
	console *console.Channel
	local   *api.Server
	meter   host.Meter // of the health job

	reloading sync.Mutex         // while other settings are read and applied
	broken    string             // what is wrong with the settings that are not gone by; under reloading
	back      []string           // who is named again, until the admins are notified; under reloading
	paused    map[string][]int64 // jobs that people of the settings have no right to any more, the same
	unusable  error              // why secrets that were set last cannot be used; under reloading
	examining sync.Mutex         // the doctor is at it
}

// begun is which jobs an engine begins that are due.
type begun int

const (
	allJobs begun = iota
	ownJobs       // the program's own: nobody would read what others say, which wait
	noJobs        // it is about to end
)

// The ways to open an engine. It has everything that is configured, serves the console
// alone, or serves the console alone and ends with the command that needed it.
var (
	openEngine    = opener(attach, false, allJobs)
	openConsole   = opener(nil, false, allJobs)
	openListening = opener(nil, true, allJobs)
	openPassing   = opener(nil, true, ownJobs)
	openAsking    = opener(nil, true, noJobs)
)

type channelMaker func(*configs.Settings, *slog.Logger) []router.Attached

// An engineOpener wires an engine and takes the database; nothing runs yet.
// engines.ErrRunning says that another process is the engine.
type engineOpener func(context.Context, *configs.Settings, *slog.Logger) (*engine, error)

// opener also takes the maker of the channels besides the console; nil: there are none.
func opener(others channelMaker, passing bool, begins begun) engineOpener {
	return func(ctx context.Context, settings *configs.Settings, log *slog.Logger) (_ *engine, err error) {
		if err := settings.MakeDataDir(); err != nil {
			return nil, err
		}
		e := &engine{log: log, others: others, begins: begins, paused: map[string][]int64{}}
		e.now.Store(settings)
		defer func() {
			if err != nil {
				e.close()
			}
		}()
		if e.db, err = store.Open(ctx, settings.Store, settings.DataDir, log); err != nil {
			return nil, err
		}
		if e.owner, err = engines.Start(ctx, e.db.DB, passing); errors.Is(err, database.ErrCluster) {
			return nil, usageError{err}
		} else if err != nil {
			return nil, err
		}
		if err = e.countAtStart(ctx); err != nil {
			return nil, err
		}
		e.local, err = api.Listen(settings.DataDir, e.owner.ID(), e.routes(), log)
		return e, err
	}
}

// wire makes the parts and gives each what it needs.
func (e *engine) wire(ctx context.Context) error {
	s := e.settings()
	ledger := e.db.Router()
	err := e.setPeople(ctx, s)
	if _, wrong := errors.AsType[usageError](err); wrong && e.begins == noJobs { // people stay as they are, for who asks or removes somebody
		e.log.WarnContext(ctx, "the people of the settings cannot be taken", "error", err)
	} else if err != nil {
		return err
	}
	if err := e.keepOwnJobs(ctx, s); err != nil {
		return err
	}
	roster := people.NewRoster(ledger)
	if err := roster.Reload(ctx); err != nil {
		return err
	}
	e.console = console.New(consoleName, ledger, e.log)
	attached := []router.Attached{{Channel: e.console, Config: consoleConfig()}}
	if e.others != nil {
		attached = append(attached, e.others(s, e.log)...)
	}
	list := router.NewChannels(attached...)
	if why := unconfined(s); why != "" {
		e.log.WarnContext(ctx, "commands of admins are not confined", "setting", why)
	}
	e.space = &workspace.Space{Bytes: s.Agent.WorkspaceLimit, Files: s.Agent.WorkspaceFiles}
	e.files = files.New(files.Deps{
		Room:   func(ctx context.Context) error { return e.space.CheckDisk(ctx, s.DataDir) },
		Ledger: ledger, Blobs: attachments(s), Channel: list.Adapter,
		Limits: fileLimits(s), Log: e.log,
	})
	e.policy = router.NewPolicy(roster, list.Rules, s.Policy)
	e.desk = e.newDesk(ledger, roster.Named)
	first, err := e.newMind(s)
	if err != nil {
		return usageError{err}
	}
	e.mind.now.Store(first)
	e.router, err = router.New(router.Deps{
		Settings: routerSettings(s), Channels: list, Roster: roster, Agent: &e.mind, Usable: e.mind.usable, Summary: e.mind.summary, Typed: e.mind.typed, Engine: e.owner, FirstStart: e.owner.FirstStart(), Local: localIdentity,
		Ledger: ledger, Wakes: engines.NewWakes(e.db.DB, e.owner.ID()), Files: e.files, DataDir: s.DataDir, Missing: e.missing, Secrets: e, Mask: s.Mask, Log: e.log,
		NoticeTargets: e.noticeTargets, Reload: e.reload,
		JobsChanged: func() { e.jobs.Wake() }, Made: e.desk.Made,
		Commands: append(e.desk.Commands(), e.adminCommands(ledger)...),
	})
	if err != nil {
		return usageError{err}
	}
	e.jobs = e.newScheduler(ledger)
	e.space.DiskLow = e.diskLow
	return nil
}

// limits are those of [budget] that count now; the router is made after what asks for them.
func (e *engine) limits() money.Budget { return e.router.Budget() }

func (e *engine) diskLow(ctx context.Context, text string) {
	e.router.Lines.Notify(ctx, outbox.NoticeDisk, "disk", text)
}

// routerSettings are those of the router that may change while it runs.
func routerSettings(s *configs.Settings) router.Settings {
	return router.Settings{
		Config: s.Router, Model: s.Agent.Planner, Models: slices.Sorted(maps.Keys(s.LLM.Models)), ApprovalDeadline: s.Approvals.Deadline,
		Budget: s.Limits(), TimeZone: s.Scheduler.TimeZone,
		FileLimits: router.FileLimits{MaxSize: s.Files.MaxSize, MaxPerMessage: s.Files.MaxPerMessage},
	}
}

// write is the router's Messenger; the router is made after the agent.
func (e *engine) write(ctx context.Context, call tools.Call, to, text string) tools.Result {
	return e.router.Messages.SendMessage(ctx, call, to, text)
}

// recipient is whom write would write to.
func (e *engine) recipient(ctx context.Context, call tools.Call, to string) (string, *tools.Result) {
	return e.router.Messages.Recipient(ctx, call, to)
}

// give is the router's Commander.
func (e *engine) give(ctx context.Context, call tools.Call, name string, args ...string) tools.Result {
	return e.router.GiveCommand(ctx, call, name, args...)
}

// known says that somebody is called so.
func (e *engine) known(ctx context.Context, name string) bool {
	return e.router.Roster.Knows(ctx, name)
}

// newMind makes an agent with its models, tools and shell.
func (e *engine) newMind(s *configs.Settings) (*mind, error) {
	log := e.log
	models, err := newModels(s, log)
	if err != nil {
		return nil, err
	}
	allow, err := prefixes(s.Server.AllowPrivate)
	if err != nil {
		return nil, err
	}
	registry, err := tools.NewRegistry(tools.Builtin(tools.BuiltinConfig{AllowPrivate: allow, Files: e.files, Messenger: e.write, Recipient: e.recipient, Commander: e.give, Known: e.known, Schedule: e.desk, Space: e.space, Host: e.hostInfo})...)
	if err != nil {
		return nil, err
	}
	registry.Log, registry.OutputLimit, registry.Mask = log, s.Agent.OutputLimit, s.Mask
	registry.Secret = e.secretFor
	shell := tools.NewExec(tools.ExecConfig{
		Config:      sandbox.Config{SafeUntil: e.owner.SafeUntil, Space: e.space, Timeout: s.Agent.ExecTimeout},
		OutputLimit: s.Agent.OutputLimit, AdminUnconfined: unconfined(s) != "", Mask: s.Mask, Log: log,
	})
	made, err := agent.New(s.Agent, models, registry, shell, e.policy, log, agent.Options{
		DataDir: s.DataDir, Length: models.Length, Guard: e.owner, Mask: s.Mask,
	})
	return &mind{made, models, registry.Harmless()}, err
}

// newModels makes the models and makes sure that each role could be served.
func newModels(s *configs.Settings, log *slog.Logger) (*llm.Models, error) {
	cfg := s.LLM
	cfg.Named, cfg.Providers = modelSettings(s), maps.Clone(cfg.Providers)
	for name, p := range cfg.Providers {
		p.KeyFrom = s.Kept("llm.providers." + name + ".api_key")
		cfg.Providers[name] = p
	}
	models, err := llm.New(cfg, offline.New(time.Now), log)
	if err != nil {
		return nil, err
	}
	roles := map[string]string{} // what is wrong with a model is said once for all its roles
	for model, names := range rolesByModel(s) {
		roles[strings.Join(names, ", ")] = model
	}
	if err := models.Check(roles); err != nil {
		return nil, err
	}
	return models, nil
}

// modelSettings says of each model which setting names it first.
func modelSettings(s *configs.Settings) map[string]string {
	named := map[string]string{}
	for i, model := range s.Agent.Fallback {
		named[model] = fmt.Sprintf("agent.fallback[%d]", i)
	}
	for model, roles := range rolesByModel(s) {
		named[model] = "agent." + roles[0]
		if slices.Contains(roles, "planner") {
			named[model] = "agent.planner" // which the others follow
		}
	}
	return named
}

// rolesByModel are the roles that each model has, in order.
func rolesByModel(s *configs.Settings) map[string][]string {
	roles := s.Agent.Roles()
	byModel := map[string][]string{}
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		byModel[roles[role]] = append(byModel[roles[role]], role)
	}
	return byModel
}

// run serves until ctx ends and everything has stopped.
func (e *engine) run(ctx context.Context) error {
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
	parts.Go(func() { e.db.Audit(working) })
	if e.begins != noJobs {
		parts.Go(func() { e.jobs.Run(working) })
	}
	parts.Go(func() { e.watchFile(working) })
	e.router.Run(working)
	e.local.Close()
	stop()
	cancel()
	parts.Wait()
	return errors.Join(lost, e.close())
}

// close releases the database; safe to call on a half-made engine.
func (e *engine) close() error {
	var errs []error
	if e.local != nil {
		e.local.Close()
	}
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

// withOwner adds whoever runs the program on this machine, unless the settings
// say who that is.
func withOwner(people []core.Person) []core.Person {
	if i := slices.IndexFunc(people, func(p core.Person) bool { return p.Name == ownerName }); i >= 0 {
		people[i].Machine = true
		return people
	}
	return append(people, core.Person{
		Name: ownerName, Role: core.RoleAdmin, Tools: []string{"*"}, Source: core.FromLocal,
		Identities: []string{localIdentity}, Machine: true,
	})
}

// consoleConfig lets everybody on this machine in as the person they say they are.
func consoleConfig() router.ChannelConfig {
	return router.ChannelConfig{
		Kind: consoleName, Enabled: true, DM: "allowlist", Groups: "disabled",
		ToolsAllow: []string{"*"}, Rate: "off",
	}
}

func prefixes(cidrs []string) ([]netip.Prefix, error) {
	list := make([]netip.Prefix, 0, len(cidrs))
	for _, s := range cidrs {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, fmt.Errorf("server.allow_private: %w", err)
		}
		list = append(list, p)
	}
	return list, nil
}

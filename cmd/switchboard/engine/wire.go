package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"sync/atomic"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/agent/tools"
	"switchboard/agent/tools/sandbox"
	"switchboard/agent/tools/workspace"
	"switchboard/channels"
	web "switchboard/channels/api"
	page "switchboard/channels/web"
	"switchboard/cmd/switchboard/access"
	"switchboard/cmd/switchboard/metrics"
	"switchboard/cmd/switchboard/models"
	"switchboard/configs"
	"switchboard/router"
	"switchboard/router/browsers"
	"switchboard/router/files"
	"switchboard/router/jobs"
	"switchboard/router/memory"
	"switchboard/router/outbox"
	"switchboard/router/people"
	"switchboard/router/tokens"
	"switchboard/router/turns"
	"switchboard/store/blobs"
	"switchboard/store/engines"
)

// wire makes the parts and gives each what it needs. The agents and the service of jobs call the router, which calls
// them: they are filled once it is there, and nothing runs before.
func (e *Engine) wire(ctx context.Context) error {
	s, of := e.settings.Now(), e.db.Router()
	err := e.settings.SetPeople(ctx, s)
	if _, wrong := errors.AsType[configs.UsageError](err); wrong && e.mode.begins == noJobs { // people stay as they are, for who asks or removes somebody
		e.log.WarnContext(ctx, "the people of the settings cannot be taken", "error", err)
	} else if err != nil {
		return err
	}
	if err := e.keepOwnJobs(ctx, s); err != nil {
		return err
	}
	roster := people.NewRoster(of)
	if err := roster.Reload(ctx); err != nil {
		return err
	}
	e.console = web.NewChannel(access.Console, access.Console, channels.Features{Markdown: true}, e.log)
	e.programs = web.NewChannel(access.Programs, web.Kind, web.Features, e.log)
	e.page = web.NewChannel(access.Page, page.Kind, page.Features, e.log)
	// The console lets everybody on this machine in as the person they say they are.
	attached := []router.Attached{{Channel: e.console, Config: router.ChannelConfig{
		Kind: access.Console, Enabled: true, DM: "allowlist", Groups: "disabled", ToolsAllow: []string{"*"}, Rate: "off",
	}}}
	if e.mode.Channels != nil {
		// Tokens say who may write on it, and for whom.
		attached = append(attached, router.Attached{Channel: e.programs, Config: router.ChannelConfig{
			Kind: web.Kind, Enabled: true, DM: "allowlist", Groups: "disabled", ToolsAllow: []string{"*"}, Rate: "off",
		}})
		attached = append(attached, router.Attached{Channel: e.page, Config: router.ChannelConfig{
			Kind: page.Kind, Enabled: true, DM: "allowlist", Groups: "disabled", ToolsAllow: []string{"*"}, Rate: "off",
		}})
		attached = append(attached, e.mode.Channels(s, e.metrics.Log(e.log))...)
	}
	list := router.NewChannels(attached...)
	for _, at := range attached {
		e.metrics.Serves(at.Name())
	}
	if why := s.Unconfined(); why != "" {
		e.log.WarnContext(ctx, "commands of admins are not confined", "setting", why)
	}
	e.space = &workspace.Space{Bytes: s.Agent.WorkspaceLimit, Files: s.Agent.WorkspaceFiles}
	e.files = files.New(files.Deps{
		Room:  func(ctx context.Context) error { return e.space.CheckDisk(ctx, s.DataDir) },
		Store: of, Blobs: Attachments(s), Channel: list.Adapter,
		Limits: fileLimits(s), Mask: s.Mask, Log: e.log,
	})
	e.policy = router.NewPolicy(roster, list.Rules, s.Policy)
	e.policy.Service.Log = e.log
	e.jobs, e.memory = &jobs.Service{}, &memory.Service{}
	e.tokens = &tokens.Service{Store: of, Configured: func() []tokens.Configured { return access.Tokens(e.settings.Now()) }, Mask: s.Mask, Log: e.log}
	e.browsers = &browsers.Service{
		Store: of, Log: e.log, Changer: changer{e},
		Tell: func(ctx context.Context, person, key, text string) (bool, error) {
			return e.router.TellElsewhere(ctx, person, key, text)
		},
	}
	e.router, err = router.New(router.Deps{
		Settings: routerSettings(s), Channels: list, Roster: roster, Agent: e.metrics.Agent(&e.agents), Usable: e.agents.usable, Summary: e.agents.summary, Typed: e.agents.typed, Engine: e.owner, FirstStart: e.owner.FirstStart(), Local: access.Local,
		Store: e.metrics.Store(of), Wakes: engines.NewWakes(e.db.DB, e.owner.ID()), Files: e.files, DataDir: s.DataDir, Missing: e.missing, Secrets: e.settings, Mask: s.Mask, Log: e.log,
		NoticeTargets: e.settings.NoticeTargets, Reload: e.settings.Reload,
		JobsChanged: func() { e.scheduler.Wake() }, Rested: func() { e.rester.Wake() }, Made: e.jobs.Made,
		Commands: slices.Concat(e.memory.Commands(), e.jobs.Commands(), e.adminCommands(of)),
	})
	if err != nil {
		return configs.Usage(err)
	}
	e.metrics.Read(metrics.Deps{Statuses: e.router.Connections.Statuses, Queue: of.Queue})
	*e.jobs = e.jobService(of)
	e.embedder = e.newEmbedder(of)
	e.fillMemory(of)
	e.rester = e.newRester()
	first, err := e.newAgent(s)
	if err != nil {
		return configs.Usage(err)
	}
	e.agents.now.Store(first)
	e.scheduler = e.newScheduler(of, first.harmless)
	e.space.DiskLow = func(ctx context.Context, text string) {
		e.router.Connections.Notify(ctx, outbox.NoticeDisk, "disk", text)
	}
	return nil
}

// routerSettings are those of the router that may change while it runs.
func routerSettings(s *configs.Settings) router.Settings {
	return router.Settings{
		Config: s.Router, Model: s.Agent.Planner, Models: slices.Sorted(maps.Keys(s.LLM.Models)), ApprovalDeadline: s.Approvals.Deadline,
		Budget: s.Limits(), TimeZone: s.Scheduler.TimeZone,
		FileLimits: router.FileLimits{MaxSize: s.Files.MaxSize, MaxPerMessage: s.Files.MaxPerMessage},
	}
}

func fileLimits(s *configs.Settings) files.Limits {
	return files.Limits{MaxSize: s.Files.MaxSize, ScanCommand: s.Files.ScanCommand}
}

// Attachments is where the bytes of attachments are.
func Attachments(s *configs.Settings) *blobs.Dir {
	return blobs.New(filepath.Join(s.DataDir, "attachments"))
}

// A runtime is an agent with its models.
type runtime struct {
	*agent.Agent
	models   *llm.Models
	counted  agent.Models // the same, whose calls are counted
	harmless []string     // tools that change nothing
}

// agents is the agent of an engine, which is another one when the settings have changed. A turn
// goes on with the one that it began with.
type agents struct{ now atomic.Pointer[runtime] }

var _ turns.Agent = (*agents)(nil)

// Run works on a turn.
func (a *agents) Run(ctx context.Context, turn agent.Turn, journal agent.Journal) error {
	return a.now.Load().Run(ctx, turn, journal)
}

func (a *agents) usable(q tools.Question) []string { return a.now.Load().Usable(q) }
func (a *agents) summary(tool string) string       { return a.now.Load().Summary(tool) }
func (a *agents) typed(tool string, args json.RawMessage) (json.RawMessage, string, error) {
	return a.now.Load().Typed(tool, args)
}

// newAgent makes an agent with its models, tools and shell.
func (e *Engine) newAgent(s *configs.Settings) (*runtime, error) {
	list, err := models.New(s, e.log)
	if err != nil {
		return nil, err
	}
	allow := make([]netip.Prefix, len(s.Server.AllowPrivate))
	for i, cidr := range s.Server.AllowPrivate {
		if allow[i], err = netip.ParsePrefix(cidr); err != nil {
			return nil, fmt.Errorf("server.allow_private: %w", err)
		}
	}
	registry, err := tools.NewRegistry(tools.Builtin(tools.BuiltinConfig{
		AllowPrivate: allow, Files: e.files, Space: e.space, Schedule: e.jobs, Memory: e.memory, Host: e.hostInfo,
		Messenger: e.router.Messages.SendMessage, Recipient: e.router.Messages.Recipient, Commander: e.router.GiveCommand, Known: e.router.Roster.Knows,
	})...)
	if err != nil {
		return nil, err
	}
	registry.Log, registry.OutputLimit, registry.Mask = e.log, s.Agent.OutputLimit, s.Mask
	registry.Secret = e.settings.SecretFor
	shell := tools.NewExec(tools.ExecConfig{
		Config:      sandbox.Config{SafeUntil: e.owner.SafeUntil, Space: e.space, Timeout: s.Agent.ExecTimeout},
		OutputLimit: s.Agent.OutputLimit, AdminUnconfined: s.Unconfined() != "", Mask: s.Mask, Log: e.log,
	})
	roles := models.Roles(s)
	named := func(model string) bool {
		_, alias := s.LLM.Models[model]
		return alias || roles[model] != nil
	}
	counted := e.metrics.Models(list, named)
	made, err := agent.New(s.Agent, counted, e.metrics.Tools(registry), e.metrics.Shell(shell), e.policy, e.log, agent.Options{
		DataDir: s.DataDir, Length: list.Length, Guard: e.owner, Mask: s.Mask, Memory: e.memory, Forgetful: !s.Memory.Learning,
	})
	return &runtime{made, list, counted, registry.Harmless()}, err
}

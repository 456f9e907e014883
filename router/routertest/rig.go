// Package routertest is what tests of the router and its features share: a router over a real
// store and a scripted platform, agents that do what a test writes, and what such a test waits for.
package routertest

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"switchboard/agent/tools"
	"switchboard/agent/tools/sandbox"
	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/internal/secrets"
	"switchboard/internal/testkit"
	"switchboard/router"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/router/outbox/delivery"
	"switchboard/router/people"
	"switchboard/router/settings"
	"switchboard/router/turns"
	"switchboard/store/storetest"
)

// Main runs a package's tests, whose names are looked up here; all its rigs compare their leases often.
func Main(m *testing.M) {
	turns.HeldEvery = 2 * time.Second
	sandbox.RunHelper() // does not return where this process is a command's keeper
	if err := serveNames(); err != nil {
		panic(err)
	}
	testkit.Main(m, 12, testkit.ClosingConnections, goleak.IgnoreAnyFunction("switchboard/router/routertest.(*NameServer).serve")) // they wait for clocks and databases more than they work
}

// A Rig is a router over a real database and a scripted platform.
type Rig struct {
	T        testing.TB
	DB       *storetest.DB
	Platform *channelstest.Platform
	Brain    *Brain
	Config   router.Config

	FirstStart time.Time
	Channel    router.ChannelConfig
	Script     scripted.Config
	People     []core.Person
	Store      func(router.Store) router.Store // nil: the database's
	Safe       func() bool                     // nil: the engine's
	Agent      turns.Agent                     // nil: the brain
	Files      outbox.Attachments
	Usable     func(tools.Question) []string
	Limits     router.FileLimits
	Log        io.Writer
	Deadline   time.Duration // of approvals; 0: the program's own
	Mask       *secrets.Masker
	Missing    func() []string
	Targets    func(outbox.NoticeKind) []string
	Secrets    settings.Secrets
	Reload     func(context.Context) error
	Name       string                                                      // of the channel
	Dir        string                                                      // the data folder; empty: one of its own
	Wakes      func(int64) core.Wakes                                      // by the engine's id; nil: the database's own
	Guard      func(context.Context) (context.Context, context.CancelFunc) // nil: the engine's
	Readers    []router.Attached                                           // channels besides the platform's
	Wrap       func(channels.Channel) channels.Channel                     // nil: the platform's channel as it is

	Address string // of the database; twins alone
	Roster  *people.Roster
	Lists   atomic.Int64 // how often all people were read

	Engine   *storetest.Engine
	Router   *router.Router
	Stop     context.CancelFunc
	Done     chan struct{}
	Commands []commands.Command // besides the router's own
	Models   []string
	Summary  func(string) string
	Typed    func(string, json.RawMessage) (json.RawMessage, string, error)
}

// listing counts how often all people are read.
type listing struct {
	people.Directory
	lists *atomic.Int64
}

func (l listing) Everyone(ctx context.Context) (people, away []core.Person, err error) {
	l.lists.Add(1)
	return l.Directory.Everyone(ctx)
}

// An Own is the rig of a package's tests: the shared one, with what only those need.
type Own interface{ ~struct{ *Rig } }

// New is a rig over a database, with ada, an admin, and bob, a user, and no limits of rate.
func New[R Own](t testing.TB, db *storetest.DB) *R {
	t.Helper()
	return &R{newRig(t, db)}
}

func newRig(t testing.TB, db *storetest.DB) *Rig {
	t.Helper()
	cfg := router.DefaultConfig()
	cfg.RatePerson = "off"
	channel := router.DefaultChannelConfig()
	channel.Rate = "off"
	return &Rig{
		T: t, DB: db, Platform: channelstest.NewPlatform(), Brain: &Brain{}, Config: cfg, Channel: channel,
		Script: scripted.DefaultConfig(), Log: testLog{t}, Name: "play", Wakes: storetest.Wakes(db),
		People: []core.Person{
			{Name: "ada", Role: core.RoleAdmin, Identities: []string{"scripted:ada"}, Tools: []string{"*"}, Source: "config"},
			{Name: "bob", Role: core.RoleUser, Identities: []string{"scripted:bob"}, Tools: []string{"*"}, Source: "config"},
		},
	}
}

// Start runs a router; several may be started one after the other.
func (r *Rig) Start() {
	r.T.Helper()
	ctx := r.T.Context()
	var err error
	if r.Engine, err = storetest.StartEngine(ctx, r.DB); err != nil {
		r.T.Fatal(err)
	}
	ledger := r.DB.Router()
	if _, err := ledger.SetPeople(ctx, r.People); err != nil {
		r.T.Fatal(err)
	}
	roster := people.NewRoster(listing{ledger, &r.Lists})
	if err := roster.Reload(ctx); err != nil {
		r.T.Fatal(err)
	}
	r.Roster = roster
	var through router.Store = ledger
	if r.Store != nil {
		through = r.Store(ledger)
	}
	var runner turns.Agent = r.Brain
	if r.Agent != nil {
		runner = r.Agent
	}
	if r.Dir == "" {
		r.Dir = r.T.TempDir()
	}
	channel := channelstest.Scripted(r.Name, r.Platform, r.Script)
	if r.Wrap != nil {
		channel = r.Wrap(channel)
	}
	r.Router, err = router.New(router.Deps{
		Settings: r.Settings(), Roster: roster, Agent: runner, Usable: r.Usable, Commands: r.Commands, Summary: r.Summary, Typed: r.Typed, Files: cmp.Or[outbox.Attachments](r.Files, noFiles{}), Engine: doubtful{r.Engine, r.Safe, r.Guard}, Store: through, FirstStart: r.FirstStart, Local: "console:zoe",
		Channels: router.NewChannels(append([]router.Attached{{Channel: channel, Config: r.Channel}}, r.Readers...)...),
		Wakes:    r.Wakes(r.Engine.ID()),
		DataDir:  r.Dir, Mask: r.Mask, Missing: r.Missing, NoticeTargets: r.noticeTargets, Secrets: r.Secrets, Reload: r.Reload, Log: slog.New(slog.NewTextHandler(r.Log, nil)), Grace: 3 * time.Second,
	})
	if err != nil {
		r.T.Fatal(err)
	}
	running, stop := context.WithCancel(context.Background())
	r.Stop, r.Done = stop, make(chan struct{})
	var parts sync.WaitGroup
	renewing, stopRenewing := context.WithCancel(context.Background())
	parts.Go(func() { r.Engine.Run(renewing) })
	engine, done := r.Engine, r.Done
	go func() {
		defer close(done)
		r.Router.Run(running)
		stopRenewing()
		parts.Wait()
		engine.Close(context.Background())
	}()
	r.T.Cleanup(r.End)
}

// Settings are those that may change while the router runs.
func (r *Rig) Settings() router.Settings {
	return router.Settings{Config: r.Config, FileLimits: r.Limits, Model: "test", Models: r.Models, TimeZone: "Europe/Rome", ApprovalDeadline: r.Deadline}
}

// End stops the router and waits for it; calling it twice is fine.
func (r *Rig) End() {
	if r.Stop == nil {
		return
	}
	r.Stop()
	select {
	case <-r.Done:
	case <-time.After(time.Minute):
		r.T.Error("the router did not stop")
	}
	r.Stop = nil
}

// doubtful is an engine that may say otherwise whether it is safe.
type doubtful struct {
	delivery.Engine
	safe  func() bool
	guard func(context.Context) (context.Context, context.CancelFunc)
}

func (d doubtful) Guard(ctx context.Context) (context.Context, context.CancelFunc) {
	if d.guard != nil {
		return d.guard(ctx)
	}
	return d.Engine.Guard(ctx)
}

func (d doubtful) Safe() bool {
	if d.safe != nil {
		return d.safe()
	}
	return d.Engine.Safe()
}

// testLog puts the router's log into the test's.
type testLog struct{ t testing.TB }

func (l testLog) Write(p []byte) (int, error) {
	if l.t.Context().Err() == nil {
		l.t.Log(string(p))
	}
	return len(p), nil
}

// Each runs f on both databases, in parallel with other tests.
func Each[R Own](t *testing.T, f func(t *testing.T, r *R)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) { f(t, New[R](t, db)) })
}

// InTime runs f with a fake clock, over SQLite, in parallel with other tests.
func InTime[R Own](t *testing.T, f func(t *testing.T, r *R)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, storetest.SQLite(t))
		r.Script.Rich, r.Script.DraftEvery = true, time.Second
		f(t, &R{r})
		r.End()
	})
}

func (r *Rig) noticeTargets(kind outbox.NoticeKind) []string {
	if r.Targets == nil {
		return nil
	}
	return r.Targets(kind)
}

// noFiles is where no session has a file, and none can be kept.
type noFiles struct{}

func (noFiles) Outgoing(context.Context, string, string) (channels.File, error) {
	return channels.File{}, tools.ErrNoFile
}

func (noFiles) Publish(context.Context, tools.Session, string, tools.Taint, io.Reader) (tools.File, error) {
	return tools.File{}, tools.ErrNoFile
}

func (noFiles) Bytes(channels.File) (io.ReadCloser, error) { return nil, tools.ErrFileGone }

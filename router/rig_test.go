package router_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"switchboard/agent"
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
	"switchboard/store"
	"switchboard/store/engines"
	"switchboard/store/storetest"
)

func TestMain(m *testing.M) {
	router.CompareLeasesEvery(2 * time.Second)
	sandbox.RunHelper() // does not return where this process is a command's keeper
	if err := serveNames(); err != nil {
		panic(err)
	}
	testkit.Main(m, 12, testkit.ClosingConnections, goleak.IgnoreAnyFunction("switchboard/router_test.(*nameServer).serve")) // they wait for clocks and databases more than they work
}

// A brain answers turns in place of the agent: it says what think returns.
type brain struct {
	think func(ctx context.Context, turn agent.Turn) (text string, err error)
	step  func(agent.Journal) error // nil: no step before the last

	mu   sync.Mutex
	runs map[string]int // by the message's text
}

func (b *brain) Run(ctx context.Context, turn agent.Turn, j agent.Journal) error {
	b.mu.Lock()
	if b.runs == nil {
		b.runs = map[string]int{}
	}
	b.runs[turn.Message.Text]++
	b.mu.Unlock()
	state, err := j.Resume(ctx)
	if err != nil {
		return err
	}
	if len(state.Said) > 0 {
		return errors.New("said already, and run again")
	}
	if b.step != nil {
		if err := b.step(j); err != nil {
			return err
		}
	}
	text, err := "re: "+turn.Message.Text, error(nil)
	if b.think != nil {
		text, err = b.think(ctx, turn)
	}
	switch {
	case errors.Is(context.Cause(ctx), agent.ErrCancelled):
		return play{j, ctx, turn}.cancelled()
	case ctx.Err() != nil:
		return agent.ErrReleased
	case err != nil:
		return err
	}
	return play{j, ctx, turn}.answer(text)
}

// held makes the brain hold turns back until release is called: those with these
// texts, or all.
func (b *brain) held(texts ...string) (release func()) {
	released := make(chan struct{})
	b.think = func(ctx context.Context, turn agent.Turn) (string, error) {
		if len(texts) == 0 || slices.Contains(texts, turn.Message.Text) {
			select {
			case <-released:
			case <-ctx.Done():
			}
		}
		return "re: " + turn.Message.Text, nil
	}
	return sync.OnceFunc(func() { close(released) })
}

func (b *brain) ran(text string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.runs[text]
}

// A rig is a router over a real database and a scripted platform.
type rig struct {
	t        testing.TB
	db       *store.DB
	platform *channelstest.Platform
	brain    *brain
	config   router.Config

	firstStart time.Time
	channel    router.ChannelConfig
	script     scripted.Config
	people     []core.Person
	ledger     func(router.Ledger) router.Ledger // nil: the database's
	safe       func() bool                       // nil: the engine's
	agent      turns.Agent                       // nil: the brain
	files      outbox.Attachments
	usable     func(tools.Question) []string
	limits     router.FileLimits
	log        io.Writer
	deadline   time.Duration // of approvals; 0: the program's own
	mask       *secrets.Masker
	missing    func() []string
	targets    func(outbox.NoticeKind) []string
	secrets    settings.Secrets
	reload     func(context.Context) error
	name       string                                                      // of the channel
	dir        string                                                      // the data folder; empty: one of its own
	wakes      func(int64) core.Wakes                                      // by the engine's id; nil: the database's own
	guard      func(context.Context) (context.Context, context.CancelFunc) // nil: the engine's
	readers    []router.Attached                                           // channels besides the platform's
	wrap       func(channels.Channel) channels.Channel                     // nil: the platform's channel as it is

	address string // of the database; twins alone
	roster  *people.Roster
	lists   atomic.Int64 // how often all people were read

	engine   *engines.Engine
	router   *router.Router
	stop     context.CancelFunc
	done     chan struct{}
	commands []commands.Command // besides the router's own
	models   []string
	summary  func(string) string
	typed    func(string, json.RawMessage) (json.RawMessage, string, error)
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

func newRig(t testing.TB, db *store.DB) *rig {
	t.Helper()
	cfg := router.DefaultConfig()
	cfg.RatePerson = "off"
	channel := router.DefaultChannelConfig()
	channel.Rate = "off"
	return &rig{
		t: t, db: db, platform: channelstest.NewPlatform(), brain: &brain{}, config: cfg, channel: channel,
		script: scripted.DefaultConfig(), log: testLog{t}, name: "play", wakes: wakesOf(db),
		people: []core.Person{
			{Name: "ada", Role: core.RoleAdmin, Identities: []string{"scripted:ada"}, Tools: []string{"*"}, Source: "config"},
			{Name: "bob", Role: core.RoleUser, Identities: []string{"scripted:bob"}, Tools: []string{"*"}, Source: "config"},
		},
	}
}

// start runs a router; several may be started one after the other.
func (r *rig) start() {
	r.t.Helper()
	ctx := r.t.Context()
	var err error
	if r.engine, err = engines.Start(ctx, r.db.DB, false); err != nil {
		r.t.Fatal(err)
	}
	ledger := r.db.Router()
	if _, err := ledger.SetPeople(ctx, r.people); err != nil {
		r.t.Fatal(err)
	}
	roster := people.NewRoster(listing{ledger, &r.lists})
	if err := roster.Reload(ctx); err != nil {
		r.t.Fatal(err)
	}
	r.roster = roster
	var through router.Ledger = ledger
	if r.ledger != nil {
		through = r.ledger(ledger)
	}
	var runner turns.Agent = r.brain
	if r.agent != nil {
		runner = r.agent
	}
	if r.dir == "" {
		r.dir = r.t.TempDir()
	}
	channel := channelstest.Scripted(r.name, r.platform, r.script)
	if r.wrap != nil {
		channel = r.wrap(channel)
	}
	r.router, err = router.New(router.Deps{
		Settings: r.settings(), Roster: roster, Agent: runner, Usable: r.usable, Commands: r.commands, Summary: r.summary, Typed: r.typed, Files: cmp.Or[outbox.Attachments](r.files, noFiles{}), Engine: doubtful{r.engine, r.safe, r.guard}, Ledger: through, FirstStart: r.firstStart, Local: "console:zoe",
		Channels: router.NewChannels(append([]router.Attached{{Channel: channel, Config: r.channel}}, r.readers...)...),
		Wakes:    r.wakes(r.engine.ID()),
		DataDir:  r.dir, Mask: r.mask, Missing: r.missing, NoticeTargets: r.noticeTargets, Secrets: r.secrets, Reload: r.reload, Log: slog.New(slog.NewTextHandler(r.log, nil)), Grace: 3 * time.Second,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	running, stop := context.WithCancel(context.Background())
	r.stop, r.done = stop, make(chan struct{})
	var parts sync.WaitGroup
	renewing, stopRenewing := context.WithCancel(context.Background())
	parts.Go(func() { r.engine.Run(renewing) })
	engine, done := r.engine, r.done
	go func() {
		defer close(done)
		r.router.Run(running)
		stopRenewing()
		parts.Wait()
		engine.Close(context.Background())
	}()
	r.t.Cleanup(r.end)
}

// settings are those that may change while the router runs.
func (r *rig) settings() router.Settings {
	return router.Settings{Config: r.config, FileLimits: r.limits, Model: "test", Models: r.models, TimeZone: "Europe/Rome", ApprovalDeadline: r.deadline}
}

// end stops the router and waits for it; calling it twice is fine.
func (r *rig) end() {
	if r.stop == nil {
		return
	}
	r.stop()
	select {
	case <-r.done:
	case <-time.After(time.Minute):
		r.t.Error("the router did not stop")
	}
	r.stop = nil
}

// await waits until the platform shows n parts.
func (r *rig) await(n int) []channelstest.Sent {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	if err := r.platform.Await(ctx, func() bool { return len(r.platform.Sent()) >= n }); err != nil {
		r.t.Fatalf("the platform shows %d parts, want %d: %v", len(r.platform.Sent()), n, texts(r.platform.Sent()))
	}
	return r.platform.Sent()
}

// shows waits for the nth part that the platform shows, which is to read so.
func (r *rig) shows(n int, want string) {
	r.t.Helper()
	if sent := r.await(n); sent[n-1].Text != want {
		r.t.Errorf("part %d reads %q, want %q; all: %q", n, sent[n-1].Text, want, texts(sent))
	}
}

// reads waits for as many parts as there are texts, which are to be all.
func (r *rig) reads(want ...string) {
	r.t.Helper()
	r.same("the platform shows", texts(r.await(len(want))), want)
}

// mentions waits for the nth part that the platform shows, which is to hold each of the words.
func (r *rig) mentions(n int, words ...string) {
	r.t.Helper()
	sent := r.await(n)
	for _, word := range words {
		if !strings.Contains(sent[n-1].Text, word) {
			r.t.Errorf("part %d reads %q, without %q", n, sent[n-1].Text, word)
		}
	}
}

// begins says text in conv and waits until its turn runs.
func (r *rig) begins(conv, user, text string) {
	r.t.Helper()
	r.platform.Say(conv, user, text)
	r.until(text+" runs", func() bool { return r.brain.ran(text) == 1 })
}

// accept hands events in as one batch.
func (r *rig) accept(batch ...channels.Event) []channels.Receipt {
	r.t.Helper()
	receipts, err := r.router.Accept(r.t.Context(), batch)
	if err != nil {
		r.t.Fatal(err)
	}
	return receipts
}

func (r *rig) hasTurns(n int) {
	r.t.Helper()
	if turns := r.turns(); len(turns) != n {
		r.t.Errorf("%d turns, want %d: %q", len(turns), n, r.outcomes())
	}
}

// until waits until cond holds, asking it now and then.
func (r *rig) until(what string, cond func() bool) {
	r.t.Helper()
	testkit.Await(r.t, what, time.Minute, cond)
}

func (r *rig) turns() []turns.Turn {
	r.t.Helper()
	list, err := r.db.Router().Turns(r.t.Context(), "", 100_000)
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

func (r *rig) deliveries(state string) []outbox.Info {
	r.t.Helper()
	list, err := r.db.Router().Deliveries(r.t.Context(), state, 100_000)
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

func texts(sent []channelstest.Sent) []string {
	list := make([]string, len(sent))
	for i, s := range sent {
		list[i] = s.Text
	}
	return list
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

// each runs f on both databases.
func each(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) { f(t, newRig(t, db)) })
}

func event(n int, conv, user, text string) channels.Event {
	return channels.Event{
		Key: channels.EventKey(fmt.Sprintf("k%d", n)), Kind: channels.EventMessage,
		Conversation: channels.Conversation{Channel: "play", ID: channels.ConversationID(conv), Kind: channels.Direct, Place: conv},
		Sender:       channels.Sender{ID: user, Label: user},
		Message:      channels.Message{ID: channels.MessageID(fmt.Sprintf("m%d", n)), Text: text},
		At:           time.Now(),
	}
}

func wakesOf(db *store.DB) func(int64) core.Wakes {
	return func(owner int64) core.Wakes { return engines.NewWakes(db.DB, owner) }
}

func (r *rig) noticeTargets(kind outbox.NoticeKind) []string {
	if r.targets == nil {
		return nil
	}
	return r.targets(kind)
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

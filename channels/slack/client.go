package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slack-go/slack"

	"switchboard/channels"
	"switchboard/channels/wire"
	"switchboard/internal/secrets"
)

const (
	platformURL = "https://slack.com/api/"
	// connections are how many are kept open while idle.
	connections = 64
	callTimeout = 30 * time.Second
	// uploadTimeout bounds a call that carries a file.
	uploadTimeout = 10 * time.Minute
)

// Client is one app in one workspace.
type Client struct {
	name string
	cfg  Config
	log  *slog.Logger
	api  string // address of the Web API, with a slash at its end
	wire *wire.Transport
	pace pace

	mu       sync.Mutex
	account  credentials
	reacted  wire.Memory[messageRef, string]
	threads  wire.Memory[messageRef, string] // that messages are in
	names    wire.Memory[string, string]     // of users, by ID
	self     atomic.Pointer[self]
	defects  atomic.Int64
	paces    pacer
	growing  growing
	nameless atomic.Int64 // when a look-up of a name had no answer, in ns
	refused  *wire.Rejection
}

var (
	_ channels.Channel    = (*Client)(nil)
	_ channels.Prober     = (*Client)(nil)
	_ channels.Pulse      = (*Client)(nil)
	_ channels.Editor     = (*Client)(nil)
	_ channels.Drafter    = (*Client)(nil)
	_ channels.Deleter    = (*Client)(nil)
	_ channels.Reactor    = (*Client)(nil)
	_ channels.Unbuttoner = (*Client)(nil)
	_ channels.Fetcher    = (*Client)(nil)
	_ channels.TurnShower = (*Client)(nil)
	_ channels.Finder     = (*Client)(nil)
	_ channels.Examiner   = (*Client)(nil)
)

// pace is how long the client waits where it waits by itself.
type pace struct {
	again, mostAgain time.Duration // before events that were not accepted are handed in again
	interaction      time.Duration // until whoever pressed a button is told that it is not confirmed
	patience         time.Duration // until what comes waits no longer for what was missed
	twin             time.Duration // until a mention waits no longer for what else is told of it
	shares           time.Duration // between two looks for the message that files are in
}

// Interactions are to be acknowledged in 3 s.
//
// Source: https://docs.slack.dev/interactivity/handling-user-interaction.
var defaultPace = pace{
	again: 50 * time.Millisecond, mostAgain: 5 * time.Second,
	interaction: 2 * time.Second, patience: time.Minute, twin: 300 * time.Millisecond, shares: 250 * time.Millisecond,
}

// credentials are both tokens with the library's client for them.
type credentials struct {
	bot, app secrets.Secret
	lib      *slack.Client
}

// secret is both as one.
func (acc credentials) secret() secrets.Secret { return acc.bot + " " + acc.app }

// self is what the platform says of the bot.
type self struct {
	Team       string `json:"team_id"`
	Enterprise string `json:"enterprise_id"`
	User       string `json:"user_id"`
	Bot        string `json:"bot_id"`
	Name       string `json:"user"`
	Workspace  string `json:"team"`
	scopes     []string
}

func (m *self) account() account { return account(cmp.Or(m.Enterprise, m.Team) + "/" + m.User) }

// agent says whether the app is declared an agent: that adds this scope.
//
// Source: https://docs.slack.dev/ai/agent-sessions/.
func (m *self) agent() bool { return m.can("assistant:write") }

func (m *self) can(scope string) bool { return slices.Contains(m.scopes, scope) }

// New makes a channel. It does no I/O.
func New(name string, cfg Config, log *slog.Logger) *Client {
	return &Client{
		name: name, cfg: cfg, log: log.With("channel", name), api: strings.TrimRight(cmp.Or(cfg.APIURL, platformURL), "/") + "/",
		wire: wire.New(connections), refused: wire.NewRejection(), pace: defaultPace, paces: pacer{span: time.Minute},
	}
}

// Name implements channels.Channel.
func (c *Client) Name() string { return c.name }

// Kind implements channels.Channel.
func (c *Client) Kind() string { return Kind.Name }

// Silence implements channels.Pulse.
func (c *Client) Silence() time.Duration { return c.cfg.PingInterval }

// Defects counts the texts that the platform did not take for their blocks. It stays 0,
// or our formatting is at fault.
func (c *Client) Defects() int64 { return c.defects.Load() }

// Run implements channels.Channel.
func (c *Client) Run(ctx context.Context, sink channels.Sink) error {
	acc, err := c.open()
	if err != nil {
		return err
	}
	return c.refused.Try(ctx, acc.secret(), func() error { return c.connect(ctx, acc, sink) })
}

func (c *Client) connect(ctx context.Context, acc credentials, sink channels.Sink) error {
	if c.cfg.Mode == ModeEvents {
		return errors.New(`mode = "events" is not available in this build: nothing serves the address that the platform would call; set mode = "socket"`)
	}
	me, err := c.meet(ctx)
	if err != nil {
		return err
	}
	c.refused.Greeted(acc.secret())
	s, err := newSession(ctx, c, sink, me)
	if err != nil {
		return err
	}
	defer c.wire.Close()
	for {
		if err := s.socket(ctx); !errors.Is(err, errReopen) {
			return err
		}
	}
}

// meet asks the platform who the bot is, which also tells whether the token is good.
//
// Source: https://docs.slack.dev/reference/methods/auth.test.
func (c *Client) meet(ctx context.Context) (*self, error) {
	me, x, err := ask[*self](ctx, c, "auth.test", callTimeout, func(ctx context.Context, lib *slack.Client) error {
		_, err := lib.AuthTestContext(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	if me == nil || me.User == "" || me.Team == "" {
		return nil, errors.New("auth.test: the answer names no user")
	}
	for scope := range strings.SplitSeq(x.Header.Get("X-OAuth-Scopes"), ",") {
		if scope = strings.TrimSpace(scope); scope != "" {
			me.scopes = append(me.scopes, scope)
		}
	}
	c.self.Store(me)
	return me, nil
}

// known is what is known of the bot itself, asked for where nothing is yet.
func (c *Client) known(ctx context.Context) (*self, error) {
	if me := c.self.Load(); me != nil {
		return me, nil
	}
	return c.meet(ctx)
}

// Probe implements channels.Prober.
func (c *Client) Probe(ctx context.Context) error {
	_, err := c.meet(ctx)
	return err
}

// open reads the credentials and makes the library's client where they changed. It does
// no I/O besides reading them.
func (c *Client) open() (credentials, error) {
	botToken, err := c.cfg.BotToken.Read()
	if err != nil {
		return credentials{}, fmt.Errorf("bot_token: %w", err)
	}
	var appToken secrets.Secret
	if c.cfg.Mode == ModeSocket {
		if appToken, err = c.cfg.AppToken.Read(); err != nil {
			return credentials{}, fmt.Errorf("app_token: %w", err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.account.lib != nil && c.account.bot == botToken && c.account.app == appToken {
		return c.account, nil
	}
	if !botShape.MatchString(botToken.Reveal()) {
		return credentials{}, fmt.Errorf("bot_token: %w: %w", channels.ErrUnauthorized, errBotShape)
	}
	if c.cfg.Mode == ModeSocket && !appShape.MatchString(appToken.Reveal()) {
		return credentials{}, fmt.Errorf("app_token: %w: %w", channels.ErrUnauthorized, errAppShape)
	}
	lib := slack.New(botToken.Reveal(), slack.OptionAPIURL(c.api), slack.OptionHTTPClient(c.wire), slack.OptionAppLevelToken(appToken.Reveal()))
	c.account = credentials{bot: botToken, app: appToken, lib: lib}
	return c.account, nil
}

// A call calls the platform through the library. What the library makes of the answer does
// not matter, as the exchange has it whole.
type call func(ctx context.Context, lib *slack.Client) error

// with is the call of one of the library's methods.
func with[P, R any](method func(*slack.Client, context.Context, P) (R, error), params P) call {
	return func(ctx context.Context, lib *slack.Client) error {
		_, err := method(lib, ctx, params)
		return err
	}
}

// call makes one call, unless its method was called too often. Errors are those of package channels.
func (c *Client) call(ctx context.Context, op string, timeout time.Duration, do call) (*exchange, error) {
	x := &exchange{}
	acc, err := c.open()
	if err != nil {
		return x, fmt.Errorf("%s: %w", op, err)
	}
	if wait := c.paces.take(op); wait > 0 {
		return x, tooSoon(op, wait)
	}
	ctx, cancel := context.WithTimeout(x.In(ctx), timeout)
	defer cancel()
	err = do(ctx, acc.lib)
	x.read()
	err = c.outcome(op, x, err)
	c.paces.ended(op, err)
	return x, err
}

// ask makes one call and reads its answer.
func ask[T any](ctx context.Context, c *Client, op string, timeout time.Duration, do call) (answer T, x *exchange, err error) {
	if x, err = c.call(ctx, op, timeout, do); err != nil {
		return answer, x, err
	}
	if err = json.Unmarshal(x.Body, &answer); err != nil {
		err = fmt.Errorf("%s: read the answer: %w", op, err)
	}
	return answer, x, err
}

package telegram

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-telegram/bot"
	"golang.org/x/sync/errgroup"

	"switchboard/channels"
	"switchboard/channels/wire"
	"switchboard/internal/secrets"
)

const (
	platformURL = "https://api.telegram.org"
	// connections are how many calls go out at once before they wait to dial.
	connections = 64
	callTimeout = 30 * time.Second
	// uploadTimeout bounds a call that carries files.
	uploadTimeout = 10 * time.Minute
)

// Client is one bot account.
type Client struct {
	name string
	cfg  Config
	log  *slog.Logger
	api  string          // address of the Bot API, without a slash at its end
	wire *wire.Transport // for every call but polls
	pace pace
	// maxPoll bounds what the platform may answer to a poll, in bytes.
	maxPoll int64

	mu      sync.Mutex
	account account  // of the credential as it was last read
	running *session // while Run runs

	refused *wire.Rejection
	self    atomic.Pointer[self]
	crowded crowd
	albums  albums
	defects atomic.Int64
	// foreign: the last Run ended because somebody else polls, and no long poll has
	// been well since.
	foreign atomic.Bool
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
	_ channels.Commander  = (*Client)(nil)
	_ channels.Typer      = (*Client)(nil)
	_ channels.Examiner   = (*Client)(nil)
)

// account is a credential with the library's client for it.
type account struct {
	secret secrets.Secret
	id     int64 // the bot's own, which the credential begins with
	lib    *bot.Bot
}

// self is what the platform says of the bot.
type self struct {
	id       int64
	username string // without @; commands and mentions name the bot by it
}

// session is one Run: where events go, and the answers to buttons that are under way.
type session struct {
	sink    channels.Sink
	account account
	presses errgroup.Group // the answers to buttons that are under way
}

// New makes a channel. It does no I/O.
func New(name string, cfg Config, log *slog.Logger) *Client {
	return &Client{
		name: name, cfg: cfg, log: log.With("channel", name),
		api: strings.TrimRight(cmp.Or(cfg.APIURL, platformURL), "/"), wire: wire.New(connections), refused: wire.NewRejection(), pace: defaultPace, maxPoll: wire.MaxAnswer,
	}
}

// Name implements channels.Channel.
func (c *Client) Name() string { return c.name }

// Kind implements channels.Channel.
func (c *Client) Kind() string { return Kind.Name }

// Defects counts the texts that the platform could not parse. It stays 0, or our
// formatting is at fault.
func (c *Client) Defects() int64 { return c.defects.Load() }

// Run implements channels.Channel.
func (c *Client) Run(ctx context.Context, sink channels.Sink) error {
	acc, err := c.open()
	if err != nil {
		return err
	}
	return c.refused.Try(ctx, acc.secret, func() error { return c.connect(ctx, acc, sink) })
}

func (c *Client) connect(ctx context.Context, acc account, sink channels.Sink) error {
	if c.cfg.Mode == ModeWebhook {
		return errors.New(`mode = "webhook" is not available in this build: nothing serves the address that the platform would call; set mode = "polling"`)
	}
	if err := c.meet(ctx); err != nil {
		return err
	}
	c.refused.Greeted(acc.secret)
	s := &session{sink: sink, account: acc}
	s.presses.SetLimit(pressesAtOnce)
	defer s.presses.Wait()
	c.mu.Lock()
	c.running = s
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.running = nil
		c.mu.Unlock()
		c.wire.Close()
	}()
	return c.poll(ctx, s)
}

// meet asks the platform who the bot is, which also tells whether the token is good.
func (c *Client) meet(ctx context.Context) error {
	me, err := c.getMe(ctx)
	if err != nil {
		return err
	}
	c.self.Store(&self{id: me.ID, username: me.Username})
	return nil
}

func (c *Client) getMe(ctx context.Context) (wireUser, error) {
	return ask[wireUser](ctx, c, "getMe", func(ctx context.Context, lib *bot.Bot) error {
		_, err := lib.GetMe(ctx)
		return err
	})
}

// me is what is known of the bot itself; before the first Run only its ID is.
func (c *Client) me() self {
	if me := c.self.Load(); me != nil {
		return *me
	}
	if acc, err := c.open(); err == nil {
		return self{id: acc.id}
	}
	return self{}
}

// Probe implements channels.Prober.
func (c *Client) Probe(ctx context.Context) error { return c.meet(ctx) }

// tokenShape is a bot's ID, a colon and a key. What does not look so is not sent: it
// would become part of an address.
//
// Source: https://core.telegram.org/bots/api#authorizing-your-bot.
var tokenShape = regexp.MustCompile(`^[0-9]{1,19}:[A-Za-z0-9_-]+$`)

var errTokenShape = errors.New("it does not look like 123456:ABC…, as @BotFather gives it")

// open reads the credential and makes the library's client where it changed. It does
// no I/O besides reading the credential.
func (c *Client) open() (account, error) {
	secret, err := c.cfg.Token.Read()
	if err != nil {
		return account{}, fmt.Errorf("token: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.account.lib != nil && c.account.secret == secret {
		return c.account, nil
	}
	if !tokenShape.MatchString(secret.Reveal()) {
		return account{}, fmt.Errorf("token: %w: %w", channels.ErrUnauthorized, errTokenShape)
	}
	number, _, _ := strings.Cut(secret.Reveal(), ":")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return account{}, fmt.Errorf("token: %w: the bot's number is too large", channels.ErrUnauthorized)
	}
	lib, err := c.library(secret, 0, c.wire)
	if err != nil {
		return account{}, fmt.Errorf("token: %w", err)
	}
	c.account = account{secret: secret, id: id, lib: lib}
	return c.account, nil
}

// library makes a client of the library; more options may follow ours.
func (c *Client) library(secret secrets.Secret, poll time.Duration, client bot.HttpClient, more ...bot.Option) (*bot.Bot, error) {
	return bot.New(secret.Reveal(), append([]bot.Option{
		bot.WithSkipGetMe(), bot.WithServerURL(c.api), bot.WithHTTPClient(poll, client),
		bot.WithErrorsHandler(func(err error) { c.log.Debug("the library met an error", "error", c.scrub(err.Error())) }),
	}, more...)...)
}

// A call calls the platform through the library. What the library makes of the result
// does not matter.
type call func(ctx context.Context, lib *bot.Bot) error

// with is the call of one of the library's methods.
func with[P, R any](method func(*bot.Bot, context.Context, P) (R, error), params P) call {
	return func(ctx context.Context, lib *bot.Bot) error {
		_, err := method(lib, ctx, params)
		return err
	}
}

// ask makes one call through the library and reads its result. Errors are those of
// package channels.
func ask[T any](ctx context.Context, c *Client, op string, do call) (result T, err error) {
	x, err := c.exchange(ctx, op, 0, callTimeout, do)
	if err != nil {
		return result, err
	}
	if result, err = decode[T](x.reply.Result); err != nil {
		return result, fmt.Errorf("%s: read the answer: %w", op, err)
	}
	return result, nil
}

// exchange makes one call about chat through the library.
func (c *Client) exchange(ctx context.Context, op string, chat int64, timeout time.Duration, do call) (*exchange, error) {
	x := &exchange{chat: chat}
	acc, err := c.open()
	if err != nil {
		return x, fmt.Errorf("%s: %w", op, err)
	}
	ctx, cancel := context.WithTimeout(x.In(ctx), timeout)
	defer cancel()
	err = do(ctx, acc.lib)
	x.read()
	err = c.outcome(op, x, err)
	if to := x.movedTo(); to != 0 && errors.Is(err, channels.ErrMoved) {
		c.tellMoved(ctx, chat, to)
	}
	return x, err
}

// do makes one call about chat whose result does not matter.
func (c *Client) do(ctx context.Context, op string, chat int64, do call) error {
	_, err := c.exchange(ctx, op, chat, callTimeout, do)
	return err
}

func (x *exchange) movedTo() int64 {
	if x.reply == nil {
		return 0
	}
	return x.reply.Parameters.MigrateToChatID
}

// tellMoved hands in that chat has a new ID, which the answer to a call said. The
// update that says it too has the same key.
func (c *Client) tellMoved(ctx context.Context, from, to int64) {
	c.mu.Lock()
	s := c.running
	c.mu.Unlock()
	if s == nil || from == 0 {
		return
	}
	event := c.movedEvent(s.account.id, wireChat{ID: to, Type: "supergroup"}, from, to)
	if _, err := s.sink.Accept(ctx, []channels.Event{event}); err != nil {
		c.log.WarnContext(ctx, "a conversation moved, and that was not taken", "conversation_id", string(event.Former), "error", err)
	}
}

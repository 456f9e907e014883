package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"switchboard/channels"
	"switchboard/channels/wire"
	"switchboard/internal/secrets"
)

const (
	platformURL = "https://discord.com/api/v10"
	// connections are how many are kept open while idle.
	connections = 64
	callTimeout = 30 * time.Second
	// uploadTimeout bounds a call that carries files.
	uploadTimeout = 10 * time.Minute
)

// The methods that are called, as the platform's pages name them.
const (
	opGateway     = "GET /gateway/bot"
	opMe          = "GET /users/@me"
	opApplication = "GET /applications/@me"
	opChannel     = "GET /channels/{channel}"
	opHistory     = "GET /channels/{channel}/messages"
	opMessage     = "GET /channels/{channel}/messages/{message}"
	opSend        = "POST /channels/{channel}/messages"
	opEdit        = "PATCH /channels/{channel}/messages/{message}"
	opDelete      = "DELETE /channels/{channel}/messages/{message}"
	opTyping      = "POST /channels/{channel}/typing"
	opReact       = "PUT /channels/{channel}/messages/{message}/reactions"
	opUnreact     = "DELETE /channels/{channel}/messages/{message}/reactions"
	opThread      = "POST /channels/{channel}/messages/{message}/threads"
	opRespond     = "POST /interactions/{interaction}/callback"
	opCommands    = "GET /applications/{application}/commands"
	opCommand     = "POST /applications/{application}/commands"
	opUncommand   = "DELETE /applications/{application}/commands/{command}"
)

// Client is one bot account.
type Client struct {
	name    string
	cfg     Config
	log     *slog.Logger
	api     string // address of the REST API, without a slash at its end
	wire    *wire.Transport
	pace    pace
	limits  limits
	places  wire.Memory[snowflake, place] // of guilds; what is missing is asked for
	roles   wire.Memory[snowflake, role]
	outside wire.Memory[snowflake, bool]            // threads that are answered in the channel around them
	signs   wire.Memory[channels.MessageID, string] // the bot's reactions
	refused *wire.Rejection
	lost    wire.Memory[string, bool] // the IDs of sessions that cannot be resumed
	starts  starts

	mu      sync.Mutex
	account account  // of the credential as it was last read
	session *session // that may be resumed; nil: none
	self    self     // what the platform says of the bot
	up      bool     // the present connection is good
	shaky   bool     // the last session that was told anything did not hold
	lean    bool     // the platform does not let us have the message content
	odd     map[string]bool
}

var (
	_ channels.Channel    = (*Client)(nil)
	_ channels.Prober     = (*Client)(nil)
	_ channels.Pulse      = (*Client)(nil)
	_ channels.Connector  = (*Client)(nil)
	_ channels.Editor     = (*Client)(nil)
	_ channels.Drafter    = (*Client)(nil)
	_ channels.Deleter    = (*Client)(nil)
	_ channels.Reactor    = (*Client)(nil)
	_ channels.Unbuttoner = (*Client)(nil)
	_ channels.Fetcher    = (*Client)(nil)
	_ channels.Placer     = (*Client)(nil)
	_ channels.Commander  = (*Client)(nil)
	_ channels.Typer      = (*Client)(nil)
	_ channels.Finder     = (*Client)(nil)
	_ channels.Deduper    = (*Client)(nil)
	_ channels.Examiner   = (*Client)(nil)
)

// account is a credential with the library's client for it.
type account struct {
	secret secrets.Secret
	lib    *discordgo.Session
}

// self is what the platform says of the bot.
type self struct {
	id   snowflake
	name string
}

// New makes a channel. It does no I/O.
func New(name string, cfg Config, log *slog.Logger) *Client {
	return &Client{
		name: name, cfg: cfg, log: log.With("channel", name), api: strings.TrimRight(cmp.Or(cfg.APIURL, platformURL), "/"),
		wire: wire.New(connections), refused: wire.NewRejection(), pace: defaultPace, odd: map[string]bool{}, places: wire.Memory[snowflake, place]{Most: mostPlaces},
	}
}

// Name implements channels.Channel.
func (c *Client) Name() string { return c.name }

// Kind implements channels.Channel.
func (c *Client) Kind() string { return Kind.Name }

// me is what is known of the bot.
func (c *Client) me() self {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.self
}

// Probe implements channels.Prober.
func (c *Client) Probe(ctx context.Context) error {
	_, err := c.meet(ctx)
	return err
}

// meet asks the platform who the bot is.
func (c *Client) meet(ctx context.Context) (self, error) {
	u, err := ask[user](ctx, c, route{op: opMe, method: http.MethodGet, path: "/users/@me"}, nil)
	if err != nil {
		return self{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.self = self{u.ID, u.Username}
	return c.self, nil
}

// open reads the credential and makes the library's client where it changed. It does no I/O
// besides reading the credential.
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
	lib, err := discordgo.New("Bot " + secret.Reveal())
	if err != nil {
		return account{}, fmt.Errorf("token: %w", err)
	}
	lib.Client = &http.Client{Transport: c.wire, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	lib.MaxRestRetries, lib.ShouldRetryOnRateLimit, lib.StateEnabled, lib.LogLevel = 0, false, false, -1
	c.account = account{secret: secret, lib: lib}
	return c.account, nil
}

// An exchange is what is known of one call, whatever the library makes of it.
type exchange = wire.Exchange

// call makes one call. body is what is sent as JSON, a form, or nil. Errors are those of package
// channels.
func (c *Client) call(ctx context.Context, r route, body any) (*exchange, error) {
	x := &exchange{}
	acc, err := c.open()
	if err != nil {
		return x, fmt.Errorf("%s: %w", r.op, err)
	}
	if err := c.limits.ask(r, time.Now()); err != nil {
		return x, err
	}
	timeout, contentType := callTimeout, "application/json"
	var payload []byte
	stream := func(*discordgo.RequestConfig) {}
	switch body := body.(type) {
	case nil:
	case form:
		timeout, contentType, payload = uploadTimeout, body.contentType, []byte{}
		stream = func(cfg *discordgo.RequestConfig) {
			cfg.Request.Body, cfg.Request.ContentLength, cfg.Request.GetBody = body.body, -1, nil
		}
	default:
		if payload, err = json.Marshal(body); err != nil {
			return x, &channels.RefusedError{Op: r.op, Reason: err.Error()}
		}
	}
	ctx, cancel := context.WithTimeout(x.In(ctx), timeout)
	defer cancel()
	// The library's limiter sleeps whatever ctx says; an empty one never does. The context goes
	// first: the library makes another request of it, which what follows changes.
	none := discordgo.NewRatelimiter().LockBucket(r.op)
	_, err = acc.lib.RequestWithLockedBucket(r.method, c.api+r.path, contentType, payload, none, 0, discordgo.WithContext(ctx), stream)
	if x.Status != 0 {
		c.limits.learn(r, x, time.Now())
	}
	return x, c.outcome(r, x, err)
}

// ask makes one call and reads its result.
func ask[T any](ctx context.Context, c *Client, r route, body any) (result T, err error) {
	x, err := c.call(ctx, r, body)
	if err != nil {
		return result, err
	}
	if err := json.Unmarshal(x.Body, &result); err != nil {
		return result, fmt.Errorf("%s: read the answer: %w", r.op, err)
	}
	return result, nil
}

// do makes one call whose result does not matter.
func (c *Client) do(ctx context.Context, r route, body any) error {
	_, err := c.call(ctx, r, body)
	return err
}

// about is a route below a channel.
func about(op string, channel snowflake, below ...string) route {
	path := "/channels/" + channel.String()
	for _, part := range below {
		path += "/" + url.PathEscape(part)
	}
	method, _, _ := strings.Cut(op, " ")
	return route{op: op, method: method, path: path, major: channel.String()}
}

// here is the channel of a conversation, for op.
func here(op string, conv channels.Conversation) (snowflake, error) {
	id, err := parseConversation(conv.ID)
	if err != nil {
		return 0, &channels.RefusedError{Op: op, Reason: err.Error()}
	}
	return id, nil
}

// target is a message that a call names, and the channel that it stands in: what began a thread
// stands in the channel around it, under the thread's own number.
//
// Source: https://docs.discord.com/developers/resources/channel#start-thread-from-message.
func target(op string, conv channels.Conversation, id channels.MessageID) (channel, message snowflake, err error) {
	if channel, err = here(op, conv); err != nil {
		return 0, 0, err
	}
	if message, err = parseMessage(id); err != nil {
		return 0, 0, &channels.RefusedError{Op: op, Reason: err.Error()}
	}
	if up := around(conv); message == channel && up != 0 {
		channel = up
	}
	return channel, message, nil
}

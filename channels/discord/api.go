package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"switchboard/channels"
	"switchboard/channels/wire"
	"switchboard/internal/secrets"
)

const platformURL = "https://discord.com/api/v10"

// api is the REST API as the bot calls it.
type api struct {
	*wire.Bot[*discordgo.Session]
	pace   pace
	limits limits
	self   atomic.Pointer[self]
}

// self is what the platform says of the bot.
type self struct {
	id   snowflake
	name string
}

func newAPI(name, address string, log *slog.Logger, token *channels.Credential) *api {
	a := &api{Bot: wire.NewBot[*discordgo.Session](kind, name, cmp.Or(address, platformURL), log, tokens, token), pace: defaultPace}
	a.Library = func(given []secrets.Secret) (*discordgo.Session, error) {
		lib, err := discordgo.New("Bot " + given[0].Reveal())
		if err != nil {
			return nil, err
		}
		lib.Client = &http.Client{Transport: a.Wire, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		lib.MaxRestRetries, lib.ShouldRetryOnRateLimit, lib.StateEnabled, lib.LogLevel = 0, false, false, -1
		return lib, nil
	}
	return a
}

// me is what is known of the bot.
func (a *api) me() self {
	if me := a.self.Load(); me != nil {
		return *me
	}
	return self{}
}

// meet asks the platform who the bot is.
func (a *api) meet(ctx context.Context) (self, error) {
	u, err := ask[user](ctx, a, route{op: opMe, method: http.MethodGet, path: "/users/@me"}, nil)
	if err != nil {
		return self{}, err
	}
	a.self.Store(&self{u.ID, u.Username})
	return self{u.ID, u.Username}, nil
}

// myID is the bot's own ID, asked for where nothing is known yet.
func (a *api) myID(ctx context.Context) (snowflake, error) {
	if me := a.me(); me.id != 0 {
		return me.id, nil
	}
	me, err := a.meet(ctx)
	return me.id, err
}

// call makes one call. body is what is sent as JSON, a form, or nil. Errors are those of package
// channels.
func (a *api) call(ctx context.Context, r route, body any) (*wire.Exchange, error) {
	x, timeout, contentType := &wire.Exchange{}, wire.CallTimeout, "application/json"
	var payload []byte
	stream := func(*discordgo.RequestConfig) {}
	switch body := body.(type) {
	case nil:
	case form:
		timeout, contentType, payload = wire.UploadTimeout, body.contentType, []byte{}
		stream = func(cfg *discordgo.RequestConfig) {
			cfg.Request.Body, cfg.Request.ContentLength, cfg.Request.GetBody = body.body, -1, nil
		}
	default:
		var err error
		if payload, err = json.Marshal(body); err != nil {
			return x, wire.Refuse(r.op, err)
		}
	}
	err := a.Call(ctx, r.op, timeout, x, func() error { return a.limits.ask(r, time.Now()) }, func(ctx context.Context, lib *discordgo.Session) error {
		// The library's limiter sleeps whatever ctx says; an empty one never does. The context goes
		// first: the library makes another request of it, which what follows changes.
		none := discordgo.NewRatelimiter().LockBucket(r.op)
		return wire.Err(lib.RequestWithLockedBucket(r.method, a.API+r.path, contentType, payload, none, 0, discordgo.WithContext(ctx), stream))
	})
	if err != nil {
		return x, err
	}
	if x.Status != 0 {
		a.limits.learn(r, x, time.Now())
	}
	return x, a.outcome(r, x)
}

// ask makes one call and reads its result.
func ask[T any](ctx context.Context, a *api, r route, body any) (result T, err error) {
	x, err := a.call(ctx, r, body)
	if err != nil {
		return result, err
	}
	return wire.Answer[T](r.op, x.Body)
}

// do makes one call whose result does not matter.
func (a *api) do(ctx context.Context, r route, body any) error {
	_, err := a.call(ctx, r, body)
	return err
}

// Source: https://docs.discord.com/developers/resources/application#application-object.
type application struct {
	ID    snowflake `json:"id"`
	Name  string    `json:"name"`
	Flags int       `json:"flags"`
}

// application is what the bot belongs to.
func (a *api) application(ctx context.Context) (application, error) {
	return ask[application](ctx, a, route{op: opApplication, method: http.MethodGet, path: "/applications/@me"}, nil)
}

// gateway is what the platform says of beginning sessions.
//
// Source: https://docs.discord.com/developers/events/gateway#get-gateway-bot.
type gateway struct {
	URL    string `json:"url"`
	Shards int    `json:"shards"`
	Starts struct {
		Total      int   `json:"total"`
		Remaining  int   `json:"remaining"`
		ResetAfter int64 `json:"reset_after"` // in ms
	} `json:"session_start_limit"`
}

func (a *api) gateway(ctx context.Context) (gateway, error) {
	return ask[gateway](ctx, a, route{op: opGateway, method: http.MethodGet, path: "/gateway/bot"}, nil)
}

// history reads a page of messages after one, the oldest first: by their numbers, for the platform
// has no order within a millisecond.
//
// Source: https://github.com/discord/discord-api-docs/issues/2816,
// Source: https://docs.discord.com/developers/resources/message#get-channel-messages.
func (a *api) history(ctx context.Context, channel, after snowflake) ([]json.RawMessage, error) {
	r := about(opHistory, channel, "messages")
	r.path += fmt.Sprintf("?after=%s&limit=%d", after, pageSize)
	list, err := ask[[]json.RawMessage](ctx, a, r, nil)
	slices.SortStableFunc(list, func(a, b json.RawMessage) int { return cmp.Compare(numberOf(a), numberOf(b)) })
	return list, err
}

// numberOf is the number of a message; 0: it has none.
func numberOf(raw json.RawMessage) snowflake {
	var m head
	_ = json.Unmarshal(raw, &m)
	return m.ID
}

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

// A route is one of the platform's methods about one channel, guild or webhook.
type route struct {
	op     string // "POST /channels/{channel}/messages"
	method string
	path   string // below the address of the API
	major  string // what it is about
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
	return id, wire.Refuse(op, err)
}

// target is a message that a call names, and the channel that it stands in: what began a thread
// stands in the channel around it, under the thread's own number.
//
// Source: https://docs.discord.com/developers/resources/channel#start-thread-from-message.
func target(op string, conv channels.Conversation, id channels.MessageID) (channel, message snowflake, err error) {
	if channel, err = here(op, conv); err != nil {
		return 0, 0, err
	}
	message, err = parseMessage(id)
	if up := around(conv); message == channel && up != 0 {
		channel = up
	}
	return channel, message, wire.Refuse(op, err)
}

// around is the channel around a thread; 0: the conversation is none.
func around(conv channels.Conversation) snowflake {
	if conv.Kind != channels.Thread || conv.Place == string(conv.ID) {
		return 0
	}
	up, err := parseConversation(channels.ConversationID(conv.Place))
	if err != nil {
		return 0
	}
	return up
}

package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-telegram/bot"

	"switchboard/channels"
	"switchboard/channels/wire"
	"switchboard/internal/secrets"
)

const platformURL = "https://api.telegram.org"

// tokens is what a bot's token looks like: its ID, a colon and a key. Another one would become
// part of an address.
//
// Source: https://core.telegram.org/bots/api#authorizing-your-bot.
var tokens = wire.Tokens{{
	Setting: "token", Shape: regexp.MustCompile(`^[0-9]{1,19}:[A-Za-z0-9_-]+$`), Wrong: "it does not look like 123456:ABC…, as @BotFather gives it",
}}

// api is the Bot API as the bot calls it.
type api struct {
	*wire.Bot[*bot.Bot] // its Wire carries every call but polls
	self                atomic.Pointer[self]
	crowded             crowd
	moved               func(ctx context.Context, from, to int64) // what the answer to a call said of a chat
}

// self is what the platform says of the bot.
type self struct {
	id       int64
	username string // without @; commands and mentions name the bot by it
}

func newAPI(name, address string, log *slog.Logger, token *channels.Credential) *api {
	a := &api{Bot: wire.NewBot[*bot.Bot](kind, name, cmp.Or(address, platformURL), log, tokens, token)}
	a.Library = func(given []secrets.Secret) (*bot.Bot, error) {
		lib, err := bot.New(given[0].Reveal(), bot.WithSkipGetMe(), bot.WithServerURL(a.API), bot.WithHTTPClient(0, a.Wire),
			bot.WithErrorsHandler(func(err error) { a.Log.Debug("the library met an error", "error", a.scrub(err.Error())) }))
		if err == nil && lib.ID() == 0 {
			err = fmt.Errorf("%w: the bot's number is too large", channels.ErrUnauthorized)
		}
		return lib, err
	}
	return a
}

// meet asks the platform who the bot is, which also tells whether the token is good.
func (a *api) meet(ctx context.Context) (wireUser, error) {
	me, err := ask[wireUser](ctx, a, "getMe", func(ctx context.Context, lib *bot.Bot) error { return wire.Err(lib.GetMe(ctx)) })
	if err == nil {
		a.self.Store(&self{id: me.ID, username: me.Username})
	}
	return me, err
}

// me is what is known of the bot itself; before the first Run only its ID is.
func (a *api) me() self {
	if me := a.self.Load(); me != nil {
		return *me
	}
	if login, err := a.Login(); err == nil {
		return self{id: login.Lib.ID()}
	}
	return self{}
}

// A call calls the platform through the library.
type call = func(ctx context.Context, lib *bot.Bot) error

// exchange makes one call about chat. Errors are those of package channels.
func (a *api) exchange(ctx context.Context, op string, chat int64, timeout time.Duration, do call) (*exchange, error) {
	x := &exchange{chat: chat}
	if err := a.Call(ctx, op, timeout, &x.Exchange, nil, do); err != nil {
		return x, err
	}
	x.read()
	err := a.outcome(op, x)
	if errors.Is(err, channels.ErrMoved) && chat != 0 {
		a.moved(ctx, chat, x.reply.Parameters.MigrateToChatID)
	}
	return x, err
}

// do makes one call about chat whose result does not matter.
func (a *api) do(ctx context.Context, op string, chat int64, do call) error {
	_, err := a.exchange(ctx, op, chat, wire.CallTimeout, do)
	return err
}

// ask makes one call and reads its result.
func ask[T any](ctx context.Context, a *api, op string, do call) (result T, err error) {
	x, err := a.exchange(ctx, op, 0, wire.CallTimeout, do)
	if err != nil {
		return result, err
	}
	return wire.Answer[T](op, x.reply.Result)
}

// A reply is the platform's answer to any call.
//
// Source: https://core.telegram.org/bots/api#making-requests.
type reply struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	ErrorCode   int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter      json.RawMessage `json:"retry_after"`
		MigrateToChatID int64           `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// An exchange is what is known of one call.
type exchange struct {
	wire.Exchange
	reply *reply // nil: no answer, or not a complete one of the platform
	chat  int64  // whom it is about; 0: nobody
}

// read looks for the platform's reply in what was answered.
func (x *exchange) read() {
	var r reply
	if x.Status != 0 && json.Unmarshal(x.Body, &r) == nil && (r.OK || r.ErrorCode != 0) {
		x.reply = &r
	}
}

// scrub takes the token out of a text, as it is and as it stands in addresses.
func (a *api) scrub(text string) string {
	for _, s := range a.Known() {
		token := s.Reveal()
		text = strings.ReplaceAll(text, token, "[redacted]")
		text = strings.ReplaceAll(text, strings.ReplaceAll(token, ":", "%3A"), "[redacted]")
		if _, key, ok := strings.Cut(token, ":"); ok && len(key) > 8 {
			text = strings.ReplaceAll(text, key, "[redacted]")
		}
	}
	return text
}

package telegram

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
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

// goneWords are what the platform says, besides 403, of a chat that is closed to the
// bot for good. Its documentation lists no descriptions; these are its server's.
//
// Source: https://github.com/tdlib/telegram-bot-api, Client.cpp.
var goneWords = []string{
	"chat not found", "peer_id_invalid", "group chat was deactivated", "group chat was deleted",
	"user is deactivated", "message thread not found", "topic_deleted", "bot was kicked", "bot is not a member",
}

// missingWords are what it says of a message that cannot be edited any more.
var missingWords = []string{"message to edit not found", "message can't be edited", "message_id_invalid"}

// refusal is a complete error reply as the program knows it.
func (a *api) refusal(op string, x *exchange) error {
	r := x.reply
	words := a.scrub(r.Description)
	low := strings.ToLower(words)
	says := func(list []string) bool {
		return slices.ContainsFunc(list, func(w string) bool { return strings.Contains(low, w) })
	}
	switch {
	case r.ErrorCode == http.StatusTooManyRequests:
		after, _ := wire.Seconds(string(bytes.Trim(r.Parameters.RetryAfter, `"`)))
		return &channels.RateLimitError{
			Op: op, RetryAfter: after, Channel: a.crowded.add(x.chat, after, time.Now()), Err: errors.New(words),
		}
	case r.ErrorCode == http.StatusUnauthorized,
		r.ErrorCode == http.StatusNotFound && low == "not found": // a token that never was one
		return wire.Refused(op, channels.ErrUnauthorized, words)
	case r.ErrorCode == http.StatusConflict:
		return wire.Refused(op, channels.ErrElsewhere, words)
	case r.Parameters.MigrateToChatID != 0:
		return wire.Refused(op, channels.ErrMoved, words)
	case r.ErrorCode == http.StatusForbidden || r.ErrorCode == http.StatusBadRequest && says(goneWords):
		return wire.Refused(op, channels.ErrGone, words)
	case r.ErrorCode == http.StatusBadRequest && says(missingWords):
		return wire.Refused(op, channels.ErrNoMessage, words)
	}
	return &channels.RefusedError{Op: op, Reason: words, Temporary: r.ErrorCode >= http.StatusInternalServerError}
}

// said reports whether err is a refusal in such words.
func said(err error, words string) bool {
	refused, ok := errors.AsType[*channels.RefusedError](err)
	return ok && strings.Contains(strings.ToLower(refused.Reason), words)
}

// outcome is what became of a call.
func (a *api) outcome(op string, x *exchange) error {
	switch {
	case x.reply != nil && x.reply.OK:
		return nil // whatever the library makes of the result: it is done
	case x.reply != nil:
		return a.refusal(op, x)
	}
	return x.Unanswered(op, a.API, a.scrub)
}

// crowdFrom is in how many chats at once sends must be limited for the whole bot to
// count as limited. The platform does not say which limit was met; two busy groups
// are no reason to let everybody wait.
const crowdFrom = 3

// A crowd knows which chats are limited now.
type crowd struct {
	mu    sync.Mutex
	until map[int64]time.Time
}

// add notes that a call about chat was limited, and says whether the whole bot is.
func (l *crowd) add(chat int64, after time.Duration, now time.Time) bool {
	if chat == 0 {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.until == nil {
		l.until = map[int64]time.Time{}
	}
	maps.DeleteFunc(l.until, func(_ int64, until time.Time) bool { return !until.After(now) })
	l.until[chat] = now.Add(max(after, time.Second))
	return len(l.until) >= crowdFrom
}

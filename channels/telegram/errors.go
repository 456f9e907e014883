package telegram

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/channels/wire"
)

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

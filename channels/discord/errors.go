package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/bwmarrin/discordgo"

	"switchboard/channels"
)

// The codes of error answers that mean something to us.
//
// Source: https://docs.discord.com/developers/topics/opcodes-and-status-codes#json.
var (
	goneCodes = []int{
		discordgo.ErrCodeUnknownChannel, discordgo.ErrCodeMissingAccess, discordgo.ErrCodeCannotSendMessagesToThisUser, codeNoSharedGuild,
	}
	missingCodes = []int{discordgo.ErrCodeUnknownMessage}
)

const (
	// codeNoSharedGuild: a direct chat with somebody who is in no guild of the bot.
	codeNoSharedGuild = 50278
	// codeThreadExists: the message has a thread already.
	codeThreadExists = 160004
)

// An answer is an error reply of the platform.
type answer struct {
	Message string          `json:"message"`
	Code    int             `json:"code"`
	Errors  json.RawMessage `json:"errors"`
}

// outcome is what became of a call, of which the library says err.
func (c *Client) outcome(r route, x *exchange, err error) error {
	switch {
	case x.status >= 200 && x.status < 300:
		return nil // whatever the library makes of it: it is done
	case x.status != 0:
		return c.refusal(r, x)
	}
	err = cmp.Or(x.err, err)
	if !x.left.Load() {
		return &wrapped{fmt.Sprintf("cannot reach %s: %s", c.api, plainly(err)), []error{channels.ErrNotConnected, err}}
	}
	return &wrapped{fmt.Sprintf("%s: no complete answer from %s: %s", r.op, c.api, plainly(err)), []error{err}}
}

// refusal is an error answer as the program knows it. One that is not the platform's own but of
// what stands before it says nothing of what became of the call.
func (c *Client) refusal(r route, x *exchange) error {
	if x.status == http.StatusTooManyRequests {
		return c.limits.limited(r, x, time.Now())
	}
	var a answer
	if json.Unmarshal(x.body, &a) != nil || a.Message == "" {
		if x.status >= http.StatusInternalServerError {
			return fmt.Errorf("%s: what stands before the platform answers %d", r.op, x.status)
		}
		a.Message = http.StatusText(x.status)
	}
	words := a.Message
	if len(a.Errors) > 0 {
		words += " " + clip(string(a.Errors), 500)
	}
	switch {
	case x.status == http.StatusUnauthorized:
		return fmt.Errorf("%s: %w: %s", r.op, channels.ErrUnauthorized, words)
	case slices.Contains(goneCodes, a.Code):
		return &coded{a.Code, fmt.Errorf("%s: %w: %s", r.op, channels.ErrGone, words)}
	case slices.Contains(missingCodes, a.Code):
		return &coded{a.Code, fmt.Errorf("%s: %w: %s", r.op, channels.ErrNoMessage, words)}
	}
	refused := &channels.RefusedError{Op: r.op, Reason: words, Temporary: x.status >= http.StatusInternalServerError}
	return &coded{a.Code, refused}
}

// A coded error knows the platform's code.
type coded struct {
	code int
	error
}

func (e *coded) Unwrap() error { return e.error }

// hasCode says whether err is an error answer with that code.
func hasCode(err error, code int) bool {
	e, ok := errors.AsType[*coded](err)
	return ok && e.code == code
}

// A wrapped error has a text of its own, and can be asked for the errors behind it.
type wrapped struct {
	text string
	errs []error
}

func (e *wrapped) Error() string   { return e.text }
func (e *wrapped) Unwrap() []error { return e.errs }

// plainly says for people why a call came to nothing.
func plainly(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return "the name " + dns.Name + " cannot be looked up"
	}
	if code, ok := errors.AsType[syscall.Errno](err); ok {
		return code.Error()
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return "it does not answer in time"
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the connection was closed"
	}
	return strings.TrimSpace(fmt.Sprint(err))
}

// ended says that err is ctx's own end and not the platform's doing.
func ended(ctx context.Context, err error) bool { return ctx.Err() != nil && err != nil }

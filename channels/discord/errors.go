package discord

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"

	"switchboard/channels"
	"switchboard/channels/render"
)

// The codes of error answers that mean something to us.
//
// Source: https://docs.discord.com/developers/topics/opcodes-and-status-codes#json.
var goneCodes = []int{
	discordgo.ErrCodeUnknownChannel, discordgo.ErrCodeMissingAccess, discordgo.ErrCodeCannotSendMessagesToThisUser, codeNoSharedGuild,
}

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
	case x.Status >= 200 && x.Status < 300:
		return nil // whatever the library makes of it: it is done
	case x.Status != 0:
		return c.refusal(r, x)
	}
	return x.Unanswered(r.op, c.api, err, nil)
}

// refusal is an error answer as the program knows it. One that is not the platform's own but of
// what stands before it says nothing of what became of the call.
func (c *Client) refusal(r route, x *exchange) error {
	if x.Status == http.StatusTooManyRequests {
		return c.limits.limited(r, x, time.Now())
	}
	var a answer
	if json.Unmarshal(x.Body, &a) != nil || a.Message == "" {
		if x.Status >= http.StatusInternalServerError {
			return fmt.Errorf("%s: a server before the platform answers %d", r.op, x.Status)
		}
		a.Message = http.StatusText(x.Status)
	}
	words := a.Message
	if len(a.Errors) > 0 {
		words += " " + render.Clip(string(a.Errors), 500)
	}
	switch {
	case x.Status == http.StatusUnauthorized:
		return fmt.Errorf("%s: %w: %s", r.op, channels.ErrUnauthorized, words)
	case slices.Contains(goneCodes, a.Code):
		return &coded{a.Code, fmt.Errorf("%s: %w: %s", r.op, channels.ErrGone, words)}
	case a.Code == discordgo.ErrCodeUnknownMessage:
		return &coded{a.Code, fmt.Errorf("%s: %w: %s", r.op, channels.ErrNoMessage, words)}
	}
	refused := &channels.RefusedError{Op: r.op, Reason: words, Temporary: x.Status >= http.StatusInternalServerError}
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

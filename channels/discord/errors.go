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
	"switchboard/channels/wire"
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

// outcome is what became of a call.
func (a *api) outcome(r route, x *wire.Exchange) error {
	switch {
	case x.Status >= 200 && x.Status < 300:
		return nil // whatever the library makes of it: it is done
	case x.Status != 0:
		return a.refusal(r, x)
	}
	return x.Unanswered(r.op, a.API, nil)
}

// refusal is an error answer as the program knows it. One that is not the platform's own but of
// what stands before it says nothing of what became of the call.
func (a *api) refusal(r route, x *wire.Exchange) error {
	if x.Status == http.StatusTooManyRequests {
		return a.limits.limited(r, x, time.Now())
	}
	var said answer
	if json.Unmarshal(x.Body, &said) != nil || said.Message == "" {
		if x.Status >= http.StatusInternalServerError {
			return fmt.Errorf("%s: a server before the platform answers %d", r.op, x.Status)
		}
		said.Message = http.StatusText(x.Status)
	}
	words := said.Message
	if len(said.Errors) > 0 {
		words += " " + render.Clip(string(said.Errors), 500)
	}
	switch {
	case x.Status == http.StatusUnauthorized:
		return wire.Refused(r.op, channels.ErrUnauthorized, words)
	case slices.Contains(goneCodes, said.Code):
		return &coded{said.Code, wire.Refused(r.op, channels.ErrGone, words)}
	case said.Code == discordgo.ErrCodeUnknownMessage:
		return &coded{said.Code, wire.Refused(r.op, channels.ErrNoMessage, words)}
	}
	refused := &channels.RefusedError{Op: r.op, Reason: words, Temporary: x.Status >= http.StatusInternalServerError}
	return &coded{said.Code, refused}
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

package discord

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/channels/wire"
)

const (
	// invalidWithin and invalidMost keep far from the limit of 10,000 invalid requests in ten
	// minutes, beyond which the platform refuses everything from this address.
	//
	// Source: https://docs.discord.com/developers/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans.
	invalidWithin = 10 * time.Minute
	invalidMost   = 2000
	// banned is how long to be quiet when the platform's guard answers instead of the platform,
	// in seconds.
	banned = "60"
	// mostBuckets bounds what is remembered.
	mostBuckets = 4096
)

// limits are what the headers of answers said of the limits. They are asked before each call.
//
// Source: https://docs.discord.com/developers/topics/rate-limits#header-format.
type limits struct {
	mu      sync.Mutex
	names   map[string]string  // route → the platform's name of its bucket
	buckets map[string]*bucket // by that name and the channel, or the route alone while it has none
	until   time.Time          // of the global limit
	invalid []time.Time        // invalid requests, the oldest first
}

type bucket struct {
	left  int
	reset time.Time
}

// bucketOf is the name of the bucket that r counts in.
func (l *limits) bucketOf(r route) string { return cmp.Or(l.names[r.op], r.op) + " " + r.major }

// ask says how long a call of r must wait; nil: it may be made now, and is counted.
func (l *limits) ask(r route, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.until) && r.op != opSend { // of sends the router was told, and waits
		return &channels.RateLimitError{Op: r.op, RetryAfter: l.until.Sub(now), Channel: true, Err: errors.New("the global limit")}
	}
	for len(l.invalid) > 0 && now.Sub(l.invalid[0]) > invalidWithin {
		l.invalid = l.invalid[1:]
	}
	if len(l.invalid) >= invalidMost {
		return &channels.RateLimitError{
			Op: r.op, RetryAfter: l.invalid[0].Add(invalidWithin).Sub(now), Channel: true,
			Err: errors.New("too many calls were refused lately; more would have this address shut out"),
		}
	}
	b := l.buckets[l.bucketOf(r)]
	if b == nil || !now.Before(b.reset) {
		return nil
	}
	if b.left <= 0 {
		return &channels.RateLimitError{Op: r.op, RetryAfter: b.reset.Sub(now), Err: errors.New("the bucket of this channel is empty")}
	}
	b.left--
	return nil
}

// learn notes what an answer says.
func (l *limits) learn(r route, x *wire.Exchange, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x.Status == http.StatusUnauthorized || x.Status == http.StatusForbidden ||
		x.Status == http.StatusTooManyRequests && x.Header.Get("X-RateLimit-Scope") != "shared" {
		l.invalid = append(l.invalid, now)
	}
	left, err := strconv.Atoi(x.Header.Get("X-RateLimit-Remaining"))
	after, ok := wire.Seconds(x.Header.Get("X-RateLimit-Reset-After"))
	if err != nil || !ok {
		return
	}
	if l.names == nil || len(l.buckets) >= mostBuckets {
		l.names, l.buckets = map[string]string{}, map[string]*bucket{}
	}
	if name := x.Header.Get("X-RateLimit-Bucket"); name != "" {
		l.names[r.op] = r.method + " " + name
	}
	name := l.bucketOf(r)
	b := l.buckets[name]
	if b == nil {
		b = &bucket{left: left}
		l.buckets[name] = b
	}
	reset := now.Add(after)
	if reset.Sub(b.reset) > time.Second/2 { // a new window
		b.left = left
	}
	b.left, b.reset = min(b.left, left), reset
}

// limited is what a 429 says.
func (l *limits) limited(r route, x *wire.Exchange, now time.Time) error {
	var said struct {
		Message string      `json:"message"`
		After   json.Number `json:"retry_after"`
		Global  bool        `json:"global"`
	}
	if json.Unmarshal(x.Body, &said) != nil { // the guard before the platform
		said.Message, said.Global, said.After = "this address is shut out for a while", true, json.Number(banned)
	}
	wait, _ := wire.Seconds(said.After.String())
	if wait == 0 {
		wait = x.RetryAfter()
	}
	if said.Global {
		l.mu.Lock()
		l.until = now.Add(wait)
		l.mu.Unlock()
	}
	return &channels.RateLimitError{Op: r.op, RetryAfter: wait, Channel: said.Global, Err: errors.New(said.Message)}
}

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

package api

import (
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	"switchboard/channels"
	"switchboard/internal/api"
	"switchboard/router/core"
)

const (
	// headersBy is when a stream begins, whatever there is to say.
	headersBy = 800 * time.Millisecond
	// saidBy is how long a message that became no turn waits for a word.
	saidBy = 30 * time.Second
)

// chatTurn answers a call with what its turn says. With an error nothing was answered yet.
func (a *API) chatTurn(w http.ResponseWriter, r *http.Request, c *chat, s chatSession, person *core.Person) error {
	ctx, answer := r.Context(), newReply(w, c)
	leave, _ := a.chats.Begin(string(c.key), math.MaxInt) // of readers of one answer there may be any number
	call, repeated, err := a.openCall(r, c, s, person)
	if err != nil {
		leave()
		return err
	}
	at := placeOf(s.channel, call.Conversation)
	w.Header().Set("X-Session-Id", a.name(CallerOf(ctx), at.key))
	type taken struct {
		*api.Receipt
		err error
	}
	handed := make(chan taken, 1)
	go func() {
		receipt, err := a.postChat(ctx, c, at, person, call, repeated)
		c.read()
		handed <- taken{receipt, err}
	}()
	var receipt taken
	select {
	case receipt = <-handed:
	case <-time.After(headersBy):
		_ = answer.start() // who has left is noticed below
		receipt = <-handed
	}
	if receipt.err != nil {
		leave()
		return answer.fail(a.failure(ctx, receipt.err))
	}
	if receipt.Rejected != "" {
		leave()
		return answer.fail(api.Failed(http.StatusBadRequest, "", "%s", receipt.Rejected))
	}
	f := &follower{reply: answer, turn: receipt.TurnID, into: func(turn int64) (int64, error) {
		t, err := a.Turns.Turn(ctx, turn, false)
		if err != nil {
			return 0, err
		}
		return t.MergedInto, nil
	}}
	err = a.follow(ctx, at, person, f, receipt.Event)
	last := leave()
	switch {
	case errors.Is(err, errAnswered):
		u := used(0, 0)
		if t, err := a.Turns.Turn(ctx, f.turn, false); err == nil {
			u = used(t.TokensIn, t.TokensOut)
		}
		if err := answer.close(u); err != nil || ctx.Err() != nil {
			return nil //nolint:nilerr // the client left
		}
		noting, cancel := context.WithTimeout(context.WithoutCancel(ctx), api.WriteWait)
		defer cancel()
		if err := a.Chats.ChatHeard(noting, c.key, call.Generation); err != nil {
			a.Log.WarnContext(ctx, "it is not noted that an answer was read", "session", at.key, "error", err)
		}
		return nil
	case ctx.Err() != nil || answer.left: // the client left, and may come back for the answer
		if r.Header.Get("X-Cancel-On-Disconnect") != "" && last && f.turn != 0 {
			a.cancel(ctx, f.turn, person)
		}
		return nil
	case err == nil:
		err = api.Failed(http.StatusServiceUnavailable, "send the same call again: it goes on with the answer", "the engine is about to stop")
	}
	return answer.fail(a.failure(ctx, err))
}

// cancel stops a turn of a person who has left.
func (a *API) cancel(ctx context.Context, turn int64, person *core.Person) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), api.WriteWait)
	defer cancel()
	err := a.stop(ctx, turn, person.Name)
	if _, over := errors.AsType[*core.StateError](err); err != nil && !over {
		a.Log.WarnContext(ctx, "a turn was not stopped as its client left", "turn_id", turn, "error", err)
	}
}

// follow reads a session of that person behind an event until f has its answer: errAnswered. Nil: ctx ended, or the engine stops.
func (a *API) follow(ctx context.Context, at place, person *core.Person, f *follower, after int64) error {
	return at.channel.serve(ctx, func(ctx context.Context, _ channels.Sink) error {
		running := ctx
		if f.turn == 0 {
			limited, cancel := context.WithTimeout(ctx, saidBy)
			defer cancel()
			ctx = limited
		}
		feed := &feed{
			listener: newListener(at.conv, f.pieces), c: at.channel, pager: pager{from: a.Sessions, session: at.key}, out: f, after: after, until: -1,
			good: func(ctx context.Context) error { return a.stillReads(ctx, CallerOf(ctx), person.Name) },
		}
		if err := f.start(); err != nil {
			return err
		}
		if f.Stream != nil {
			defer f.hangUp(ctx)() // what went wrong is still said
		}
		defer at.channel.subscribe(feed.listener)()
		err := feed.run(ctx)
		if err == nil && ctx.Err() != nil && running.Err() == nil { // there is no word
			err = errAnswered
		}
		return err
	})
}

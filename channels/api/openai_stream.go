package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
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

// usage counts tokens.
type usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
}

func used(in, out int64) *usage { return &usage{in, out, in + out} }

// A reply is the answer to a call in the making: sent in pieces, or as one at its end.
type reply struct {
	*stream  // nil: it has not begun, or is sent as one
	w        http.ResponseWriter
	pieces   bool
	model    string
	id       string
	usage    bool            // it ends with what was used
	content  strings.Builder // of what is sent as one
	thoughts strings.Builder
	open     string // what was sent of the message that is being written
	some     bool   // a message was begun
	left     bool   // the client takes no more
}

func newReply(w http.ResponseWriter, c *chat) *reply {
	return &reply{w: w, pieces: c.Stream, model: c.Model, id: "chatcmpl-" + strings.ToLower(rand.Text()), usage: c.StreamOptions.IncludeUsage}
}

// start sends the headers.
func (r *reply) start() error {
	if !r.pieces || r.stream != nil {
		return nil
	}
	r.stream = newStream(r.w)
	return r.chunk(map[string]any{"role": "assistant", "content": ""}, nil)
}

// chunk sends one piece.
func (r *reply) chunk(delta map[string]any, finish any) error {
	if err := r.start(); err != nil || !r.pieces {
		return err
	}
	return r.send(r.frame("chat.completion.chunk", []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}))
}

// frame is what every piece has, and the answer as one.
func (r *reply) frame(object string, choices []any) map[string]any {
	f := map[string]any{"id": r.id, "object": object, "created": time.Now().Unix(), "model": r.model, "choices": choices}
	if r.pieces && r.usage {
		f["usage"] = nil
	}
	return f
}

// send writes an event of a stream.
func (r *reply) send(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return r.data(string(text))
}

func (r *reply) data(text string) error {
	err := r.stream.write(func() error { _, err := io.WriteString(r.w, "data: "+text+"\n\n"); return err })
	r.left = r.left || err != nil
	return err
}

// ping implements outlet.
func (r *reply) ping() error {
	if r.stream == nil {
		return nil
	}
	return r.stream.ping()
}

// write implements outlet: each piece is sent at once.
func (r *reply) write(puts func() error) error { return puts() }

// grow sends what is new of a message that is being written. Nothing can be taken back: of one that begins again the end is waited for.
func (r *reply) grow(text string) error {
	more, ok := strings.CutPrefix(strings.TrimSpace(text), r.open) // the whole has no space around it either
	if !ok || more == "" {
		return nil
	}
	return r.say(more)
}

// say sends a piece of a message.
func (r *reply) say(text string) error {
	if r.open == "" && r.some {
		text = "\n\n" + text
		r.open = strings.TrimPrefix(text, "\n\n")
	} else {
		r.open += text
	}
	r.some = true
	r.content.WriteString(text)
	return r.chunk(map[string]any{"content": text}, nil)
}

// end sends the rest of a message that is whole.
func (r *reply) end(text string) error {
	text = strings.TrimSpace(text)
	more, ok := strings.CutPrefix(text, r.open)
	if !ok {
		r.open, more = "", text
	}
	var err error
	if more != "" {
		err = r.say(more)
	}
	r.open = ""
	return err
}

// think sends a line of what is being done.
func (r *reply) think(line string) error {
	r.thoughts.WriteString(line + "\n")
	return r.chunk(map[string]any{"reasoning_content": line + "\n"}, nil)
}

// close ends the answer.
func (r *reply) close(u *usage) error {
	if !r.pieces {
		message := map[string]any{"role": "assistant", "content": r.content.String()}
		if r.thoughts.Len() > 0 {
			message["reasoning_content"] = r.thoughts.String()
		}
		whole := r.frame("chat.completion", []any{map[string]any{"index": 0, "message": message, "finish_reason": "stop"}})
		whole["usage"] = u
		text, err := json.Marshal(whole)
		if err == nil {
			r.w.Header().Set("Content-Type", "application/json")
			_, err = r.w.Write(text)
		}
		return errors.Join(err, http.NewResponseController(r.w).Flush())
	}
	if err := r.chunk(map[string]any{}, "stop"); err != nil {
		return err
	}
	if r.usage {
		last := r.frame("chat.completion.chunk", []any{})
		last["usage"] = u
		if err := r.send(last); err != nil {
			return err
		}
	}
	return r.data("[DONE]")
}

// fail says what went wrong, if the stream has begun; else it returns it.
func (r *reply) fail(err error) error {
	if r.stream == nil || err == nil {
		return err
	}
	if f, ok := errors.AsType[*api.Failure](err); ok {
		_ = r.send(f) // the client may have left
	}
	return nil
}

// following counts the readers of each answer.
type following struct {
	mu      sync.Mutex
	readers map[string]int
}

// add adds a reader; leave says whether that was the last one.
func (f *following) add(key []byte) (leave func() (last bool)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.readers == nil {
		f.readers = map[string]int{}
	}
	f.readers[string(key)]++
	return func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.readers[string(key)]--; f.readers[string(key)] > 0 {
			return false
		}
		delete(f.readers, string(key))
		return true
	}
}

// chatTurn answers a call with what its turn says. With an error nothing was answered yet.
func (a *API) chatTurn(w http.ResponseWriter, r *http.Request, c *chat, s seat, person *core.Person) error {
	ctx, answer := r.Context(), newReply(w, c)
	leave := a.chats.add(c.key)
	call, repeated, err := a.begin(r, c, s, person)
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
		receipt, err := a.hand(ctx, c, at, person, call, repeated)
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
	f := &follower{reply: answer, turn: receipt.TurnID, into: func(turn int64) (int64, error) { return a.into(ctx, turn) }}
	err = a.follow(ctx, at, f, receipt.Event)
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

// into is the turn that answers what was merged with another.
func (a *API) into(ctx context.Context, turn int64) (int64, error) {
	t, err := a.Turns.Turn(ctx, turn, false)
	if err != nil {
		return 0, err
	}
	return t.MergedInto, nil
}

// follow reads a session behind an event until f has its answer: errAnswered. Nil: ctx ended, or the engine stops.
func (a *API) follow(ctx context.Context, at place, f *follower, after int64) error {
	return at.channel.serve(ctx, func(ctx context.Context, _ channels.Sink) error {
		whole := ctx
		if f.turn == 0 {
			limited, cancel := context.WithTimeout(ctx, saidBy)
			defer cancel()
			ctx = limited
		}
		feed := &feed{listener: newListener(at.conv, f.pieces), c: at.channel, reader: a.Sessions, out: f, session: at.key, after: after, until: -1}
		if err := f.start(); err != nil {
			return err
		}
		if f.stream != nil {
			defer f.hangUp(ctx)() // what went wrong is still said
		}
		defer at.channel.subscribe(feed.listener)()
		err := feed.run(ctx)
		if err == nil && ctx.Err() != nil && whole.Err() == nil { // there is no word
			err = errAnswered
		}
		return err
	})
}

// errAnswered says that there is nothing more to read.
var errAnswered = errors.New("the answer is whole")

// A follower makes an answer of the events of its turn.
type follower struct {
	*reply
	turn    int64 // 0: there is none, and the next word is the answer
	into    func(turn int64) (int64, error)
	growing channels.Growing
	plan    struct {
		Count int
		Goal  string
		Tasks []struct{ Type, Tool, Detail string }
	}
}

// put takes the next event.
func (f *follower) put(e channels.SessionEvent) error {
	if e.Kind == channels.KindDelta {
		f.growing.Add(e)
		if f.growing.Turn != f.turn || f.turn == 0 {
			return nil
		}
		return f.grow(f.growing.Text)
	}
	switch {
	case e.Says() && f.turn == 0:
		return cmp.Or(f.end(e.Message.Text), errAnswered)
	case e.TurnID != f.turn:
		return nil
	case e.Says():
		return f.end(e.Message.Text)
	}
	var d struct {
		State           string
		Position, Count int
	}
	_ = json.Unmarshal(e.Data, &d) // of other kinds there is nothing to read
	switch e.Kind {
	case "plan":
		f.plan.Tasks = nil
		if err := json.Unmarshal(e.Data, &f.plan); err != nil || f.plan.Count < 2 {
			return nil //nolint:nilerr // it is only shown
		}
		return f.think(f.plan.Goal)
	case "task":
		if f.plan.Count > 1 && d.State == "running" && d.Position < len(f.plan.Tasks) {
			return f.think(fmt.Sprintf("%d/%d %s", d.Position+1, f.plan.Count, f.plan.Tasks[d.Position].Detail))
		}
	case "turn":
		return f.turnIs(e, d.State)
	}
	return nil
}

// turnIs takes the state that the turn is in now.
func (f *follower) turnIs(e channels.SessionEvent, state string) error {
	switch {
	case state == "merged":
		into, err := f.into(f.turn)
		f.turn = into
		return err
	case state == "waiting" || e.Ends():
		if !f.some {
			return api.Failed(http.StatusBadGateway, "GET /v1/turns/"+fmt.Sprint(f.turn)+" says why", "the turn ended as %s without a word", state)
		}
		return errAnswered
	}
	return nil
}

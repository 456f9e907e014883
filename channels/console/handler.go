package console

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"switchboard/channels"
	"switchboard/internal/api"
)

const (
	// pollEvery is how often a stream looks for events that nobody woke it for.
	pollEvery = time.Second
	// maxBody bounds a call's body; JSON may write a byte as six.
	maxBody = 6*maxLine + 4096
	// page is how many events are read at once.
	page = 200
)

// Routes serves local clients on mux. Who reaches it is trusted.
func (c *Channel) Routes(mux *http.ServeMux) {
	mux.HandleFunc("POST "+messagesPath, c.message)
	mux.HandleFunc("GET "+eventsPattern, c.events)
}

func (c *Channel) message(w http.ResponseWriter, r *http.Request) {
	var call message
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&call); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			api.Refuse(w, http.StatusRequestEntityTooLarge, "the message is too long")
			return
		}
		api.Refuse(w, http.StatusBadRequest, "the call is not readable: "+err.Error())
		return
	}
	conv, err := conversationID(call.User, call.Session)
	if err != nil {
		api.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	key := cmp.Or(r.Header.Get(api.KeyHeader), rand.Text())
	run, leave, ok := c.wait(w, r)
	if !ok {
		return
	}
	defer leave()
	ctx, cancel := joined(r.Context(), run.ctx)
	defer cancel()
	receipts, err := run.sink.Accept(ctx, []channels.Event{{
		Key: eventKey(c.name, conv, key), Kind: channels.EventMessage,
		Conversation: channels.Conversation{Channel: c.name, ID: conv, Kind: channels.Direct, Place: string(conv)},
		Sender:       channels.Sender{ID: call.User, Label: call.User, Person: call.User},
		Message:      channels.Message{ID: channels.MessageID(key), Text: call.Content},
		At:           time.Now().UTC(),
	}})
	if err != nil || len(receipts) != 1 {
		c.log.ErrorContext(ctx, "message not accepted", "conversation_id", conv, "error", err)
		api.Refuse(w, http.StatusInternalServerError, "the message could not be stored; try again")
		return
	}
	got := receipts[0]
	api.Reply(w, http.StatusAccepted, receipt{
		MessageID: got.MessageID, TurnID: got.TurnID, Event: got.Event,
		Duplicate: got.Duplicate, Rejected: got.Rejected,
	})
}

// wait joins the run, or answers that there is none.
func (c *Channel) wait(w http.ResponseWriter, r *http.Request) (*run, func(), bool) {
	ctx, cancel := context.WithTimeout(r.Context(), api.StartWait)
	defer cancel()
	run, leave, ok := c.enter(ctx)
	if !ok {
		api.Refuse(w, http.StatusServiceUnavailable, "the engine is not ready")
	}
	return run, leave, ok
}

// joined is ctx, ended by other too.
func joined(ctx, other context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(other, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

func (c *Channel) events(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	conv, err := conversationID(query.Get("user"), r.PathValue("id"))
	if err != nil {
		api.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	run, leave, ok := c.wait(w, r)
	if !ok {
		return
	}
	defer leave()
	ctx, cancel := joined(r.Context(), run.ctx)
	defer cancel()
	f := newFollower(query.Get("live") != "")
	defer c.subscribe(conv, f)()
	session := c.name + ":" + string(conv)
	after, err := number(query, "after")
	until, alsoErr := number(query, "until")
	if err = cmp.Or(err, alsoErr); err != nil {
		api.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	if after < 0 {
		if after, err = c.last(ctx, session); err != nil {
			c.log.ErrorContext(ctx, "events not readable", "conversation_id", conv, "error", err)
			api.Refuse(w, http.StatusInternalServerError, "the events could not be read; try again")
			return
		}
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("X-After", strconv.FormatInt(after, 10))
	out := http.NewResponseController(w)
	// A client that reads no more must not hold the engine's end up.
	defer context.AfterFunc(ctx, func() { _ = out.SetWriteDeadline(time.Now()) })()
	sent := &feed{c: c, w: w, out: out, conv: conv, session: session, span: span{after, until}, follower: f}
	if err := sent.run(ctx); err != nil && ctx.Err() == nil {
		c.log.WarnContext(ctx, "event stream ended", "conversation_id", conv, "error", err)
	}
}

// number reads an event's number from a query; -1: it is not there.
func number(query url.Values, name string) (int64, error) {
	text := query.Get(name)
	if text == "" {
		return -1, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s: %.40q is not an event's number", name, text)
	}
	return n, nil
}

// span is the events after one number, up to another; -1: without end.
type span struct{ after, until int64 }

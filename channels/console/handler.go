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
	// pollEvery is how often a stream looks for events of which it was not notified.
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
	key := cmp.Or(r.Header.Get(api.KeyHeader), rand.Text())
	c.serve(w, r, call.User, call.Session, func(ctx context.Context, conv channels.ConversationID, sink channels.Sink) {
		receipts, err := sink.Accept(ctx, []channels.Event{{
			// Neither a person's length nor a slash in it can make two messages one, because the
			// conversation has a fixed shape.
			Key: channels.EventKey(fmt.Sprintf("%s:%s:%s", c.name, conv, key)), Kind: channels.EventMessage,
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
	})
}

// serve answers a call about a person's session by f, whose context the run ends as well, or
// refuses it where there is no run.
func (c *Channel) serve(w http.ResponseWriter, r *http.Request, person, session string, f func(context.Context, channels.ConversationID, channels.Sink)) {
	conv, err := conversationID(person, session)
	if err != nil {
		api.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	starting, cancel := context.WithTimeout(r.Context(), api.StartWait)
	defer cancel()
	run := c.enter(starting)
	if run == nil {
		api.Refuse(w, http.StatusServiceUnavailable, "the engine is not ready")
		return
	}
	defer run.serving.Done()
	ctx, end := context.WithCancel(r.Context())
	defer end()
	defer context.AfterFunc(run.ctx, end)()
	f(ctx, conv, run.sink)
}

func (c *Channel) events(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	c.serve(w, r, query.Get("user"), r.PathValue("id"), func(ctx context.Context, conv channels.ConversationID, _ channels.Sink) {
		f := &feed{
			c: c, w: w, out: http.NewResponseController(w), conv: conv, session: c.name + ":" + string(conv),
			live: query.Get("live") != "", notified: make(chan struct{}, 1), grown: make(chan struct{}, 1),
		}
		defer c.subscribe(f)()
		var err, alsoErr error
		f.after, err = number(query, "after")
		f.until, alsoErr = number(query, "until")
		if err = cmp.Or(err, alsoErr); err != nil {
			api.Refuse(w, http.StatusBadRequest, err.Error())
			return
		}
		if f.after < 0 {
			if f.after, err = c.last(ctx, f.session); err != nil {
				c.log.ErrorContext(ctx, "events not readable", "conversation_id", conv, "error", err)
				api.Refuse(w, http.StatusInternalServerError, "the events could not be read; try again")
				return
			}
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.Header().Set("X-After", strconv.FormatInt(f.after, 10))
		// A client that reads no more must not hold the engine's end up.
		defer context.AfterFunc(ctx, func() { _ = f.out.SetWriteDeadline(time.Now()) })()
		if err := f.run(ctx); err != nil && ctx.Err() == nil {
			c.log.WarnContext(ctx, "event stream ended", "conversation_id", conv, "error", err)
		}
	})
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

package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/internal/api"
	"switchboard/internal/retry"
	"switchboard/router/core"
)

// watchMost is how many sessions may be new to a reader before it is told to look at all of them.
const watchMost = 1000

func (a *API) watchCall() {
	a.handle(Call{
		Scope: Read, Method: http.MethodGet, Path: "/v1/events", ID: "watch", Tag: "sessions",
		Summary: "Says which sessions have something new, as server-sent events: session {session, last_event}, and reset, after which to list them. There are no ids: it begins now.",
	}, description{gives: schemas{eventStream: textSchema}, about: "The stream."}, a.watchAll)
}

// A watch collects the conversations of a channel with something new; its fields are under the channel's lock.
type watch struct {
	news     map[channels.ConversationID]bool
	all      bool // anything may be new
	notified chan struct{}
}

// note adds a conversation; empty: any.
func (w *watch) note(conv channels.ConversationID) {
	if conv == "" || len(w.news) >= watchMost {
		w.all = true
	} else {
		w.news[conv] = true
	}
	retry.Signal(w.notified)
}

// channelOf is the channel whose sessions a caller means.
func (a *API) channelOf(c *Caller) *Channel {
	if c.Local {
		return a.Console
	}
	return a.Channel
}

// watch collects all that is new on the channel, until stop is called.
func (c *Channel) watch() (w *watch, stop func()) {
	w = &watch{news: map[channels.ConversationID]bool{}, notified: make(chan struct{}, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watches[w] = true
	return w, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watches, w)
	}
}

// take is what w has collected since.
func (c *Channel) take(w *watch) (news map[channels.ConversationID]bool, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	news, all = w.news, w.all
	w.news, w.all = map[channels.ConversationID]bool{}, false
	return news, all
}

// watchAll says which sessions have something new.
func (a *API) watchAll(w http.ResponseWriter, r *http.Request) error {
	c := CallerOf(r.Context())
	channel := a.channelOf(c)
	return channel.serve(r.Context(), func(ctx context.Context, _ channels.Sink) error {
		news, stop := channel.watch()
		defer stop()
		out := NewStream(w)
		release := out.hangUp(ctx)
		defer release()
		if out.Text(": watching\n\n") != nil {
			return nil
		}
		ping := time.NewTicker(pingEvery)
		defer ping.Stop()
		for {
			select {
			case <-ctx.Done():
				release()
				out.announceStop()
				return nil
			case <-ping.C:
				if c.good(ctx) != nil || out.Ping() != nil {
					return nil
				}
				continue
			case <-news.notified:
			}
			convs, all := channel.take(news)
			var events []byte
			err := a.eachNews(ctx, channel, c, convs, all, func(event string, data any) error {
				text, err := json.Marshal(data)
				events = fmt.Appendf(events, "event: %s\ndata: %s\n\n", event, text)
				return err
			})
			if err != nil {
				a.Log.WarnContext(ctx, "event stream ended", "token", c.Token, "error", err)
				return nil
			}
			if out.Text(string(events)) != nil {
				return nil
			}
		}
	})
}

// eachNews hands an event for each conversation that the caller may read to say: how far it is.
func (a *API) eachNews(ctx context.Context, channel *Channel, c *Caller, convs map[channels.ConversationID]bool, all bool, say func(event string, data any) error) error {
	if err := c.good(ctx); err != nil {
		return err
	}
	if all {
		if err := say(channels.KindReset, struct{}{}); err != nil {
			return err
		}
	}
	for conv := range convs {
		at := placeOf(channel, conv)
		info, err := a.readable(ctx, c, at)
		if errors.Is(err, core.ErrNotFound) {
			continue
		} else if err != nil {
			return err
		}
		if err := say("session", map[string]any{"session": a.name(c, at.key), "last_event": info.LastEvent}); err != nil {
			return err
		}
	}
	return nil
}

// lines adds a call that answers with lines of JSON for as long as its caller reads them. answer writes some whole ones at a time, or
// none, so that an empty line says now and then that the stream lives.
func (a *API) lines(c Call, answer func(r *http.Request, write func(text []byte) error) error) {
	a.handle(c, description{gives: schemas{"application/x-ndjson": textSchema}, about: "The lines, of which some are empty."}, func(w http.ResponseWriter, r *http.Request) error {
		caller := CallerOf(r.Context())
		return a.channelOf(caller).While(r.Context(), func(ctx context.Context) error {
			out := NewStream(w)
			w.Header().Set("Content-Type", "application/x-ndjson")
			defer out.hangUp(ctx)()
			var wrote time.Time // zero: nothing is answered yet
			err := answer(r.WithContext(ctx), func(text []byte) error {
				if err := caller.good(ctx); err != nil {
					return err
				}
				if len(text) == 0 && time.Since(wrote) < pingEvery {
					return nil
				}
				wrote = time.Now()
				return out.Text(cmp.Or(string(text), "\n"))
			})
			if wrote.IsZero() {
				return err
			}
			if err != nil && ctx.Err() == nil {
				a.Log.WarnContext(ctx, "a stream ended", "path", c.Path, "token", caller.Token, "error", err)
			}
			return nil
		})
	})
}

// A Stream is an answer of server-sent events. It is an Outlet.
type Stream struct {
	W   io.Writer
	mu  sync.Mutex // of who writes
	out *http.ResponseController
}

// NewStream begins one.
func NewStream(w http.ResponseWriter) *Stream {
	h := w.Header()
	h.Set("Content-Type", eventStream)
	h.Set("X-Accel-Buffering", "no") // nginx would keep events back
	return &Stream{W: w, out: http.NewResponseController(w)}
}

// Write has what writes sent at once. A client that does not read it within api.WriteWait is left. Several goroutines may write.
func (s *Stream) Write(writes func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.out.SetWriteDeadline(time.Now().Add(api.WriteWait)) // not every writer has one
	if err := writes(); err != nil {
		return err
	}
	return s.out.Flush()
}

// Text writes a text.
func (s *Stream) Text(text string) error {
	return s.Write(func() error { _, err := io.WriteString(s.W, text); return err })
}

// Put writes an event of a session.
func (s *Stream) Put(e channels.SessionEvent) error {
	_, err := e.WriteTo(s.W)
	return err
}

// Ping says that the stream lives.
func (s *Stream) Ping() error { return s.Text(": ping\n\n") }

// hangUp has a write that is under way when ctx ends end as well: a client that reads no more must not hold the engine's end up. Once
// release has returned that does not come any more: what is written then goes out.
func (s *Stream) hangUp(ctx context.Context) (release func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		_ = s.out.SetWriteDeadline(time.Now())
	})
	return sync.OnceFunc(func() {
		if !stop() {
			<-done
		}
	})
}

// announceStop says that the engine stops, and that the client is to come again soon.
func (s *Stream) announceStop() {
	_ = s.out.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = io.WriteString(s.W, ": the engine stops\nretry: 1000\n\n")
	_ = s.out.Flush()
}

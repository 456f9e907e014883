package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"switchboard/channels"
	"switchboard/internal/api"
	"switchboard/router/core"
)

func (a *API) eventCalls() {
	a.handle(Call{
		Scope: Read, Method: http.MethodGet, Path: api.EventsPattern, ID: "streamEvents", Tag: "sessions",
		Summary: "What happens in a session as it happens, as server-sent events: message, turn, plan, task, review, approval, delivery, session, with numbers as ids; delta (a text that grows) and reset (events were missed that are kept no more) without.",
	}, description{
		params: []*huma.Param{
			param("path", "id", "The session."),
			param("header", "Last-Event-ID", "Begin behind this event."),
			param("query", "after", "The same. With neither the stream begins now."),
			param("query", "until", "End behind this event, or behind the last there is."),
			param("query", "delta", "0: without texts that grow."),
		},
		gives: schemas{eventStream: textSchema}, about: "The stream.",
	}, a.events)
}

// events streams what happens in a session. What it needs to begin is found in a function of its own: the stack of a stream that
// waits stays small.
func (a *API) events(w http.ResponseWriter, r *http.Request) error {
	f, missed, err := a.feed(r)
	if err != nil {
		return err
	}
	return f.c.serve(r.Context(), func(ctx context.Context, _ channels.Sink) error {
		out := NewStream(w)
		f.out = out
		defer f.c.subscribe(f.listener)()
		w.Header().Set(api.AfterHeader, strconv.FormatInt(f.after, 10))
		release := out.hangUp(ctx)
		defer release()
		if out.begin(f.after, missed) != nil {
			return nil // the client left
		}
		err := f.run(ctx)
		release()
		switch {
		case ctx.Err() != nil:
			out.announceStop()
		case err != nil:
			a.Log.WarnContext(ctx, "event stream ended", "session", f.session, "token", CallerOf(ctx).Token, "error", err)
		}
		return nil
	})
}

// feed is what a call for the events of a session asks for. missed says that some are kept no more; empty: none.
func (a *API) feed(r *http.Request) (f *feed, missed string, err error) {
	c, query := CallerOf(r.Context()), r.URL.Query()
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		query.Set("after", id)
	}
	at, err := a.place(c, r.PathValue("id"), query.Get("user"))
	if err != nil {
		return nil, "", err
	}
	info, err := a.readable(r.Context(), c, at)
	unborn := errors.Is(err, core.ErrNotFound) && info.Session == "" && c.Has(Messages) // who writes listens before that
	if err != nil && !unborn {
		return nil, "", err
	}
	after, wrong := number(query, "after")
	until, alsoWrong := number(query, "until")
	if err := cmp.Or(wrong, alsoWrong); err != nil {
		return nil, "", err
	}
	if at.channel == nil {
		return nil, "", api.Failed(http.StatusNotImplemented, "GET /v1/sessions/{id}?after=N reads it", "this session has no stream")
	}
	person := info.Person
	f = &feed{
		listener: newListener(at.conv, query.Get("delta") != "0"), c: at.channel, pager: pager{from: a.Sessions, session: at.key},
		after: after, until: until, good: func(ctx context.Context) error { return a.stillReads(ctx, c, person) },
	}
	if unborn && !c.Local {
		f.mayRead = func(ctx context.Context) error {
			born, err := a.readable(ctx, c, at)
			person = born.Person
			return err
		}
	}
	if f.after < 0 {
		f.after = info.LastEvent
	} else if f.after < info.FirstEvent-1 || f.after > info.LastEvent {
		from := max(info.FirstEvent-1, 0)
		if f.after > info.LastEvent {
			from = info.LastEvent
		}
		missed, f.after = fmt.Sprintf("there are no events from %d on; these begin behind %d", f.after, from), from
	}
	return f, missed, nil
}

// begin says where the stream begins, so that a client which loses it before the first event knows.
func (s *Stream) begin(after int64, missed string) error {
	return s.Write(func() error {
		if missed != "" {
			data, err := json.Marshal(map[string]string{"reason": missed})
			reset := channels.SessionEvent{Kind: channels.KindReset, Data: data, At: time.Now().UTC()}
			if err == nil {
				_, err = reset.WriteTo(s.W)
			}
			if err != nil {
				return err
			}
		}
		_, err := fmt.Fprintf(s.W, "id: %d\n\n", after)
		return err
	})
}

package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"switchboard/channels"
	"switchboard/internal/api"
	"switchboard/router/core"
	"switchboard/router/sessions"
	"switchboard/router/turns"
)

// An EventReader lists the events of a session (its key) after number n, oldest first, at most limit. An unknown session has none.
type EventReader interface {
	Events(ctx context.Context, session string, n int64, limit int) ([]channels.SessionEvent, error)
}

// A SessionReader reads what is stored of sessions. ErrNotFound: there is no such session, or message.
type SessionReader interface {
	EventReader
	// SessionInfo is what is known of a session.
	SessionInfo(ctx context.Context, session string) (sessions.Info, error)
	// Posted is what became of the newest message in a conversation whose ID begins so, up to a dot.
	Posted(ctx context.Context, conv channels.Conversation, prefix string) (channels.Receipt, error)
	// Current is the turn that somebody in the session means by "now", with its plans.
	Current(ctx context.Context, session string) (*turns.Turn, error)
}

func (a *API) sessionCalls() {
	a.eventCalls()
}

// readable refuses who may not read a session. One that a token may not read is to it as one that is not there.
func (a *API) readable(ctx context.Context, c *Caller, at place) (sessions.Info, error) {
	info, err := a.Sessions.SessionInfo(ctx, at.key)
	if err != nil {
		return info, err
	}
	if !c.Has(Admin) && !c.SpeaksFor(a.People.Named(info.Person)) {
		return info, fmt.Errorf("session: %w", core.ErrNotFound)
	}
	return info, nil
}

// number reads an event's number from a query; -1: it is not there.
func number(query url.Values, name string) (int64, error) {
	text := query.Get(name)
	if text == "" {
		return -1, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, api.Failed(http.StatusBadRequest, "", "%s: %.40q is not an event's number", name, text)
	}
	return n, nil
}

var _ = time.Second

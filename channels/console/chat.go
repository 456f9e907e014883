package console

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"switchboard/channels"
)

// Options are how Chat talks.
type Options struct {
	// BaseURL is the engine's; empty when the client dials its socket whatever the
	// host.
	BaseURL string
	Session string // which of the person's conversations
	Person  string
	// Linger is how long to listen after the input ended and everything is
	// answered. In a pipe only.
	Linger time.Duration
	JSON   bool // one object a line; in a pipe only

	In       io.Reader
	Out, Err io.Writer
	// Terminal: In and Out are a terminal, on which people edit lines.
	Terminal bool
	// HistoryFile keeps the lines written on a terminal, mode 0600; empty: none.
	HistoryFile string
	// NoColor writes no colours on a terminal; so does the variable NO_COLOR.
	NoColor bool
}

// ErrUnanswered is returned by Chat when at least one line of a pipe could not be
// sent or got no answer. The reasons were written to Options.Err.
var ErrUnanswered = errors.New("not everything was answered")

// Chat talks to an engine's console until the input ends: in a pipe one line is
// one message, on a terminal the person leaves. A turn that failed has been
// answered, by the notice that says so. It returns ctx's error when ctx ends.
//
// A read of Options.In that is blocked when Chat returns early stays blocked until
// its input ends.
func Chat(ctx context.Context, engine *http.Client, o Options) error {
	if _, err := conversationID(o.Person, o.Session); err != nil {
		return err
	}
	c := &client{http: engine, base: baseURL(o.BaseURL), session: o.Session, person: o.Person}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, after, err := c.open(ctx, -1)
	if err != nil {
		return err
	}
	events := make(chan channels.SessionEvent)
	lost := make(chan error, 1)
	var following sync.WaitGroup
	following.Go(func() { lost <- c.follow(ctx, stream, after, events) })
	defer following.Wait()
	defer cancel()
	if o.Terminal {
		return newTerminal(c, o).run(ctx, events, lost)
	}
	return newPipe(c, o).run(ctx, events, lost)
}

package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/internal/api"
)

// Options are how Chat talks.
type Options struct {
	Session string // which of the person's conversations
	Person  string
	// Linger is how long to listen after the input ended and everything is
	// answered. In a pipe only.
	Linger time.Duration
	JSON   bool // one object a line; in a pipe only
	// Yolo allows once whatever is asked for. Without it a pipe denies it at once: nobody is
	// there to ask.
	Yolo bool
	// Token: the engine is called with a token, which decides nothing that it started. A pipe cancels what waits for a decision.
	Token bool

	In       io.Reader
	Out, Err io.Writer
	// Notes are shown above the line being written, as they come. On a terminal only.
	Notes <-chan string
	// Terminal: In and Out are a terminal, on which people edit lines.
	Terminal bool
	// HistoryFile keeps the lines written on a terminal, mode 0600; empty: none.
	HistoryFile string
	// SeenFile keeps, mode 0600, how much of each conversation was shown, so that a
	// terminal begins with what was said since; empty: none.
	SeenFile string
	// Commands are the commands that the Tab key completes, each with its slash;
	// empty: none. What Chat itself does is always among them.
	Commands []string
	// NoColor writes no colours on a terminal; so does the variable NO_COLOR.
	NoColor bool
}

// ErrUnanswered is returned by Chat when at least one line of a pipe could not be
// sent or got no answer. The reasons were written to Options.Err.
var ErrUnanswered = errors.New("not everything was answered")

// Chat talks to an engine's console until the input ends: in a pipe one line is
// one message, on a terminal the person leaves. A turn that failed has been
// answered, by the notice that says so. An engine that goes away is waited for: its
// successor is whoever engine connects to; the error is an ErrNoEngine
// when that took too long, and ctx's error when ctx ends.
//
// A read of Options.In that is blocked when Chat returns stays blocked until its
// input ends.
func Chat(ctx context.Context, engine *api.Client, o Options) error {
	if err := cmp.Or(api.CheckSession(o.Session), api.CheckPerson(o.Person)); err != nil {
		return err
	}
	o.Err = &shared{out: o.Err}
	c := newClient(engine, o)
	c.connection.notify(func(text string) { _, _ = fmt.Fprintln(o.Err, text) })
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, last, err := c.open(ctx, -1)
	if err != nil {
		return err
	}
	seen := openSeen(o.SeenFile, o.Person+"/"+o.Session, last)
	// The stream is open, so that nothing is lost in between.
	talk, err := begin(ctx, c, o, seen, last)
	if err != nil {
		return errors.Join(err, stream.Close())
	}
	events := make(chan channels.SessionEvent)
	lost := make(chan error, 1)
	var following sync.WaitGroup
	following.Go(func() { lost <- c.follow(ctx, stream, last, events) })
	defer following.Wait()
	defer cancel()
	return talk(ctx, events, lost)
}

// talker runs a conversation over its events until it ends; lost has the error when
// there are no more.
type talker func(ctx context.Context, events <-chan channels.SessionEvent, lost <-chan error) error

// begin catches up on the events up to number last.
func begin(ctx context.Context, c *client, o Options, seen *seen, last int64) (talker, error) {
	if o.Terminal {
		t := newTerminal(c, o, seen)
		return t.run, t.catchUp(ctx, last)
	}
	p := &pipe{client: c, o: o, progress: newProgress(plain), seen: seen, whole: true}
	if seen.n < last {
		err := c.between(ctx, seen.n, last, func(e channels.SessionEvent) bool {
			p.whole = p.keep(e) || !e.Says()
			return p.whole
		})
		if err != nil {
			return nil, err
		}
	}
	if p.whole {
		seen.advance(last)
	}
	return p.run, nil
}

// shared lets several goroutines write.
type shared struct {
	mu  sync.Mutex
	out io.Writer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(p)
}

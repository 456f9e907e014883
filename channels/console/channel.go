package console

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"switchboard/channels"
	"switchboard/internal/retry"
)

// Kind is the channel's kind.
const Kind = "console"

// A SessionReader lists the events of a session (channel name, colon, conversation
// ID) after number n, oldest first, at most limit. An unknown session has none.
type SessionReader interface {
	Events(ctx context.Context, session string, n int64, limit int) ([]channels.SessionEvent, error)
}

// Channel is the engine's side of the terminal. It may be used by several
// goroutines at once.
type Channel struct {
	name   string
	reader SessionReader
	log    *slog.Logger

	mu      sync.Mutex
	run     *run          // nil while Run is not running
	changed chan struct{} // closed and replaced when run changes

	followers map[channels.ConversationID]map[*follower]bool
	live      map[channels.ConversationID]growing
}

// run is one call of Run.
type run struct {
	ctx     context.Context //nolint:containedctx // the life of one Run, which its handlers share
	sink    channels.Sink
	serving sync.WaitGroup
}

var (
	_ channels.Channel  = (*Channel)(nil)
	_ channels.Reader   = (*Channel)(nil)
	_ channels.Streamer = (*Channel)(nil)
)

// New makes the channel. It does no I/O.
func New(name string, reader SessionReader, log *slog.Logger) *Channel {
	return &Channel{
		name: name, reader: reader, log: log.With("channel", name), changed: make(chan struct{}),
		followers: map[channels.ConversationID]map[*follower]bool{}, live: map[channels.ConversationID]growing{},
	}
}

// Name implements channels.Channel.
func (c *Channel) Name() string { return c.name }

// Kind implements channels.Channel.
func (c *Channel) Kind() string { return Kind }

// Run implements channels.Channel: the handler serves while it runs. It returns
// when ctx ended and no call is under way any more.
func (c *Channel) Run(ctx context.Context, sink channels.Sink) error {
	r := &run{ctx: ctx, sink: sink}
	c.set(r)
	<-ctx.Done()
	c.set(nil)
	r.serving.Wait()
	return nil
}

func (c *Channel) set(r *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run = r
	close(c.changed)
	c.changed = make(chan struct{})
}

// enter joins the run there is, waiting until ctx ends for one. The caller calls
// leave when done.
func (c *Channel) enter(ctx context.Context) (r *run, leave func(), ok bool) {
	for {
		c.mu.Lock()
		r, changed := c.run, c.changed
		if r != nil {
			r.serving.Add(1)
			c.mu.Unlock()
			return r, r.serving.Done, true
		}
		c.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, nil, false
		case <-changed:
		}
	}
}

// Send implements channels.Channel. It always refuses: a console's clients read
// for themselves.
func (c *Channel) Send(context.Context, channels.Outbound) (channels.MessageID, error) {
	return "", &channels.RefusedError{Op: "console.send", Reason: "the console's clients read for themselves"}
}

// Features implements channels.Channel. Choices are numbered lines.
func (c *Channel) Features(channels.Conversation) channels.Features {
	return channels.Features{Markdown: true}
}

// Wake implements channels.Reader.
func (c *Channel) Wake(conv channels.ConversationID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for of, followers := range c.followers {
		if of != conv && conv != "" {
			continue
		}
		for each := range followers {
			retry.Signal(each.wake)
		}
	}
}

// subscribe has f told of what is new in conv, until stop is called.
func (c *Channel) subscribe(conv channels.ConversationID, f *follower) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.followers[conv] == nil {
		c.followers[conv] = map[*follower]bool{}
	}
	c.followers[conv][f] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.followers[conv], f)
		if len(c.followers[conv]) == 0 {
			delete(c.followers, conv)
		}
	}
}

// last is the number of a session's newest event, found by halving: whether there
// is an event after n can be asked for one row each.
func (c *Channel) last(ctx context.Context, session string) (int64, error) {
	beyond := func(n int64) (bool, error) {
		events, err := c.reader.Events(ctx, session, n, 1)
		return len(events) > 0, err
	}
	low, high := int64(-1), int64(0) // there is one after low, and none after high
	for {
		more, err := beyond(high)
		if err != nil {
			return 0, err
		}
		if !more {
			break
		}
		low, high = high, 2*high+64
		if high > 1<<60 {
			return 0, errors.New("event numbers without end")
		}
	}
	for high-low > 1 {
		middle := low + (high-low)/2
		more, err := beyond(middle)
		if err != nil {
			return 0, err
		}
		if more {
			low = middle
		} else {
			high = middle
		}
	}
	return high, nil
}

package console

import (
	"context"
	"log/slog"
	"sort"
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

	feeds map[*feed]bool
	live  map[channels.ConversationID]growing
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
		feeds: map[*feed]bool{}, live: map[channels.ConversationID]growing{},
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

// enter joins the run there is, waiting until ctx ends for one: then it is nil. The caller
// calls serving.Done.
func (c *Channel) enter(ctx context.Context) *run {
	for {
		c.mu.Lock()
		r, changed := c.run, c.changed
		if r != nil {
			r.serving.Add(1)
		}
		c.mu.Unlock()
		if r != nil {
			return r
		}
		select {
		case <-ctx.Done():
			return nil
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
	for f := range c.feeds {
		if conv == "" || f.conv == conv {
			retry.Signal(f.notified)
		}
	}
}

// subscribe has f told of what is new in its conversation, until stop is called.
func (c *Channel) subscribe(f *feed) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.feeds[f] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.feeds, f)
	}
}

// last is the number of a session's newest event, found by halving: whether there
// is an event after n can be asked for one row each.
func (c *Channel) last(ctx context.Context, session string) (n int64, fault error) {
	none := func(n int) bool { // after n; nothing is asked once there was an error
		var events []channels.SessionEvent
		if fault == nil {
			events, fault = c.reader.Events(ctx, session, int64(n), 1)
		}
		return len(events) == 0
	}
	high := 0
	for !none(high) {
		high = 2*high + 64
	}
	return int64(sort.Search(high, none)), fault
}

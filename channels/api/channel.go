package api

import (
	"context"
	"log/slog"
	"sync"

	"switchboard/channels"
	"switchboard/internal/retry"
)

// Kind is the kind of the channel whose sessions programs use.
const Kind = "api"

// A Channel is one whose clients read for themselves: that of programs, and the terminal's. It may
// be used by several goroutines at once.
type Channel struct {
	name, kind string
	log        *slog.Logger

	mu      sync.Mutex
	run     *run          // nil while Run is not running
	changed chan struct{} // closed and replaced when run changes

	feeds map[channels.ConversationID]map[*feed]bool
	live  map[channels.ConversationID]channels.Growing
	// watches are told of every conversation.
	watches map[*watch]bool
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

// NewChannel makes a channel. It does no I/O.
func NewChannel(name, kind string, log *slog.Logger) *Channel {
	return &Channel{
		name: name, kind: kind, log: log.With("channel", name), changed: make(chan struct{}),
		feeds: map[channels.ConversationID]map[*feed]bool{}, live: map[channels.ConversationID]channels.Growing{}, watches: map[*watch]bool{},
	}
}

// Name implements channels.Channel.
func (c *Channel) Name() string { return c.name }

// Kind implements channels.Channel.
func (c *Channel) Kind() string { return c.kind }

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

// Send implements channels.Channel. It always refuses: the clients read for themselves.
func (c *Channel) Send(context.Context, channels.Outbound) (channels.MessageID, error) {
	return "", &channels.RefusedError{Op: c.kind + ".send", Reason: "its clients read for themselves"}
}

// Features implements channels.Channel. Choices are numbered lines. Programs get the bytes of files by their numbers.
func (c *Channel) Features(channels.Conversation) channels.Features {
	return channels.Features{Markdown: true, Files: c.kind == Kind}
}

// Wake implements channels.Reader.
func (c *Channel) Wake(conv channels.ConversationID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.watches {
		w.note(conv)
	}
	if conv != "" {
		wake(c.feeds[conv])
		return
	}
	for _, feeds := range c.feeds {
		wake(feeds)
	}
}

func wake(feeds map[*feed]bool) {
	for f := range feeds {
		retry.Signal(f.notified)
	}
}

// Stream implements channels.Streamer.
func (c *Channel) Stream(conv channels.ConversationID, turn int64, text string) (shown bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case text != "":
		c.live[conv] = channels.Growing{Turn: turn, Text: text}
	case c.live[conv].Turn == turn: // and not what the next one writes already
		delete(c.live, conv)
	}
	for f := range c.feeds[conv] {
		if f.live {
			shown = true
			retry.Signal(f.grown)
		}
	}
	return shown
}

// growing is the text in conv that grows; empty: there is none.
func (c *Channel) growing(conv channels.ConversationID) channels.Growing {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.live[conv]
}

// subscribe has f told of what is new in its conversation, until stop is called.
func (c *Channel) subscribe(f *feed) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	feeds := c.feeds[f.conv]
	if feeds == nil {
		feeds = map[*feed]bool{}
		c.feeds[f.conv] = feeds
	}
	feeds[f] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if delete(feeds, f); len(feeds) == 0 {
			delete(c.feeds, f.conv)
		}
	}
}

package api

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"switchboard/channels"
	"switchboard/internal/api"
	"switchboard/internal/retry"
)

// Kind is the kind of the channel whose sessions programs use.
const Kind = "api"

// A Channel is one whose clients read for themselves: that of programs, and the terminal's. It may
// be used by several goroutines at once.
type Channel struct {
	name, kind string
	features   channels.Features
	log        *slog.Logger

	mu      sync.Mutex
	run     *run          // nil while Run is not running
	changed chan struct{} // closed and replaced when run changes

	listeners map[channels.ConversationID]map[*listener]bool
	live      map[channels.ConversationID]channels.Growing
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

// Features are what programs accept: they get the bytes of files by their numbers, and choices are numbered lines.
var Features = channels.Features{Markdown: true, Files: true}

// NewChannel makes a channel, each conversation of which accepts features. It does no I/O.
func NewChannel(name, kind string, features channels.Features, log *slog.Logger) *Channel {
	return &Channel{
		name: name, kind: kind, features: features, log: log.With("channel", name), changed: make(chan struct{}),
		listeners: map[channels.ConversationID]map[*listener]bool{}, live: map[channels.ConversationID]channels.Growing{}, watches: map[*watch]bool{},
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

// Features implements channels.Channel.
func (c *Channel) Features(channels.Conversation) channels.Features { return c.features }

// Wake implements channels.Reader.
func (c *Channel) Wake(conv channels.ConversationID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.watches {
		w.note(conv)
	}
	if conv != "" {
		wake(c.listeners[conv])
		return
	}
	for _, listeners := range c.listeners {
		wake(listeners)
	}
}

func wake(listeners map[*listener]bool) {
	for l := range listeners {
		retry.Signal(l.notified)
	}
}

// Stream implements channels.Streamer.
func (c *Channel) Stream(conv channels.ConversationID, turn int64, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case text != "":
		c.live[conv] = channels.Growing{Turn: turn, Text: text}
	case c.live[conv].Turn == turn: // and not what the next one writes already
		delete(c.live, conv)
	}
	for l := range c.listeners[conv] {
		if l.live {
			retry.Signal(l.grown)
		}
	}
}

// growing is the text in conv that grows; empty: there is none.
func (c *Channel) growing(conv channels.ConversationID) channels.Growing {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.live[conv]
}

// A listener is notified of what is new in a conversation.
type listener struct {
	conv     channels.ConversationID
	live     bool          // of texts that grow as well
	notified chan struct{} // of anything else
	grown    chan struct{}
}

func newListener(conv channels.ConversationID, live bool) *listener {
	return &listener{conv, live, make(chan struct{}, 1), make(chan struct{}, 1)}
}

// subscribe has l notified until stop is called.
func (c *Channel) subscribe(l *listener) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	listeners := c.listeners[l.conv]
	if listeners == nil {
		listeners = map[*listener]bool{}
		c.listeners[l.conv] = listeners
	}
	listeners[l] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if delete(listeners, l); len(listeners) == 0 {
			delete(c.listeners, l.conv)
		}
	}
}

// join is a context that the channel's run ends as well, and the run, until leave is called; run is nil: there is none.
func (c *Channel) join(ctx context.Context) (_ context.Context, run *run, leave func()) {
	starting, cancel := context.WithTimeout(ctx, api.StartWait)
	defer cancel()
	if run = c.enter(starting); run == nil {
		return ctx, nil, func() {}
	}
	ctx, end := context.WithCancel(ctx)
	stop := context.AfterFunc(run.ctx, end)
	return ctx, run, func() {
		stop()
		end()
		run.serving.Done()
	}
}

// serve has f use the channel's sink, in a context that the channel's run ends as well, or refuses where there is no run.
func (c *Channel) serve(ctx context.Context, f func(context.Context, channels.Sink) error) error {
	ctx, run, leave := c.join(ctx)
	defer leave()
	if run == nil {
		return api.Failed(http.StatusServiceUnavailable, "try again in a moment", "the engine is not ready")
	}
	return f(ctx, run.sink)
}

// While does f in a context that the channel's run ends as well.
func (c *Channel) While(ctx context.Context, f func(context.Context) error) error {
	return c.serve(ctx, func(ctx context.Context, _ channels.Sink) error { return f(ctx) })
}

// Accept hands an event in, as Sink.Accept does.
func (c *Channel) Accept(ctx context.Context, event channels.Event) (got channels.Receipt, err error) {
	err = c.serve(ctx, func(ctx context.Context, sink channels.Sink) error {
		receipts, err := sink.Accept(ctx, []channels.Event{event})
		if err == nil {
			got = receipts[0]
		}
		return err
	})
	return got, err
}

// await calls look, and again whenever something is new in conv, until that has found what it looks for, or ctx or the channel's run
// ends. Nil c: nothing is known to be new.
func (c *Channel) await(ctx context.Context, conv channels.ConversationID, look func() (found bool, err error)) error {
	l := newListener(conv, false)
	if c != nil {
		defer c.subscribe(l)()
		var leave func()
		ctx, _, leave = c.join(ctx)
		defer leave()
	}
	for {
		if found, err := look(); found || err != nil {
			return err
		}
		select {
		case <-l.notified:
		case <-ctx.Done():
			return nil
		}
	}
}

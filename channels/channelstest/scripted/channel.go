package scripted

import (
	"context"
	"log/slog"
	"time"

	"switchboard/channels"
	"switchboard/internal/retry"
)

// Kind is how the program knows the platform.
var Kind = channels.Kind{
	Name: "scripted", Title: "Scripted",
	Config: func() any { cfg := DefaultConfig(); return &cfg },
	New:    func(name string, cfg any, log *slog.Logger) channels.Channel { return New(name, *cfg.(*Config), log) },
	Steps:  []string{"The test that plays the platform says where it listens."},
	Asks:   []channels.Ask{{Key: "addr", Title: "Address of the platform"}},
}

// acceptPause is how long Run waits before it fetches events again that the sink
// did not take.
const acceptPause = 20 * time.Millisecond

// Channel is an account on a scripted platform.
type Channel struct {
	name string
	link Link
	cfg  Config
	log  *slog.Logger
}

var (
	_ channels.Channel = (*Channel)(nil)
	_ channels.Fetcher = (*Channel)(nil)
	_ channels.Prober  = (*Channel)(nil)
	_ channels.Finder  = finding{}
	_ channels.Deduper = deduping{}
)

// New makes a channel that reaches the platform at cfg.Addr. It does no I/O.
func New(name string, cfg Config, log *slog.Logger) channels.Channel {
	return Over(name, NewClient(cfg), cfg, log)
}

// Over makes a channel over link. The abilities that cfg names are on the value
// returned.
func Over(name string, link Link, cfg Config, log *slog.Logger) channels.Channel {
	c := &Channel{name: name, link: link, cfg: cfg, log: log.With("channel", name)}
	r, f, d := rich{c}, finding{c}, deduping{cfg.Window}
	switch {
	case cfg.Rich && cfg.Finder && cfg.Deduper:
		return struct {
			*Channel
			rich
			finding
			deduping
		}{c, r, f, d}
	case cfg.Rich && cfg.Finder:
		return struct {
			*Channel
			rich
			finding
		}{c, r, f}
	case cfg.Rich && cfg.Deduper:
		return struct {
			*Channel
			rich
			deduping
		}{c, r, d}
	case cfg.Rich:
		return struct {
			*Channel
			rich
		}{c, r}
	case cfg.Finder && cfg.Deduper:
		return struct {
			*Channel
			finding
			deduping
		}{c, f, d}
	case cfg.Finder:
		return struct {
			*Channel
			finding
		}{c, f}
	case cfg.Deduper:
		return struct {
			*Channel
			deduping
		}{c, d}
	}
	return c
}

// Name implements channels.Channel.
func (c *Channel) Name() string { return c.name }

// Kind implements channels.Channel.
func (c *Channel) Kind() string { return Kind.Name }

// Run implements channels.Channel. An update is confirmed by the poll after the
// one that brought it, and only if sink took it.
func (c *Channel) Run(ctx context.Context, sink channels.Sink) error {
	var taken []int64
	for {
		updates, err := c.link.Poll(ctx, taken)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		sink.Received()
		batch, ids := c.events(updates)
		if len(batch) == 0 {
			taken = ids
			continue
		}
		receipts, err := sink.Accept(ctx, batch)
		if err != nil {
			taken = nil
			c.log.WarnContext(ctx, "events not accepted, asking for them again", "error", err)
			if !retry.Sleep(ctx, acceptPause) {
				return nil
			}
			continue
		}
		taken = ids
		c.answerPresses(ctx, updates, batch, receipts)
	}
}

func (c *Channel) events(updates []Update) ([]channels.Event, []int64) {
	batch := make([]channels.Event, len(updates))
	ids := make([]int64, len(updates))
	for i, u := range updates {
		batch[i], ids[i] = c.event(u), u.ID
	}
	return batch, ids
}

type finding struct{ of *Channel }

func (f finding) Find(ctx context.Context, out channels.Outbound) (channels.MessageID, bool, error) {
	if f.of.notes(out) {
		out.Nonce = out.Noted
	}
	reply, err := f.of.link.Change(ctx, Change{Op: OpFind, Post: Post{Conversation: out.Conversation.ID, Nonce: out.Nonce}})
	return reply.ID, reply.Found, err
}

type deduping struct{ window time.Duration }

func (d deduping) Window() time.Duration { return d.window }

// Probe implements channels.Prober.
func (c *Channel) Probe(ctx context.Context) error { return c.change(ctx, Change{Op: OpProbe}) }

// change makes a change of which nothing more is to be known than that it was made.
func (c *Channel) change(ctx context.Context, change Change) error {
	_, err := c.link.Change(ctx, change)
	return err
}

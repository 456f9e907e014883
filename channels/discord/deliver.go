package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"switchboard/channels"
	"switchboard/channels/wire"
)

// mostBatch is how many events are handed in at once.
const mostBatch = 100

// An item is an event on its way in.
type item struct {
	channels.Event
	press press
}

// A deliverer hands events in, in the order told. Those of a conversation whose history must be
// read first wait for it.
type deliverer struct {
	*connection
	batch []item
	held  []told // in order; what may not be handed in yet
	wait  map[snowflake]bool
	seq   int64 // of the last frame that was taken
}

// deliver hands in what comes until ctx ends.
func (l *connection) deliver(ctx context.Context) error {
	d := &deliverer{connection: l, wait: map[snowflake]bool{}, seq: l.session.seq.Load()}
	pages := make(chan page)
	var reader backfill
	defer reader.wg.Wait()
	due := time.NewTicker(max(l.c.pace.history/30, time.Millisecond))
	defer due.Stop()
	for {
		if next := l.session.gaps.next(d.wait); next != nil && !reader.busy && l.session.id != "" {
			reader.fetch(ctx, l.c.places, *next, pages)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case t := <-l.queue:
			err := d.take(ctx, t)
			if err == nil {
				err = d.more(ctx)
			}
			if err != nil {
				return err
			}
		case p := <-pages:
			reader.busy = false
			if err := d.turn(ctx, p); err != nil {
				return err
			}
		case <-due.C:
			if !l.session.gaps.release(l.c.pace.history) {
				continue
			}
			if err := d.again(ctx); err != nil {
				return err
			}
		}
		if err := d.handIn(ctx); err != nil {
			return err
		}
	}
}

// more takes what came meanwhile, as much as one batch holds: whether an event fails by its
// own fault shows when others are taken.
func (d *deliverer) more(ctx context.Context) error {
	for len(d.batch) < mostBatch {
		select {
		case t := <-d.queue:
			if err := d.take(ctx, t); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

// take makes events of a frame, or holds it back.
func (d *deliverer) take(ctx context.Context, t told) error {
	d.seq = max(d.seq, t.frame.Seq)
	where, written := channelOf(t.frame)
	if written != 0 {
		if _, known := d.c.known.Get(where); !known {
			d.c.remember(place{ID: where, Type: typeDirect}) // as the gateway tells it
		}
		d.session.gaps.meet(where, written)
	}
	if where == 0 || !d.session.gaps.holds(where) {
		err := d.add(ctx, t)
		if !errors.Is(err, errUnknownPlace) {
			return err
		}
		d.session.gaps.unknown(where, numberOf(t.frame.Data))
		d.session.gaps.holds(where)
	}
	if len(d.held) >= queued {
		return errBehind
	}
	d.held, d.wait[where] = append(d.held, t), true
	return nil
}

// add makes events of a frame.
func (d *deliverer) add(ctx context.Context, t told) error {
	events, err := d.c.events(ctx, d.connection, t)
	if err != nil {
		return err
	}
	for _, e := range events {
		if e.Mark.Value != "" && t.frame.Seq != 0 {
			e.Mark = d.session.gaps.behind(e.Mark)
		}
		if e.Mark.Value != "" {
			e.Mark.Value += d.position(t)
		}
		d.batch = append(d.batch, item{e, t.press})
	}
	if len(events) == 0 {
		t.press.taken(channels.Receipt{Silent: true})
	}
	return nil
}

// position is what a mark says of the session. It has no number while guilds are told still, which
// another process would take for new ones.
func (d *deliverer) position(t told) string {
	s := d.session
	seq := d.before(cmp.Or(t.frame.Seq, s.seq.Load()))
	if len(s.untold) > 0 {
		seq = 0
	}
	at := fmt.Sprintf(" %d %s %s %s", seq, cmp.Or(s.id, "-"), cmp.Or(s.url, "-"), s.gaps.alive)
	if len(s.gaps.list) > 0 {
		at += "+"
	}
	return at
}

// handIn hands the batch in, again and again with what came meanwhile, until it is taken.
func (d *deliverer) handIn(ctx context.Context) error {
	err := wire.HandIn(ctx, d.c.Log, d.c.pace.firstRetry, d.c.pace.mostRetry, func() error {
		if len(d.batch) == 0 {
			return nil
		}
		events := make([]channels.Event, len(d.batch))
		for i, it := range d.batch {
			events[i] = it.Event
		}
		receipts, err := d.sink.Accept(ctx, events)
		if err != nil {
			return err
		}
		for i, it := range d.batch {
			if i < len(receipts) {
				it.press.taken(receipts[i])
			}
		}
		d.batch = d.batch[:0]
		return nil
	}, func() error { return d.more(ctx) })
	if err == nil { // everything taken is safe, but for what is held back
		d.session.seq.Store(max(d.before(d.seq), d.session.seq.Load()))
	}
	return err
}

// before is a number up to seq with nothing held back before it.
func (d *deliverer) before(seq int64) int64 {
	if len(d.held) > 0 && d.held[0].frame.Seq != 0 {
		seq = min(seq, d.held[0].frame.Seq-1)
	}
	return seq
}

// turn takes a page of history; behind the last one, what was held back for it comes.
// Gaps change when the page is taken: a connection that ends before has it read again.
func (d *deliverer) turn(ctx context.Context, p page) error {
	for _, raw := range p.messages {
		if err := d.add(ctx, told{frame: frame{Type: "MESSAGE_CREATE", Data: raw}}); err != nil {
			return err
		}
	}
	if err := d.handIn(ctx); err != nil {
		return err
	}
	if p.err != nil {
		d.c.Log.WarnContext(ctx, "the history of a conversation could not be read; it is tried again", "conversation_id", p.gap.channel.String(), "error", p.err)
		d.session.gaps.later(p.gap.channel)
		delete(d.wait, p.gap.channel) // the others go first
		return nil
	}
	if !d.session.gaps.read(p) {
		return nil
	}
	return d.again(ctx)
}

// again looks again at what was held back.
func (d *deliverer) again(ctx context.Context) error {
	held := d.held
	d.held = nil
	clear(d.wait)
	for i, t := range held {
		if err := d.take(ctx, t); err != nil {
			return fmt.Errorf("event %d of %d held back: %w", i, len(held), err)
		}
	}
	return nil
}

// channelOf is the channel whose order an event belongs to, and the message that it says was
// written in a direct chat; 0: none.
func channelOf(f frame) (channel, written snowflake) {
	switch f.Type {
	case "MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_REACTION_ADD", "MESSAGE_REACTION_REMOVE":
	default:
		return 0, 0 // a button waits for nobody
	}
	var said head
	_ = json.Unmarshal(f.Data, &said)
	if f.Type == "MESSAGE_CREATE" && said.Guild == 0 {
		written = said.ID
	}
	return said.Channel, written
}

package telegram

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"switchboard/channels"
	"switchboard/channels/wire"
	"switchboard/internal/retry"
)

// allowedUpdates is what the platform shall tell.
//
// Source: https://core.telegram.org/bots/api#getupdates "allowed_updates".
const allowedUpdates = `["message","edited_message","callback_query","my_chat_member","message_reaction"]`

// pace holds the times of the inbound side; tests shorten them.
type pace struct {
	poll time.Duration // how long a getUpdates waits for something to tell
	// silence is how much longer than that the connection may be silent.
	silence time.Duration
	// conflict is how long "terminated by other getUpdates request" is taken for our
	// own former connection that the platform has not seen end.
	conflict time.Duration
	// albumQuiet is how long an album must not have grown to count as whole; albumMost
	// bounds the wait, and albumLook is the time between two looks.
	albumQuiet, albumMost, albumLook time.Duration
	// idleFirst and idleMost bound the pauses after answers that bring nothing new and
	// did not wait for it; idleFrom is how long an answer without updates takes that
	// did wait.
	idleFrom, idleFirst, idleMost time.Duration
}

var defaultPace = pace{
	poll: 30 * time.Second, silence: 10 * time.Second,
	conflict:   10 * time.Second,
	albumQuiet: 500 * time.Millisecond, albumMost: 2 * time.Second, albumLook: 100 * time.Millisecond,
	idleFrom: 500 * time.Millisecond, idleFirst: time.Second, idleMost: 5 * time.Second,
}

// Silence is how long a good connection says nothing at most.
func (c *Client) Silence() time.Duration { return c.pace.poll + c.pace.silence }

// A poller asks for updates in one Run. What it asks for next confirms what came, so that it
// asks only when that is committed, and confirms no more than that: nothing is confirmed that is
// not safe, and at most one batch is in memory.
//
// Each Run begins without an offset. The platform keeps what was not confirmed and
// tells it again; what was committed is known by its key.
type poller struct {
	c         *Client
	s         *session
	wire      *wire.Transport
	gather    gatherer
	confirmed int64     // the newest update that the next request confirms
	first     bool      // nothing was answered yet
	limit     int       // how many updates to ask for; 0: as many as there may be
	former    []byte    // the answer before, if it had updates
	idle      int       // how many answers in a row brought nothing new, at once
	cutOff    []byte    // an answer that may have been cut off
	quarrel   time.Time // when the platform began to name another poller; zero: it does not
}

// firstRetry and mostRetry bound the pauses after answers that are asked for again.
const firstRetry, mostRetry = 100 * time.Millisecond, 5 * time.Second

// errRetry is wrapped by errors after which updates are asked for again.
var errRetry = errors.New("to be asked again")

// poll receives updates until ctx ends or the connection is lost. Its connection is
// its own and is closed when it returns.
func (c *Client) poll(ctx context.Context, s *session) error {
	p := &poller{c: c, s: s, wire: wire.New(1), gather: gatherer{pace: c.pace}, first: true}
	p.wire.Most = c.maxPoll
	defer p.wire.Close()
	for failed := 0; ; {
		switch err := p.next(ctx); {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			failed = 0
		case !errors.Is(err, errRetry):
			return err
		default:
			c.Log.DebugContext(ctx, "updates are asked for again", "error", err)
			retry.Sleep(ctx, retry.Pause(failed, firstRetry, mostRetry))
			failed++
		}
	}
}

// next fetches updates and hands them in.
func (p *poller) next(ctx context.Context) error {
	if !p.pause(ctx) {
		return ctx.Err()
	}
	asked := time.Now()
	got, err := p.fetch(ctx)
	if err != nil {
		return err
	}
	p.s.sink.Received()
	last, err := p.settle(ctx, got.updates, got.full)
	if err != nil {
		return err
	}
	p.confirmed = cmp.Or(last, p.confirmed)
	p.countIdle(got, time.Since(asked))
	return nil
}

// pause waits before the platform is asked where asking at once would be of no use;
// false when ctx ended.
func (p *poller) pause(ctx context.Context) bool {
	switch {
	case p.gather.waits():
		return retry.Sleep(ctx, p.c.pace.albumLook)
	case p.idle > 0:
		return retry.Sleep(ctx, retry.Pause(p.idle-1, p.c.pace.idleFirst, p.c.pace.idleMost))
	}
	return true
}

// countIdle counts the answers that bring nothing new though nobody waited for them: an
// update whose number cannot be read stays until one behind it can be confirmed, and
// what stands before the platform may answer anything.
func (p *poller) countIdle(got answer, took time.Duration) {
	var old bool
	if len(got.updates) == 0 {
		old = !got.first && took < p.c.pace.idleFrom
	} else {
		old = !p.gather.waits() && bytes.Equal(got.body, p.former)
	}
	if p.former = nil; len(got.updates) > 0 {
		p.former = got.body
	}
	if p.idle++; !old {
		p.idle = 0
	}
}

// settle hands in what is whole of the updates told and returns the newest one to
// confirm; 0: none. full says that there may be more behind them.
func (p *poller) settle(ctx context.Context, updates []update, full bool) (int64, error) {
	if err := p.accept(ctx, p.gather.ready(updates, full, time.Now())); err != nil {
		return 0, err
	}
	return p.gather.confirm(updates), nil
}

// accept hands a batch in, album by album and what lies between
// them at once. What is nothing of ours is taken as it is. What is behind an event that
// fails alone is handed in, since that shows whose fault it is.
func (p *poller) accept(ctx context.Context, batch []update) error {
	var held error
	for from := 0; from < len(batch); {
		to := from + 1
		for batch[from].ofAlbum() == (albumKey{}) && to < len(batch) && batch[to].ofAlbum() == (albumKey{}) {
			to++
		}
		switch err := p.take(ctx, batch[from:to], batch[to:]); {
		case errors.Is(err, channels.ErrHeld):
			held = err
		case err != nil:
			return err
		}
		from = to
	}
	return held
}

// take hands in updates of no album, or one that is of an album; later is what the
// platform told behind it.
func (p *poller) take(ctx context.Context, list, later []update) error {
	if u := list[0]; u.ofAlbum() != (albumKey{}) {
		err := p.c.albums.take(u, later, func(events []channels.Event) ([]channels.Receipt, error) { return p.handIn(ctx, events) })
		if err == nil {
			p.gather.took(list)
		}
		return err
	}
	ours := slices.DeleteFunc(slices.Clone(list), func(u update) bool { return u.event == nil })
	events := make([]channels.Event, len(ours))
	for i, u := range ours {
		events[i] = *u.event
	}
	receipts, err := p.handIn(ctx, events)
	if err != nil {
		return err
	}
	p.gather.took(list)
	for i, u := range ours {
		if u.query != "" && i < len(receipts) && !receipts[i].Silent {
			p.c.answer(ctx, p.s, u.query, receipts[i].Toast)
		}
	}
	for _, u := range list {
		if u.event == nil && u.query != "" {
			p.c.answer(ctx, p.s, u.query, "")
		}
	}
	return nil
}

// handIn hands events in. What is not taken is asked for again, after a pause of at most
// 5 s, together with what came meanwhile: whether it is an event's own
// fault shows when others are taken.
func (p *poller) handIn(ctx context.Context, events []channels.Event) ([]channels.Receipt, error) {
	if len(events) == 0 {
		return nil, nil
	}
	receipts, err := p.s.sink.Accept(ctx, events)
	switch {
	case err == nil:
		return receipts, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	p.c.Log.WarnContext(ctx, "events not accepted; they are handed in again", "error", err)
	return nil, fmt.Errorf("events not accepted: %w: %w", errRetry, err)
}

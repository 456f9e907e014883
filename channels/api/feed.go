package api

import (
	"context"
	"errors"
	"time"

	"switchboard/channels"
	"switchboard/internal/api"
	"switchboard/router/core"
)

// pingEvery is how often a stream says that it lives.
const pingEvery = 15 * time.Second

const (
	// pageFirst and pageMost are how many events are read at once: few first, more as long as they are small.
	pageFirst, pageMost = 20, 200
	// pageBytes is how much of what was said and done a page is to have at most; the events behind a page that has more are read in small ones.
	pageBytes = 64 << 10
)

// An EventReader lists the events of a session (its key) after number n, oldest first, at most limit. An unknown session has none.
type EventReader interface {
	Events(ctx context.Context, session string, n int64, limit int) ([]channels.SessionEvent, error)
}

// A pager reads the events of a session, so that little of it is in memory however long its messages are.
type pager struct {
	from    EventReader
	session string // its key
	size    int    // of the next page; 0: of the first
}

// next is the page behind an event, and how many bytes of text it has. last: there are no more now.
func (p *pager) next(ctx context.Context, after int64) (events []channels.SessionEvent, bytes int, last bool, err error) {
	size := max(p.size, pageFirst)
	events, err = p.from.Events(ctx, p.session, after, size)
	for i := range events {
		bytes += len(events[i].Data)
		if m := events[i].Message; m != nil {
			bytes += len(m.Text) + len(m.Metadata)
		}
	}
	if p.size = min(2*size, pageMost); bytes > pageBytes/2 {
		p.size = pageFirst
	}
	return events, bytes, len(events) < size, err
}

// An Outlet takes what a feed brings.
type Outlet interface {
	// Write has what puts puts sent at once.
	Write(puts func() error) error
	Put(e channels.SessionEvent) error
	// Ping says that the feed lives.
	Ping() error
}

// A feed is what one client is sent of a conversation: the events after a number, up to
// another; -1: without end.
type feed struct {
	*listener
	c *Channel
	pager
	out     Outlet
	after   int64
	until   int64
	mayRead func(context.Context) error // of a session that is to be, whoever's that will be; nil: it may be read
	good    func(context.Context) error // why the reader may read nothing more; nil: they may
	now     channels.Growing            // the text that grows, as it was last looked at
	known   channels.Growing            // what the client knows of it
	past    channels.Growing            // what grew when its message came, and may still stand there
}

// run writes events as they come, until ctx ends. Up to an end it waits for nothing.
func (f *feed) run(ctx context.Context) error {
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	grown := f.grown
	var pace <-chan time.Time // set: it is too early for more of a text that grows
page:
	for {
		before := f.c.growing(f.conv)
		f.now = before
		last, err := f.events(ctx)
		if err != nil || ctx.Err() != nil || last && f.until >= 0 {
			return err
		}
		if !last {
			continue
		}
		for sure := f.now == before; ; sure = false {
			select {
			case <-f.notified:
				continue page
			default:
			}
			// A message comes before the end of the text that grew into it. It may be there
			// without a notification: its own engine's may overtake what we are told of the text.
			if !sure && f.now.Text == "" && f.known.Text != "" {
				continue page
			}
			if pace == nil && f.live {
				wrote, err := f.delta(ctx)
				if err != nil {
					return err
				}
				if wrote {
					grown, pace = nil, time.After(api.DeltaEvery)
				}
			}
			select {
			case <-ctx.Done():
				return nil
			case <-f.notified:
				continue page
			case <-ping.C:
				if err := f.good(ctx); err != nil {
					return err
				}
				if err := f.out.Ping(); err != nil {
					return err
				}
			case <-pace:
				grown, pace = f.grown, nil
			case <-grown:
			}
			f.now = f.c.growing(f.conv)
		}
	}
}

// events writes the next page of events. last: there are no more now.
func (f *feed) events(ctx context.Context) (last bool, err error) {
	if f.mayRead != nil {
		if err := f.mayRead(ctx); errors.Is(err, core.ErrNotFound) {
			return true, nil
		} else if err != nil {
			return true, err
		}
		f.mayRead = nil
	}
	events, _, end, err := f.next(ctx, f.after)
	if err != nil || ctx.Err() != nil || len(events) == 0 {
		return true, err
	}
	if err := f.good(ctx); err != nil {
		return true, err
	}
	err = f.out.Write(func() error {
		for _, e := range events {
			if last = f.until >= 0 && e.N > f.until; last {
				return nil
			}
			if err := f.out.Put(e); err != nil {
				return err
			}
			f.after = e.N
			if f.known.Ended(e) {
				if f.now = f.c.growing(f.conv); f.now.Turn == e.TurnID {
					f.past = f.now
				}
			}
		}
		return nil
	})
	return last || end, err
}

// delta writes what is new of the text that grows.
func (f *feed) delta(ctx context.Context) (wrote bool, err error) {
	event, some := f.now.Since(f.known)
	if !some || f.mayRead != nil || f.now.Text != "" && f.now == f.past {
		return false, nil
	}
	if err := f.good(ctx); err != nil {
		return false, err
	}
	f.known = f.now
	return true, f.out.Write(func() error { return f.out.Put(event) })
}

// Follow hands out what happens in the session of that key behind an event, with texts that grow, until ctx or the channel's run ends,
// or out or good says so. Good says why the reader may read nothing more; nil: they may.
func (c *Channel) Follow(ctx context.Context, from EventReader, session string, after int64, good func(context.Context) error, out Outlet) error {
	return c.serve(ctx, func(ctx context.Context, _ channels.Sink) error {
		l := newListener(core.OfSession(session).ID, true)
		defer c.subscribe(l)()
		reading := feed{listener: l, c: c, pager: pager{from: from, session: session}, out: out, after: after, until: -1, good: good}
		if err := out.Write(func() error { return nil }); err != nil {
			return err
		}
		return reading.run(ctx)
	})
}

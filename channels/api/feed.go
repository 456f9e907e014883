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

// An outlet takes what a feed brings.
type outlet interface {
	// write has what puts puts sent at once.
	write(puts func() error) error
	put(e channels.SessionEvent) error
	// ping says that the feed lives.
	ping() error
}

// A feed is what one client is sent of a conversation: the events after a number, up to
// another; -1: without end.
type feed struct {
	*listener
	c *Channel
	pager
	out     outlet
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
				if err := f.out.ping(); err != nil {
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
	err = f.out.write(func() error {
		for _, e := range events {
			if last = f.until >= 0 && e.N > f.until; last {
				return nil
			}
			if err := f.out.put(e); err != nil {
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
	return true, f.out.write(func() error { return f.out.put(event) })
}

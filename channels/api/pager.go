package api

import (
	"context"

	"switchboard/channels"
)

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

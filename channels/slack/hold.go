package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"switchboard/channels"
	"switchboard/internal/retry"
)

// A gap is the history of a channel or thread that was not read yet, or is only waited in.
type gap struct {
	id      channels.ConversationID
	since   mark
	only    *wireMessage // this message alone is read
	read    bool         // nothing is to be read any more
	held    []item       // what came on the socket meanwhile
	found   []item
	err     error
	failing time.Time // since when it cannot be read
	late    bool      // what comes waits for its history no longer
}

// hold keeps an item back until the history of its place is in, or what else is told of the same
// message; false: it need not wait. The place is read next then.
func (l *connection) hold(it *item) bool {
	if it.history == "" {
		return false
	}
	since, opens := l.opens(it)
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.before(it)
	if g != nil && g.late {
		if it.unread = true; len(g.held) == 0 && !l.paired(it) {
			return false
		}
	}
	if i := slices.Index(l.order, g); i > 0 {
		l.order = slices.Insert(slices.Delete(l.order, i, i+1), 0, g)
	}
	if g == nil {
		if !opens && !l.paired(it) {
			return false
		}
		g = &gap{id: it.history, since: since, read: !opens}
		if l.gaps[g.id] = g; opens {
			l.readNext(g)
		}
	}
	it.came = time.Now()
	if l.twins[it.event.Key] == g {
		i := slices.IndexFunc(g.held, func(other item) bool { return other.event.Key == it.event.Key })
		g.held[i].alone = time.Time{}
		delete(l.twins, it.event.Key)
	} else if l.paired(it) {
		it.alone = it.came.Add(l.c.pace.twin)
		l.twins[it.event.Key] = g
	}
	g.held = append(g.held, *it)
	l.held++
	return true
}

// before is the gap that an item waits for: that in which its twin waits, or of its place. A reply in a
// thread that nobody knows to be the bot's waits for the channel's, in which the thread may begin.
// Called under the lock.
func (l *connection) before(it *item) *gap {
	if g := l.twins[it.event.Key]; g != nil {
		return g
	}
	if g := l.gaps[it.history]; g != nil {
		return g
	}
	if c := it.event.Conversation; c.Kind == channels.Thread && !it.event.Message.Mentioned {
		return l.gaps[conversationID(c.Place, "")]
	}
	return nil
}

// paired says whether the platform tells an item a second time, with something that it lacks: one post
// that mentions the bot comes as a mention and as a message, in either order, and what comes first may
// name no files or no thread.
//
// Source: https://github.com/NousResearch/hermes-agent/pull/77141, https://github.com/openclaw/openclaw/pull/34937.
func (s *session) paired(it *item) bool {
	m := it.message
	if m == nil {
		return false
	}
	if _, taken := s.whole.Get(it.event.Key); taken {
		return false
	}
	return s.pairs && it.event.Kind == channels.EventMessage && it.event.Conversation.Kind != channels.Direct &&
		m.Edited == nil && names(m, s.me) && (m.Type == typeMention || m.ThreadTS == "")
}

// readNext has a gap read before the others. Called under the lock.
func (l *connection) readNext(g *gap) {
	g.read = false
	l.order = slices.Insert(l.order, 0, g)
	retry.Signal(l.soon)
}

// opens says whether the history of an item's place is read before it, and since when. It
// is where nothing is known of the place: an earlier message may have been lost with an
// earlier connection, and would come again after this one. It is everywhere for a while
// where another connection is open, which is told a part of the messages.
func (l *connection) opens(it *item) (since mark, ok bool) {
	e := it.event
	if e == nil || e.Kind != channels.EventMessage || e.Conversation.Kind != channels.Direct && !e.Message.Mentioned || l.c.paces.isLimited() {
		return mark{}, false
	}
	known, marked := l.marks.marked(it.history, nil)
	if !marked {
		return mark{ts: tsOf(l.alive)}, true
	}
	return known.mark, time.Now().Before(l.shared)
}

// fillGaps reads the history of each gap in turn.
func (l *connection) fillGaps(ctx context.Context) {
	for {
		l.mu.Lock()
		if len(l.order) == 0 {
			l.mu.Unlock()
			select {
			case <-l.soon:
				continue
			case <-ctx.Done():
				return
			}
		}
		g := l.order[0]
		l.order = l.order[1:]
		l.mu.Unlock()
		if g.only != nil {
			g.found, g.err = l.readOnly(ctx, g.only), nil
		} else {
			g.found, g.err = l.readSince(ctx, g)
		}
		select {
		case l.filled <- g:
		case <-ctx.Done():
			return
		}
	}
}

// settle hands in what the history of a gap brought. What came meanwhile may go then.
func (l *connection) settle(ctx context.Context, g *gap) error {
	if errors.Is(g.err, channels.ErrUnauthorized) {
		return fmt.Errorf("read what was missed: %w", g.err)
	}
	if g.err != nil {
		l.later(ctx, g)
		return nil
	}
	// What also came live is taken as it was then: history tells its later text. Nothing more is told of it.
	for i := range g.held {
		came := &g.held[i]
		n := slices.IndexFunc(g.found, func(it item) bool { return it.event.Key == came.event.Key })
		if n < 0 {
			continue
		}
		came.alone = time.Time{}
		delete(l.twins, came.event.Key)
		g.found[n] = l.merge(ctx, *came, g.found[n])
		g.found[n].envelope = ""
	}
	l.mu.Lock()
	g.read, g.late, g.only = true, false, nil
	l.mu.Unlock()
	for chunk := range slices.Chunk(g.found, mostFrames) {
		if err := l.deliver(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

// later has a gap that could not be read read again, behind the others.
func (l *connection) later(ctx context.Context, g *gap) {
	l.c.Log.WarnContext(ctx, "the history of a conversation could not be read; it is tried again", "conversation_id", string(g.id), "error", g.err)
	g.failing = cmp.Or(g.failing, time.Now())
	time.AfterFunc(l.c.pace.mostRetry, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.order = append(l.order, g)
		retry.Signal(l.soon)
	})
}

// release hands in what waits no longer. due says when more of it is to be released; nil: nothing
// waits.
func (l *connection) release(ctx context.Context) (due <-chan time.Time, err error) {
	next := time.Time{}
	var ready []item
	l.mu.Lock()
	now := time.Now()
	for _, g := range l.gaps {
		items, until := l.ready(g, now)
		ready = append(ready, items...)
		if !until.IsZero() && (next.IsZero() || until.Before(next)) {
			next = until
		}
	}
	l.mu.Unlock()
	if len(ready) > 0 { // in one, as what comes meanwhile waits for none of it any more
		if err := l.deliver(ctx, ready); err != nil {
			return nil, err
		}
	}
	if next.IsZero() {
		return nil, nil
	}
	return time.After(time.Until(next)), nil
}

// ready takes from a gap what waits no longer, and says until when the rest does. Called under the
// lock.
func (l *connection) ready(g *gap, now time.Time) (items []item, until time.Time) {
	if !g.read && !g.late {
		if until := l.overdue(g, now); !g.late {
			return nil, until
		}
	}
	slices.SortStableFunc(g.held, func(a, b item) int { return a.event.At.Compare(b.event.At) }) // two sockets tell in any order
	n := 0
	for ; n < len(g.held); n++ {
		it := &g.held[n]
		if it.alone.After(now) {
			until = it.alone
			break
		}
		if it.alone.IsZero() {
			continue
		}
		it.alone = time.Time{}
		delete(l.twins, it.event.Key)
		if g.read && it.message.Type == typeMention && len(it.message.Files) == 0 && !l.c.paces.isLimited() { // only history tells the rest
			g.only = it.message
			l.readNext(g)
			until = it.came.Add(l.c.pace.mostWait)
			break
		}
	}
	items = slices.Clone(g.held[:n])
	g.held, l.held = slices.Delete(g.held, 0, n), l.held-n
	if g.read && len(g.held) == 0 {
		delete(l.gaps, g.id)
	}
	return items, until
}

// overdue says until when what came waits for a history that is not in: a while, or until too much waits.
// Then the gap is late, and what came moves no mark, so that nothing is passed over. Called under the lock.
func (l *connection) overdue(g *gap, now time.Time) (until time.Time) {
	if len(g.held) == 0 {
		return time.Time{}
	}
	until = g.held[0].came
	if !g.failing.IsZero() && g.failing.Before(until) {
		until = g.failing
	}
	until = until.Add(l.c.pace.mostWait)
	if until.After(now) && (g.failing.IsZero() || l.held < mostHeld) {
		return until
	}
	g.late = true
	for i := range g.held {
		g.held[i].unread = true
	}
	return time.Time{}
}

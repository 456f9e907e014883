package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slack-go/slack"

	"switchboard/channels"
	"switchboard/channels/wire"
	"switchboard/retry"
)

const (
	// recent is how old the last word in a place may be for its history to be read.
	recent = 7 * 24 * time.Hour
	// overlap is how far behind a mark reading begins: what came out of order, and what was
	// changed since.
	overlap = 10 * time.Minute
	// pageSize is how many messages are asked for at once, and limitedSize what apps get that
	// are distributed commercially without a listing, once in limitedPace.
	//
	// Source: https://docs.slack.dev/reference/methods/conversations.history.
	pageSize    = 200
	limitedSize = 15
	limitedPace = time.Minute
	// maxPages bounds what is read of one place.
	maxPages = 20
	// fillTries is how often a read of history is tried before others are read.
	fillTries = 4
)

// A gap is the history of a channel or thread that was not read yet.
type gap struct {
	id    channels.ConversationID
	since mark
	held  []item // what came on the socket meanwhile
	found []item
	err   error
	ill   time.Time // since when it cannot be read
}

// openGaps are the places where something may have been missed, the latest first.
func (s *session) openGaps(now time.Time) (map[channels.ConversationID]*gap, []*gap) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gaps, order := map[channels.ConversationID]*gap{}, []*gap{}
	for id, m := range s.marks {
		if now.Sub(m.at) < recent {
			gaps[id] = &gap{id: id, since: m.mark}
			order = append(order, gaps[id])
		}
	}
	slices.SortFunc(order, func(a, b *gap) int {
		return cmp.Or(s.marks[b.id].at.Compare(s.marks[a.id].at), cmp.Compare(a.id, b.id))
	})
	return gaps, order
}

// hold keeps an item back until the history of its place is in; false: it need not wait.
// The place is read next then.
func (l *line) hold(it item) bool {
	if it.history == "" {
		return false
	}
	since, opens := l.opens(it)
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.gaps[it.history]
	switch {
	case g != nil:
		if i := slices.Index(l.order, g); i > 0 {
			l.order = slices.Insert(slices.Delete(l.order, i, i+1), 0, g)
		}
	case opens:
		g = &gap{id: it.history, since: since}
		l.gaps[g.id], l.order = g, slices.Insert(l.order, 0, g)
		retry.Signal(l.soon)
	default:
		return false
	}
	g.held = append(g.held, it)
	l.held++
	return true
}

// opens says whether the history of an item's place is read before it, and since when. It
// is where nothing is known of the place: an earlier message may have been lost with an
// earlier connection, and would come again after this one. It is everywhere for a while
// where another connection is open, which is told a part of the messages.
func (l *line) opens(it item) (since mark, ok bool) {
	e := it.event
	if e == nil || e.Kind != channels.EventMessage || e.Conversation.Kind != channels.Direct && !e.Message.Mentioned || l.c.limited.Load() {
		return mark{}, false
	}
	l.session.mu.Lock()
	defer l.session.mu.Unlock()
	known, marked := l.marks[it.history]
	if !marked {
		return mark{ts: tsOf(l.alive)}, true
	}
	return known.mark, time.Now().Before(l.shared)
}

// fillGaps reads the history of each gap in turn.
func (l *line) fillGaps(ctx context.Context) {
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
		g.found, g.err = l.readSince(ctx, g)
		select {
		case l.filled <- g:
		case <-ctx.Done():
			return
		}
	}
}

// settle hands in what the history of a gap brought, and then what came meanwhile.
func (l *line) settle(ctx context.Context, g *gap) error {
	if errors.Is(g.err, channels.ErrUnauthorized) {
		return fmt.Errorf("read what was missed: %w", g.err)
	}
	if g.err != nil {
		return l.later(ctx, g)
	}
	// What also came live is taken as it was then: history tells its later text.
	live := map[channels.EventKey]*channels.Event{}
	for _, it := range g.held {
		live[it.event.Key] = it.event
	}
	for i, it := range g.found {
		g.found[i].event = cmp.Or(live[it.event.Key], it.event)
	}
	for chunk := range slices.Chunk(g.found, mostFrames) {
		if err := l.deliver(ctx, chunk); err != nil {
			return err
		}
	}
	l.mu.Lock()
	delete(l.gaps, g.id)
	held := g.held
	l.held -= len(held)
	l.mu.Unlock()
	if len(held) == 0 {
		return nil
	}
	return l.deliver(ctx, held)
}

// later has a gap that could not be read read again, behind the others. What came in its place
// waits for it no longer than a while, or until too much waits; it moves no mark then, so that nothing is passed over.
func (l *line) later(ctx context.Context, g *gap) error {
	l.c.log.WarnContext(ctx, "the history of a conversation could not be read; it is tried again", "conversation_id", string(g.id), "error", g.err)
	g.ill = cmp.Or(g.ill, time.Now())
	time.AfterFunc(l.c.pace.mostAgain, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.order = append(l.order, g)
		retry.Signal(l.soon)
	})
	if time.Since(g.ill) < l.c.pace.patience && l.held < mostHeld {
		return nil
	}
	l.mu.Lock()
	held := g.held
	g.held, l.held = nil, l.held-len(held)
	l.mu.Unlock()
	for _, it := range held {
		it.event.Mark = channels.Mark{}
	}
	return l.deliver(ctx, held)
}

// readSince reads the history of a gap, oldest first.
func (s *session) readSince(ctx context.Context, g *gap) ([]item, error) {
	channel, thread, err := parseConversation(g.id)
	if err != nil {
		return nil, nil //nolint:nilerr // a mark of another build
	}
	oldest := tsOf(instant(g.since.ts).Add(-overlap))
	raws, err := s.c.history(ctx, channel, thread, oldest)
	if errors.Is(err, channels.ErrGone) {
		return nil, nil // the bot was put out, or the thread is gone
	}
	if refused, ok := errors.AsType[*channels.RefusedError](err); ok && !refused.Temporary {
		s.c.log.WarnContext(ctx, "the history of a conversation cannot be read", "conversation_id", string(g.id), "error", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []dated
	for _, raw := range raws {
		list, more := s.past(ctx, channel, g.since, raw)
		found = append(found, list...)
		if more == "" || thread != "" {
			continue
		}
		replies, err := s.c.history(ctx, channel, more, more)
		if err != nil && !errors.Is(err, channels.ErrGone) {
			return nil, err
		}
		for _, raw := range replies {
			list, _ := s.past(ctx, channel, mark{ts: more}, raw)
			found = append(found, list...)
		}
	}
	slices.SortStableFunc(found, func(a, b dated) int { return a.at.Compare(b.at) })
	items := make([]item, len(found))
	for i, f := range found {
		items[i] = f.item
	}
	return items, nil
}

// A dated is an item with when it happened.
type dated struct {
	item
	at time.Time
}

// past makes events of a message as history tells it: that it was written and, if it is
// older than the mark, that it was changed since. more names a thread that begins with it
// and that nothing is known of, where the bot was named.
func (s *session) past(ctx context.Context, channel string, since mark, raw json.RawMessage) (list []dated, more string) {
	var m wireMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return []dated{{item: item{event: s.undecodable(raw, err)}}}, ""
	}
	if m.Channel == "" {
		m.Channel = channel
	}
	if s.isGroup(channel) {
		m.ChannelType = typeGroup
	}
	it, err := s.message(ctx, &m)
	if err != nil {
		return []dated{{item: item{event: s.undecodable(raw, err)}, at: instant(m.TS)}}, ""
	}
	if it.event == nil {
		return nil, ""
	}
	list = append(list, dated{it, instant(m.TS)})
	known := !instant(m.TS).After(instant(since.ts))
	if m.Edited != nil && known && instant(m.Edited.TS).After(instant(since.ts)) && m.Edited.User == m.User {
		list = append(list, dated{s.revision(it, channel, &m), instant(m.Edited.TS)})
	}
	if _, marked := s.marked(it.event.Conversation.ID); !marked && m.ReplyCount > 0 && it.event.Conversation.Kind == channels.Thread {
		more = m.TS
	}
	return list, more
}

// history reads a channel, or a thread in it, since oldest, in the order that the platform
// tells.
func (c *Client) history(ctx context.Context, channel, thread, oldest string) (all []json.RawMessage, err error) {
	cursor := ""
	for range maxPages {
		page, err := c.historyPage(ctx, channel, thread, oldest, cursor)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Messages...)
		if cursor = page.Next.Cursor; cursor == "" {
			return all, nil
		}
	}
	c.log.WarnContext(ctx, "more was written while the channel was away than is read", "conversation_id", string(conversationID(channel, thread)))
	return all, nil
}

// A page is one answer of history, each message as it came.
type page struct {
	Messages []json.RawMessage `json:"messages"`
	HasMore  bool              `json:"has_more"`
	Next     struct {
		Cursor string `json:"next_cursor"`
	} `json:"response_metadata"`
}

// historyPage reads a page as soon as the limits allow.
func (c *Client) historyPage(ctx context.Context, channel, thread, oldest, cursor string) (*page, error) {
	for try := 0; ; try++ {
		if !c.turn(ctx) {
			return nil, ctx.Err()
		}
		p, err := c.askHistory(ctx, channel, thread, oldest, cursor)
		limited, ok := errors.AsType[*channels.RateLimitError](err)
		switch {
		case err == nil:
			return p, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case ok:
			if limited.RetryAfter > limitedPace/2 {
				c.limited.Store(true)
			}
			if !retry.Sleep(ctx, max(limited.RetryAfter, time.Second)) {
				return nil, ctx.Err()
			}
			continue
		case errors.Is(err, channels.ErrUnauthorized), wire.Final(err), try >= fillTries:
			return nil, err
		}
		if !retry.Sleep(ctx, retry.Pause(try, c.pace.again, c.pace.mostAgain)) {
			return nil, ctx.Err()
		}
	}
}

// askHistory makes one call.
//
// Source: https://docs.slack.dev/reference/methods/conversations.history,
// https://docs.slack.dev/reference/methods/conversations.replies.
func (c *Client) askHistory(ctx context.Context, channel, thread, oldest, cursor string) (*page, error) {
	size := pageSize
	if c.limited.Load() {
		size = limitedSize
	}
	op := "conversations.history"
	if thread != "" {
		op = "conversations.replies"
	}
	x, err := c.call(ctx, op, callTimeout, func(ctx context.Context, lib *slack.Client) error {
		params := slack.GetConversationHistoryParameters{
			ChannelID: channel, Oldest: oldest, Inclusive: true, Limit: size, Cursor: cursor, IncludeAllMetadata: true,
		}
		if thread == "" {
			_, err := lib.GetConversationHistoryContext(ctx, &params)
			return err
		}
		_, _, _, err := lib.GetConversationRepliesContext(ctx, &slack.GetConversationRepliesParameters{
			ChannelID: channel, Timestamp: thread, Oldest: oldest, Inclusive: true, Limit: size, Cursor: cursor, IncludeAllMetadata: true,
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	p := &page{}
	if err := json.Unmarshal(x.Body, p); err != nil {
		return nil, fmt.Errorf("%s: read the answer: %w", op, err)
	}
	if size == pageSize && len(p.Messages) == limitedSize && p.HasMore {
		c.limited.Store(true)
	}
	return p, nil
}

// turn waits until history may be read again: a short burst, then as often as the
// method's tier allows.
func (c *Client) turn(ctx context.Context) bool {
	every := c.pace.history
	burst := time.Duration(c.pace.burst) * every
	if c.limited.Load() {
		every, burst = limitedPace, 0
	}
	for {
		now := time.Now().UnixNano()
		last := c.lastCall.Load()
		due := max(last+int64(every), now-int64(burst))
		if !c.lastCall.CompareAndSwap(last, due) {
			continue
		}
		return due <= now || retry.Sleep(ctx, time.Duration(due-now))
	}
}

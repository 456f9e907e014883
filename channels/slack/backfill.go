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
	"switchboard/internal/retry"
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

// readOnly reads one message as an item. Best effort: without an answer there is none.
func (s *session) readOnly(ctx context.Context, m *wireMessage) []item {
	if whole := s.readOne(ctx, m); whole != nil {
		if s.isGroup(m.Channel) {
			whole.ChannelType = typeGroup
		}
		if it, err := s.message(ctx, whole); err == nil && it.event != nil {
			return []item{it}
		}
	}
	return nil
}

// readOne reads one message; nil: the platform did not tell it.
//
// Source: https://docs.slack.dev/reference/methods/conversations.replies.
func (s *session) readOne(ctx context.Context, m *wireMessage) *wireMessage {
	p, err := s.c.askHistory(ctx, m.Channel, cmp.Or(m.ThreadTS, m.TS), m.TS, "")
	if err != nil {
		s.c.log.DebugContext(ctx, "a message could not be read from history", "error", err)
		return nil
	}
	for _, raw := range p.Messages {
		var whole wireMessage
		if json.Unmarshal(raw, &whole) == nil && whole.TS == m.TS {
			whole.Channel = m.Channel
			return &whole
		}
	}
	return nil
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
	if _, marked := s.marked(it.event.Conversation.ID, nil); !marked && m.ReplyCount > 0 && it.event.Conversation.Kind == channels.Thread {
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

// historyPage reads a page as soon as the limits allow, or says at once that they do not in time.
func (c *Client) historyPage(ctx context.Context, channel, thread, oldest, cursor string) (*page, error) {
	for try := 0; ; try++ {
		p, err := wire.Patiently(ctx, func() (*page, error) { return c.askHistory(ctx, channel, thread, oldest, cursor) })
		_, limited := errors.AsType[*channels.RateLimitError](err)
		switch {
		case err == nil:
			return p, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case limited, errors.Is(err, channels.ErrUnauthorized), wire.Final(err), try >= fillTries:
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
	if c.paces.isLimited() {
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
	if size == pageSize && p.HasMore {
		c.paces.limit(len(p.Messages) == limitedSize)
	}
	return p, nil
}

package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/slack-go/slack"

	"switchboard/channels"
	"switchboard/channels/wire"
	"switchboard/internal/retry"
)

const (
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

// history reads a channel, or a thread in it, since oldest, in the order that the platform
// tells.
func (a *api) history(ctx context.Context, channel, thread, oldest string) (all []json.RawMessage, err error) {
	for page, err := range a.pages(ctx, channel, thread, oldest) {
		if errors.Is(err, errMorePages) {
			a.Log.WarnContext(ctx, "more was written while the channel was away than is read", "conversation_id", string(conversationID(channel, thread)))
			break
		}
		if err != nil {
			return nil, err
		}
		all = append(all, page.Messages...)
	}
	return all, nil
}

var errMorePages = fmt.Errorf("more than %d pages of messages came since", maxPages)

// pages are those of a channel, or a thread in it, since oldest. An error is the last of them.
func (a *api) pages(ctx context.Context, channel, thread, oldest string) iter.Seq2[page, error] {
	return func(yield func(page, error) bool) {
		cursor := ""
		for range maxPages {
			p, err := a.historyPage(ctx, channel, thread, oldest, cursor)
			if cursor = p.Next.Cursor; !yield(p, err) || err != nil || cursor == "" {
				return
			}
		}
		yield(page{}, errMorePages)
	}
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
func (a *api) historyPage(ctx context.Context, channel, thread, oldest, cursor string) (page, error) {
	for try := 0; ; try++ {
		p, err := wire.Retry(ctx, func() (page, error) { return a.askHistory(ctx, channel, thread, oldest, cursor) })
		if err == nil {
			return p, nil
		}
		_, limited := errors.AsType[*channels.RateLimitError](err)
		last := limited || errors.Is(err, channels.ErrUnauthorized) || wire.Final(err) || try >= fillTries
		if last && ctx.Err() == nil {
			return p, err
		}
		if !retry.Sleep(ctx, retry.Pause(try, a.pace.firstRetry, a.pace.mostRetry)) {
			return p, ctx.Err()
		}
	}
}

// askHistory makes one call.
//
// Source: https://docs.slack.dev/reference/methods/conversations.history,
// https://docs.slack.dev/reference/methods/conversations.replies.
func (a *api) askHistory(ctx context.Context, channel, thread, oldest, cursor string) (page, error) {
	size := pageSize
	if a.paces.isLimited() {
		size = limitedSize
	}
	op, do := "conversations.history", wire.With((*slack.Client).GetConversationHistoryContext, &slack.GetConversationHistoryParameters{
		ChannelID: channel, Oldest: oldest, Inclusive: true, Limit: size, Cursor: cursor, IncludeAllMetadata: true,
	})
	if thread != "" {
		op, do = "conversations.replies", func(ctx context.Context, lib *slack.Client) error {
			return wire.Err(lib.GetConversationRepliesContext(ctx, &slack.GetConversationRepliesParameters{
				ChannelID: channel, Timestamp: thread, Oldest: oldest, Inclusive: true, Limit: size, Cursor: cursor, IncludeAllMetadata: true,
			}))
		}
	}
	p, _, err := ask[page](ctx, a, op, wire.CallTimeout, do)
	if err == nil && size == pageSize && p.HasMore {
		a.paces.limit(len(p.Messages) == limitedSize)
	}
	return p, err
}

// one reads one message of a channel, or of a thread in it; channels.ErrNoMessage where the platform
// does not tell it.
//
// Source: https://docs.slack.dev/reference/methods/conversations.replies.
func one[T any](ctx context.Context, a *api, channel, thread, ts string) (m T, err error) {
	const op = "conversations.replies"
	answer, _, err := ask[page](ctx, a, op, wire.CallTimeout, func(ctx context.Context, lib *slack.Client) error {
		return wire.Err(lib.GetConversationRepliesContext(ctx, &slack.GetConversationRepliesParameters{
			ChannelID: channel, Timestamp: cmp.Or(thread, ts), Oldest: ts, Latest: ts, Inclusive: true, Limit: 2,
		}))
	})
	for _, raw := range answer.Messages {
		var head struct{ TS string }
		if json.Unmarshal(raw, &head) == nil && head.TS == ts {
			return wire.Answer[T](op, raw)
		}
	}
	return m, cmp.Or(err, fmt.Errorf("%s: %w", op, channels.ErrNoMessage))
}

// readOne reads a message whole; nil: the platform did not tell it.
func (a *api) readOne(ctx context.Context, m *wireMessage) *wireMessage {
	whole, err := one[wireMessage](ctx, a, m.Channel, m.ThreadTS, m.TS)
	if err != nil {
		a.Log.DebugContext(ctx, "a message could not be read from history", "error", err)
		return nil
	}
	whole.Channel = m.Channel
	return &whole
}

// overlap is how far behind a mark reading begins: what came out of order, and what was
// changed since.
const overlap = 10 * time.Minute

// readSince reads the history of a gap, oldest first.
func (r *reader) readSince(ctx context.Context, g *gap) (items []item, err error) {
	channel, thread, err := parseConversation(g.id)
	if err != nil {
		return nil, nil //nolint:nilerr // a mark of another build
	}
	oldest := tsOf(instant(g.since.ts).Add(-overlap))
	raws, err := r.c.history(ctx, channel, thread, oldest)
	if errors.Is(err, channels.ErrGone) {
		return nil, nil // the bot was put out, or the thread is gone
	}
	if wire.Final(err) {
		r.c.Log.WarnContext(ctx, "the history of a conversation cannot be read", "conversation_id", string(g.id), "error", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, raw := range raws {
		list, more := r.past(ctx, channel, g.since, raw)
		items = append(items, list...)
		if more == "" || thread != "" {
			continue
		}
		replies, err := r.c.history(ctx, channel, more, more)
		if err != nil && !errors.Is(err, channels.ErrGone) {
			return nil, err
		}
		for _, raw := range replies {
			list, _ := r.past(ctx, channel, mark{ts: more}, raw)
			items = append(items, list...)
		}
	}
	slices.SortStableFunc(items, func(a, b item) int { return a.at.Compare(b.at) })
	return items, nil
}

// readOnly reads one message as an item. Best effort: without an answer there is none.
func (r *reader) readOnly(ctx context.Context, m *wireMessage) []item {
	if whole := r.c.readOne(ctx, m); whole != nil {
		if r.marks.isGroup(m.Channel) {
			whole.ChannelType = typeGroup
		}
		if it, err := r.message(ctx, whole); err == nil && it.event != nil {
			return []item{it}
		}
	}
	return nil
}

// past makes events of a message as history tells it: that it was written and, if it is
// older than the mark, that it was changed since. more names a thread that begins with it
// and that nothing is known of, where the bot was named.
func (r *reader) past(ctx context.Context, channel string, since mark, raw json.RawMessage) (list []item, more string) {
	var m wireMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return []item{{event: r.undecodable(raw, err)}}, ""
	}
	if m.Channel == "" {
		m.Channel = channel
	}
	if r.marks.isGroup(channel) {
		m.ChannelType = typeGroup
	}
	it, err := r.message(ctx, &m)
	if err != nil {
		return []item{{event: r.undecodable(raw, err), at: instant(m.TS)}}, ""
	}
	if it.event == nil {
		return nil, ""
	}
	it.at = instant(m.TS)
	list = append(list, it)
	known := !instant(m.TS).After(instant(since.ts))
	if m.Edited != nil && known && instant(m.Edited.TS).After(instant(since.ts)) && m.Edited.User == m.User {
		list = append(list, r.revision(it, channel, &m))
	}
	if _, marked := r.marks.marked(it.event.Conversation.ID, nil); !marked && m.ReplyCount > 0 && it.event.Conversation.Kind == channels.Thread {
		more = m.TS
	}
	return list, more
}

package slack

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"switchboard/channels"
	"switchboard/channels/wire"
)

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

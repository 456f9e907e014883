package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
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

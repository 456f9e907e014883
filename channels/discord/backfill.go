package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/retry"
)

const (
	// directWithin is how long ago a direct chat may have been active for its history to be asked
	// for: the platform lists no direct chats, so each costs a call.
	directWithin = 7 * 24 * time.Hour
	// pageSize is how many messages one call of the history brings.
	//
	// Source: https://docs.discord.com/developers/resources/message#get-channel-messages.
	pageSize = 100
)

// owing is a channel whose history must be read after a message.
type owing struct {
	channel snowflake
	after   snowflake
	not     time.Time // before
}

// owed are the channels whose history must be read before what is told of them now. It is used
// by one goroutine at a time.
type owed struct {
	marks map[snowflake]snowflake // of guilds' channels: the newest message taken
	list  []owing                 // in the order they are to be read
}

// newOwed reads the marks: of direct chats those that were active lately, newest first; of
// guilds' channels it is known when the guild is told whether there is anything newer.
func newOwed(marks []channels.Mark) *owed {
	o := &owed{marks: map[snowflake]snowflake{}}
	for _, m := range marks {
		s, err := parseMark(m)
		switch {
		case err != nil: // of a channel of another kind that had this name
		case !s.direct:
			o.marks[s.channel] = s.message
		case time.Since(m.At) < directWithin:
			o.list = append(o.list, owing{channel: s.channel, after: s.message})
		}
	}
	return o
}

// newest notes the newest message of a guild's channel.
func (o *owed) newest(channel, message snowflake) {
	mark := o.marks[channel]
	delete(o.marks, channel)
	if mark != 0 && message > mark && !o.has(channel) {
		o.list = append(o.list, owing{channel: channel, after: mark})
	}
}

func (o *owed) has(channel snowflake) bool {
	return slices.ContainsFunc(o.list, func(w owing) bool { return w.channel == channel })
}

// next is the channel to read next, one that events wait for first; nil: none.
func (o *owed) next(wait map[snowflake]bool) (next *owing) {
	for i := range o.list {
		if wait[o.list[i].channel] {
			return &o.list[i]
		}
	}
	if len(o.list) == 0 {
		return nil
	}
	return &o.list[0]
}

// later puts a channel whose history could not be read behind the others.
func (o *owed) later(channel snowflake) {
	i := slices.IndexFunc(o.list, func(w owing) bool { return w.channel == channel })
	if i < 0 {
		return
	}
	w := o.list[i]
	w.not = time.Now().Add(5 * time.Second)
	o.list = append(slices.Delete(o.list, i, i+1), w)
}

// read notes that a page was taken, and says whether it was the last one.
func (o *owed) read(p page) (last bool) {
	i := slices.IndexFunc(o.list, func(w owing) bool { return w.channel == p.owing.channel })
	switch {
	case i < 0:
		return true
	case p.more:
		o.list[i].after = p.last
		return false
	}
	o.list = slices.Delete(o.list, i, i+1)
	return true
}

// A page is a piece of a channel's history, the oldest message first.
type page struct {
	owing    owing
	messages []json.RawMessage
	last     snowflake
	more     bool
	err      error
}

// backfill reads history, one page at a time.
type backfill struct {
	busy bool
	wg   sync.WaitGroup
}

func (b *backfill) wait() { b.wg.Wait() }

// fetch reads the next page of a channel.
func (b *backfill) fetch(ctx context.Context, c *Client, w owing, pages chan<- page) {
	b.busy = true
	b.wg.Go(func() {
		p := page{owing: w}
		if retry.Sleep(ctx, time.Until(w.not)) {
			p = c.page(ctx, w)
		}
		select {
		case pages <- p:
		case <-ctx.Done():
		}
	})
}

// page reads one page; a rate limit is waited for. A channel that is closed to the bot now has
// none.
func (c *Client) page(ctx context.Context, w owing) page {
	p := page{owing: w}
	r := about(opHistory, w.channel, "messages")
	r.path += fmt.Sprintf("?after=%s&limit=%d", w.after, pageSize)
	list, err := patiently(ctx, func() ([]json.RawMessage, error) { return ask[[]json.RawMessage](ctx, c, r, nil) })
	refused, ok := errors.AsType[*channels.RefusedError](err)
	if errors.Is(err, channels.ErrGone) || ok && !refused.Temporary {
		return p
	}
	p.err, p.messages, p.more = err, list, len(list) == pageSize
	// The newest comes first. https://docs.discord.com/developers/resources/message#get-channel-messages
	slices.Reverse(p.messages)
	for _, raw := range p.messages {
		var head struct {
			ID snowflake `json:"id"`
		}
		if json.Unmarshal(raw, &head) == nil {
			p.last = max(p.last, head.ID)
		}
	}
	if p.last == 0 {
		p.more = false
	}
	return p
}

// patiently makes a call again after each rate limit, until ctx ends.
func patiently[T any](ctx context.Context, call func() (T, error)) (T, error) {
	for {
		result, err := call()
		wait, limited := limitedFor(err)
		if !limited || !retry.Sleep(ctx, wait) {
			return result, err
		}
	}
}

package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/channels/wire"
	"switchboard/internal/retry"
)

const (
	// directWithin is how long ago a direct chat may have been active for its history to be asked
	// for: the platform lists no direct chats, so each costs a call.
	directWithin = 7 * 24 * time.Hour
	// newcomer is how far back the history of a place without a mark is read where there is no
	// mark at all.
	newcomer = 10 * time.Minute
	// pageSize is how many messages one call of the history brings.
	//
	// Source: https://docs.discord.com/developers/resources/message#get-channel-messages.
	pageSize = 100
)

// A gap is a channel whose history must be read after a message, or of which it must be asked what
// it is.
type gap struct {
	channel snowflake
	after   snowflake
	until   snowflake // a message that is told live, and what comes behind it; 0: to the end
	not     time.Time // before
	waits   time.Time // since when events wait for it; zero: none did
	failed  bool      // it could not be read
	free    bool      // nothing waits for it any more: it is read when that can be
}

// gaps are the channels whose history must be read before what is told of them now. It is used
// by one goroutine at a time.
type gaps struct {
	marks map[snowflake]snowflake // the newest message taken, or the first one that is known of
	list  []gap                   // in the order they are to be read
	// lately is when the channel was last told anything, as a message's number; 0: the session is
	// resumed. alive is since when something may have been missed in direct chats without a mark.
	lately, alive snowflake
}

// newGaps reads the marks: of direct chats those that were active lately, newest first; of
// guilds' channels it is known when the guild is told whether there is anything newer.
func newGaps(marks []channels.Mark) *gaps {
	o := &gaps{marks: map[snowflake]snowflake{}}
	for _, m := range marks {
		s, err := parseMark(m)
		switch {
		case err != nil: // of a channel of another kind that had this name
		case !s.direct:
			o.marks[s.channel] = s.message
		case time.Since(m.At) < directWithin:
			o.list, o.marks[s.channel] = append(o.list, gap{channel: s.channel, after: s.message}), s.message
		}
	}
	return o
}

// begun are the gaps where another session begins: in places without a mark, too, something
// may have been written since the newest mark was noted.
func begun(marks []channels.Mark, now time.Time) *gaps {
	o, oldest := newGaps(marks), since(now.Add(-directWithin))
	if len(marks) == 0 {
		o.lately = since(now.Add(-newcomer))
		o.alive = o.lately
		return o
	}
	o.lately = max(since(marks[0].At.Add(-clocks)), oldest)
	o.alive = o.lately
	if at, err := parseMark(marks[0]); err == nil && at.alive != 0 {
		o.alive = max(min(at.alive, o.lately), oldest) // nobody knows that all since then was taken
	}
	return o
}

// resumes are the gaps in a session that is resumed at a spot. The platform does not tell
// again of guilds, so each of their channels is read where there were gaps.
func resumes(marks []channels.Mark, at spot) *gaps {
	o := newGaps(marks)
	for channel, mark := range o.marks {
		if o.index(channel) < 0 {
			o.list = append(o.list, gap{channel: channel, after: mark})
		}
	}
	if o.alive = at.alive; !at.owed {
		o.list = nil
	}
	return o
}

// meet notes as a gap the history of a direct chat without a mark until the first message that is told
// live: what was missed there comes before. The platform lists no direct chats.
func (o *gaps) meet(channel, message snowflake) {
	if o.alive != 0 && o.marks[channel] == 0 {
		o.list, o.marks[channel] = append(o.list, gap{channel: channel, after: o.alive, until: message}), message
	}
}

// unknown has a channel's messages wait, from this one on, until it is known whose it is.
func (o *gaps) unknown(channel, message snowflake) {
	o.list = append(o.list, gap{channel: channel, after: message - 1, until: message})
}

// newest notes the newest message of a guild's channel; where there is no mark, what came after
// lately is a gap.
func (o *gaps) newest(channel, message, lately snowflake) {
	mark := cmp.Or(o.marks[channel], lately)
	delete(o.marks, channel)
	if mark != 0 && message > mark && o.index(channel) < 0 {
		o.list = append(o.list, gap{channel: channel, after: mark})
	}
}

// holds says that what is told of a channel waits for its history.
func (o *gaps) holds(channel snowflake) bool {
	i := o.index(channel)
	if i < 0 || o.list[i].free {
		return false
	}
	if o.list[i].waits.IsZero() {
		o.list[i].waits = time.Now()
	}
	return true
}

// release lets nothing wait any more for history that could not be read for so long, and says
// whether there was any.
func (o *gaps) release(after time.Duration) (some bool) {
	for i := range o.list {
		if w := &o.list[i]; w.failed && !w.free && !w.waits.IsZero() && time.Since(w.waits) >= after {
			w.free, some = true, true
		}
	}
	return some
}

// freed says that what is told of a channel has waited for long enough.
func (o *gaps) freed(channel snowflake) bool {
	i := o.index(channel)
	return i >= 0 && o.list[i].free
}

// behind is the mark of what is taken before the history that it should have waited for: that is
// read from the same message on, also by another process.
func (o *gaps) behind(m channels.Mark) channels.Mark {
	s, err := parseMark(m)
	if err == nil && o.freed(s.channel) {
		s.message = o.list[o.index(s.channel)].after
		return s.mark()
	}
	return m
}

func (o *gaps) index(channel snowflake) int {
	return slices.IndexFunc(o.list, func(w gap) bool { return w.channel == channel })
}

// next is the channel to read next, one that events wait for first; nil: none.
func (o *gaps) next(wait map[snowflake]bool) *gap {
	if len(o.list) == 0 {
		return nil
	}
	return &o.list[max(slices.IndexFunc(o.list, func(w gap) bool { return wait[w.channel] }), 0)]
}

// later puts a channel whose history could not be read behind the others.
func (o *gaps) later(channel snowflake) {
	i := o.index(channel)
	if i < 0 {
		return
	}
	w := o.list[i]
	w.not, w.failed = time.Now().Add(5*time.Second), true
	o.list = append(slices.Delete(o.list, i, i+1), w)
}

// read notes that a page was taken, and says whether it was the last one.
func (o *gaps) read(p page) (last bool) {
	i := o.index(p.gap.channel)
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
	gap      gap
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

// fetch reads the next page of a channel.
func (b *backfill) fetch(ctx context.Context, k *places, w gap, pages chan<- page) {
	b.busy = true
	b.wg.Go(func() {
		retry.Sleep(ctx, time.Until(w.not))
		p := k.page(ctx, w)
		select {
		case pages <- p:
		case <-ctx.Done():
		}
	})
}

var errUnknownPlace = errors.New("the platform does not say what the channel is")

// page reads one page; a rate limit is waited for. A channel that is closed to the bot now has
// none. History does not say in which guild it is, so the platform is asked where it did not tell.
// Between two messages that follow each other there is nothing to read.
func (k *places) page(ctx context.Context, w gap) page {
	p := page{gap: w}
	ctx, cancel := context.WithTimeout(ctx, k.api.pace.page)
	defer cancel()
	var err error
	where, known := k.known.Get(w.channel)
	if !known || !where.again.IsZero() {
		if where, err = k.askPlace(ctx, w.channel); err == nil && !where.again.IsZero() {
			err = errUnknownPlace
		}
	}
	if err == nil {
		err = k.readStarter(ctx, where)
	}
	if p.err = err; err != nil || where.Guild == 0 && where.Type != typeDirect || w.until == w.after+1 {
		return p
	}
	list, err := wire.Retry(ctx, func() ([]json.RawMessage, error) { return k.api.history(ctx, w.channel, w.after) })
	if wire.Final(err) {
		return p
	}
	p.err, p.messages, p.more = err, list, len(list) == pageSize
	for i, raw := range p.messages {
		p.last = max(p.last, numberOf(raw))
		if w.until != 0 && p.last >= w.until {
			p.messages, p.more = p.messages[:i], false
			break
		}
	}
	p.more = p.more && p.last != 0
	return p
}

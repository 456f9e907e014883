package console

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"time"
	"unicode/utf8"

	"switchboard/channels"
	"switchboard/internal/api"
	"switchboard/internal/retry"
)

// kindDelta is the kind of an event without a number: a piece of a text that grows.
const kindDelta = "delta"

// deltaEvery is how often a client is told more of a text that grows.
const deltaEvery = 40 * time.Millisecond

// A delta is the data of such an event: the text of the turn's next message is what
// stood before byte From of what the client knows, and Text behind it. No text at
// all: there is none to be seen any more.
type delta struct {
	From int    `json:"from"`
	Text string `json:"text"`
}

// growing is the text that a turn's next message has so far.
type growing struct {
	turn int64
	text string
}

// add takes a delta that a client was sent.
func (g *growing) add(e channels.SessionEvent) {
	var d delta
	if json.Unmarshal(e.Data, &d) != nil || d.From > 0 && (e.TurnID != g.turn || d.From > len(g.text)) {
		return // of a text that is not known; the next one that begins is whole
	}
	*g = growing{e.TurnID, g.text[:d.From] + d.Text}
}

// ended says that e is a message, or the end of a turn, in whose place there may have
// been a text; that text is forgotten.
func (g *growing) ended(e channels.SessionEvent) bool {
	if e.TurnID == 0 || !says(e) && !ends(e) {
		return false
	}
	if g.turn == e.TurnID {
		*g = growing{}
	}
	return true
}

// cut is the text that e ends without saying it: a notice comes instead, or nothing;
// empty: there is none.
func (g *growing) cut(e channels.SessionEvent) string {
	if e.TurnID == g.turn && (says(e) && e.Message.Notice || ends(e)) {
		return g.text
	}
	return ""
}

// since is what turns known into g; none: they are the same.
func (g growing) since(known growing) (event channels.SessionEvent, some bool) {
	if g == known {
		return event, false
	}
	d := delta{Text: g.text}
	if g.turn == known.turn {
		for d.From < min(len(g.text), len(known.text)) && g.text[d.From] == known.text[d.From] {
			d.From++
		}
		for d.From > 0 && d.From < len(g.text) && !utf8.RuneStart(g.text[d.From]) {
			d.From--
		}
		d.Text = g.text[d.From:]
	}
	data, err := json.Marshal(d)
	return channels.SessionEvent{Kind: kindDelta, TurnID: cmp.Or(g.turn, known.turn), Data: data, At: time.Now().UTC()}, err == nil
}

// Stream implements channels.Streamer.
func (c *Channel) Stream(conv channels.ConversationID, turn int64, text string) (shown bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case text != "":
		c.live[conv] = growing{turn, text}
	case c.live[conv].turn == turn: // and not what the next one writes already
		delete(c.live, conv)
	}
	for f := range c.feeds {
		if f.conv == conv && f.live {
			shown = true
			retry.Signal(f.grown)
		}
	}
	return shown
}

// growing is the text in conv that grows; empty: there is none.
func (c *Channel) growing(conv channels.ConversationID) growing {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.live[conv]
}

// A feed is what one client is sent of a conversation: the events after a number, up to
// another; -1: without end.
type feed struct {
	c        *Channel
	w        http.ResponseWriter
	out      *http.ResponseController
	conv     channels.ConversationID
	session  string
	after    int64
	until    int64
	live     bool // texts that grow are sent as well
	notified chan struct{}
	grown    chan struct{}
	known    growing // what the client knows of the text that grows
	past     growing // what grew when its message came, and may still stand there
}

// run writes events as they come, until ctx ends. Up to an end it waits for nothing.
func (f *feed) run(ctx context.Context) error {
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	grown := f.grown
	var pace <-chan time.Time // set: it is too early for more of a text that grows
page:
	for {
		now := f.c.growing(f.conv)
		whole, err := f.events(ctx)
		if err != nil || ctx.Err() != nil || whole && f.until >= 0 {
			return err
		}
		if !whole {
			continue
		}
		for sure := true; ; sure = false {
			select {
			case <-f.notified:
				continue page
			default:
			}
			// A message comes before the end of the text that grew into it. It may be there
			// without a notification: its own engine's may overtake what we are told of the text.
			if !sure && now.text == "" && f.known.text != "" {
				continue page
			}
			if pace == nil && f.live {
				wrote, err := f.delta(now)
				if err != nil {
					return err
				}
				if wrote {
					grown, pace = nil, time.After(deltaEvery)
				}
			}
			select {
			case <-ctx.Done():
				return nil
			case <-f.notified:
				continue page
			case <-poll.C:
				continue page
			case <-pace:
				grown, pace = f.grown, nil
			case <-grown:
			}
			now = f.c.growing(f.conv)
		}
	}
}

// events writes the next page of events. whole: there are no more now.
func (f *feed) events(ctx context.Context) (whole bool, err error) {
	events, err := f.c.reader.Events(ctx, f.session, f.after, page)
	if err != nil || ctx.Err() != nil {
		return true, err
	}
	_ = f.out.SetWriteDeadline(time.Now().Add(api.WriteWait)) // not every writer has one
	encoder := json.NewEncoder(f.w)
	for _, e := range events {
		if f.until >= 0 && e.N > f.until {
			return true, nil
		}
		if err := encoder.Encode(e); err != nil {
			return true, err
		}
		f.after = e.N
		if f.known.ended(e) {
			f.past = f.c.growing(f.conv)
		}
	}
	return len(events) < page, f.out.Flush()
}

// delta writes what is new of the text that grows.
func (f *feed) delta(now growing) (wrote bool, err error) {
	event, some := now.since(f.known)
	if !some || now.text != "" && now == f.past {
		return false, nil
	}
	_ = f.out.SetWriteDeadline(time.Now().Add(api.WriteWait))
	if err := json.NewEncoder(f.w).Encode(event); err != nil {
		return true, err
	}
	f.known = now
	return true, f.out.Flush()
}

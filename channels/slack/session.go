package slack

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/channels/wire"
)

// A session is one Run: where events go, and what was read so far.
type session struct {
	reader
	sink   channels.Sink
	short  int                                  // connections in a row that ended soon
	alive  time.Time                            // when events were last taken before this
	shared time.Time                            // until when another connection may be told a part
	pairs  bool                                 // a mention is told as a message, too
	whole  wire.Memory[channels.EventKey, bool] // mentions that were taken
}

// sharedFor is how long a connection that died or hangs may still be told messages: until the
// platform misses its signs of life, with room to spare.
const sharedFor = time.Minute

func newSession(ctx context.Context, c *Client, sink channels.Sink, me *self) (*session, error) {
	s := &session{
		reader: reader{c: c, me: me, acct: me.account(), marks: &marks{known: notes{}, groups: map[string]bool{}}}, sink: sink,
		pairs: me.can("app_mentions:read") && (me.can("channels:history") || me.can("groups:history") || me.can("mpim:history")),
	}
	list, err := sink.Marks(ctx)
	if err != nil {
		return nil, err
	}
	s.alive = time.Now()
	if len(list) > 0 {
		s.alive = s.alive.Add(-recent)
	}
	for _, m := range list {
		s.marks.note(s.marks.known, m, m.At)
		if m.At.After(s.alive) {
			s.alive = m.At
		}
	}
	return s, nil
}

// An item is one thing that the platform told.
type item struct {
	envelope string // to be acknowledged; empty: nothing is
	event    *channels.Event
	message  *wireMessage            // whose place is decided when it is handed in; nil: it is in event
	history  channels.ConversationID // the channel or thread in whose history it is found; empty: none
	press    *press
	end      error     // the connection is going to end
	at       time.Time // of what history tells: when it happened

	came   time.Time // since when it waits
	alone  time.Time // until when what else is told of it is waited for; zero: it is not
	unread bool      // what came before it was not read: it moves no mark
}

// accept hands the events of items in, in order: whether a thread is the bot's goes by what was taken
// and by what stands before.
func (s *session) accept(ctx context.Context, items []item) error {
	first := map[channels.EventKey]int{}
	for i, it := range items {
		if it.message == nil || it.event == nil {
			continue
		}
		n, told := first[it.event.Key]
		switch {
		case !told:
			first[it.event.Key] = i
		case it.message.Type != items[n].message.Type:
			items[n], items[i].event = s.merge(ctx, items[n], it), nil
		}
	}
	var events []channels.Event
	ahead, now := notes{}, time.Now()
	for _, it := range items {
		if it.event == nil {
			continue
		}
		s.put(&it, ahead)
		s.marks.note(ahead, it.event.Mark, now)
		events = append(events, *it.event)
	}
	if len(events) == 0 {
		return nil
	}
	if _, err := s.sink.Accept(ctx, events); err != nil {
		return err
	}
	now = time.Now()
	for _, e := range events {
		s.marks.note(s.marks.known, e.Mark, now)
		if e.Message.Mentioned && e.Kind == channels.EventMessage {
			s.whole.Put(e.Key, true)
		}
	}
	return nil
}

// A frame is what comes on the socket.
type frame struct {
	Type     string          `json:"type"`
	Reason   string          `json:"reason"` // of the end
	Envelope string          `json:"envelope_id"`
	Payload  json.RawMessage `json:"payload"`
	Count    int             `json:"num_connections"`
}

var envelopePattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"envelope_id"\s*:\s*"([^"\\]{1,200})"`)
})

// decode reads one frame. What cannot be read becomes EventUndecodable under its
// envelope, so that it is kept and acknowledged.
func (s *session) decode(raw []byte) item {
	var f frame
	if err := json.Unmarshal(raw, &f); err != nil {
		found := envelopePattern().FindSubmatch(raw)
		if found == nil {
			return item{}
		}
		return item{envelope: string(found[1]), event: s.undecodable(raw, err)}
	}
	it, err := item{}, error(nil)
	switch f.Type {
	case "hello":
		s.hello(f.Count)
		return item{}
	case "disconnect":
		return item{end: ended(f.Reason)}
	case "events_api":
		it, err = s.callback(f.Payload)
	case "interactive":
		it, err = s.interaction(f.Payload)
	case "slash_commands":
		it, err = s.command(f.Payload)
	default:
		err = errors.New("a frame of a kind that is not known here")
	}
	if err != nil {
		it = item{event: s.undecodable(f.Payload, err)}
	}
	it.envelope = f.Envelope
	return it
}

func (s *session) hello(connections int) {
	if login, err := s.c.Login(); err == nil {
		s.c.Refused.Served(login.All)
	}
	if connections > 1 {
		s.shared = time.Now().Add(sharedFor)
		s.c.Log.Warn("another program is connected as this app; each is told a part of the events", "connections", connections)
	}
}

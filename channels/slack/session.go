package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"switchboard/channels"
	"switchboard/channels/wire"
)

// A session is one Run: where events go, and what was read so far.
type session struct {
	c     *Client
	sink  channels.Sink
	me    *self
	acct  account
	short int       // connections in a row that ended soon
	alive time.Time // when events were last taken before this

	taking chan struct{}                        // held while events are handed in
	pairs  bool                                 // a mention is told as a message, too
	whole  wire.Memory[channels.EventKey, bool] // mentions that were taken

	mu     sync.Mutex
	marks  marks
	groups map[string]bool // channels that are group messages
	shared time.Time       // until when another connection may be told a part
}

// marks are what is noted of channels and threads.
type marks map[channels.ConversationID]noted

// A noted is a mark with when it was noted.
type noted struct {
	mark
	at time.Time
}

// sharedFor is how long a connection that died or hangs may still be told messages: until the
// platform misses its signs of life, with room to spare.
const sharedFor = time.Minute

// pressesAtOnce bounds the answers to presses that are under way.
const pressesAtOnce = 16

func newSession(ctx context.Context, c *Client, sink channels.Sink, me *self) (*session, error) {
	s := &session{
		c: c, sink: sink, me: me, acct: me.account(), taking: make(chan struct{}, 1), marks: marks{}, groups: map[string]bool{},
		pairs: me.can("app_mentions:read") && (me.can("channels:history") || me.can("groups:history") || me.can("mpim:history")),
	}
	list, err := sink.Marks(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	s.alive = now.Add(-recent)
	if len(list) == 0 {
		s.alive = now
	}
	for _, m := range list {
		s.note(s.marks, m, m.At)
		if m.At.After(s.alive) {
			s.alive = m.At
		}
	}
	return s, nil
}

// note remembers a mark in marks. One of a thread says how far its channel was read, too, where the
// thread's first message was read with that.
func (s *session) note(in marks, m channels.Mark, at time.Time) {
	parsed, ok := parseMark(m.Value)
	channel, thread, err := parseConversation(m.Conversation)
	if !ok || err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remember(in, m.Conversation, parsed, at)
	if thread != "" && parsed.root {
		s.remember(in, conversationID(channel, ""), mark{ts: thread}, at)
	}
	if parsed.group {
		s.groups[channel] = true
	}
}

// remember is called under the lock.
func (s *session) remember(in marks, id channels.ConversationID, m mark, at time.Time) {
	old, ok := in[id]
	if !ok {
		old = s.marks[id]
	}
	m.ts = newer(old.ts, m.ts)
	m.mentioned, m.root, m.group = m.mentioned || old.mentioned, m.root || old.root, m.group || old.group
	if old.at.After(at) {
		at = old.at
	}
	in[id] = noted{m, at}
}

// mark is what is noted with a message: how far its channel or thread was read.
func (s *session) mark(id channels.ConversationID, m mark, ahead marks) channels.Mark {
	old, _ := s.marked(id, ahead)
	m.ts = newer(old.ts, m.ts)
	m.mentioned, m.root = m.mentioned || old.mentioned, m.root || old.root
	return channels.Mark{Conversation: id, Value: m.String()}
}

// marked is the mark of a channel or thread; ahead are marks that are not committed yet.
func (s *session) marked(id channels.ConversationID, ahead marks) (m noted, ok bool) {
	if m, ok = ahead[id]; ok {
		return m, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok = s.marks[id]
	return m, ok
}

func (s *session) isGroup(channel string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.groups[channel]
}

// An item is one thing that the platform told.
type item struct {
	envelope string // to be acknowledged; empty: nothing is
	event    *channels.Event
	said     *wireMessage            // whose place is decided when it is handed in; nil: it is in event
	history  channels.ConversationID // the channel or thread in whose history it is found; empty: none
	press    *press
	end      error // the connection is going to end

	came   time.Time // since when it waits
	alone  time.Time // until when what else is told of it is waited for; zero: it is not
	unread bool      // what came before it was not read: it moves no mark
}

// accept hands the events of items in, in order: whether a thread is the bot's goes by what was taken
// and by what stands before.
func (s *session) accept(ctx context.Context, items []item) error {
	select {
	case s.taking <- struct{}{}:
		defer func() { <-s.taking }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	first := map[channels.EventKey]int{}
	for i, it := range items {
		if it.said == nil || it.event == nil {
			continue
		}
		n, told := first[it.event.Key]
		switch {
		case !told:
			first[it.event.Key] = i
		case it.said.Type != items[n].said.Type:
			items[n], items[i].event = s.together(ctx, items[n], it), nil
		}
	}
	var events []channels.Event
	ahead, now := marks{}, time.Now()
	for _, it := range items {
		if it.event == nil {
			continue
		}
		s.put(&it, ahead)
		s.note(ahead, it.event.Mark, now)
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
		s.note(s.marks, e.Mark, now)
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
	if acc, err := s.c.open(); err == nil {
		s.c.refused.Served(acc.secret())
	}
	if connections > 1 {
		s.mu.Lock()
		s.shared = time.Now().Add(sharedFor)
		s.mu.Unlock()
		s.c.log.Warn("another program is connected as this app; each is told a part of the events", "connections", connections)
	}
}

// undecodable is an event that cannot be read.
func (s *session) undecodable(raw []byte, why error) *channels.Event {
	var head struct {
		ID string `json:"event_id"`
	}
	_ = json.Unmarshal(raw, &head)
	return wire.Undecodable(s.c.name, s.acct.undecodable(head.ID, raw), raw, why)
}

// nameWithin bounds the look-up of a name, which holds back what comes; after one without an
// answer none is made for restNames.
const nameWithin, restNames = 2 * time.Second, time.Minute

// name is what a user is called; their ID where that cannot be told now.
//
// Source: https://docs.slack.dev/reference/methods/users.info.
func (c *Client) nameOf(ctx context.Context, user string) string {
	if name, known := c.names.Get(user); known {
		return name
	}
	if time.Since(time.Unix(0, c.nameless.Load())) < restNames {
		return user
	}
	type info struct {
		User struct {
			Name    string `json:"name"`
			Real    string `json:"real_name"`
			Profile struct {
				Display string `json:"display_name"`
			} `json:"profile"`
		} `json:"user"`
	}
	answer, x, err := ask[info](ctx, c, "users.info", nameWithin, func(ctx context.Context, lib *slack.Client) error {
		_, err := lib.GetUserInfoContext(ctx, user)
		return err
	})
	if err != nil && x.reply == nil {
		c.nameless.Store(time.Now().UnixNano())
		return user // it is asked again
	}
	name := cmp.Or(answer.User.Profile.Display, answer.User.Real, answer.User.Name, user)
	c.names.Put(user, name)
	return name
}

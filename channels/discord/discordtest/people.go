package discordtest

import (
	"slices"
	"strings"

	"switchboard/channels/platformtest"
)

// A Post is what somebody writes, to be given to Server.Post.
type Post struct {
	Channel   string
	From      string // the user; empty: whoever the direct chat is with
	Text      string
	ReplyTo   string
	Files     []File
	Forwarded string // the text of a message that is forwarded
	Type      int    // of a system message; 0: an ordinary one
	Webhook   bool
}

// people are those who write, press and go.
type people struct{ *events }

// Say makes a person write to the bot in the direct chat.
func (s *people) Say(user, text string) Message {
	return s.Post(Post{Channel: s.Direct(user).ID, From: user, Text: text})
}

// SayIn makes a person write in a channel.
func (s *people) SayIn(channel, user, text string) Message {
	return s.Post(Post{Channel: channel, From: user, Text: text})
}

// Post makes somebody write. It panics where the channel or the person is not there, for that
// is a mistake of the test.
func (s *people) Post(w Post) (m Message) {
	s.Change(func() {
		p := s.mustPlace(w.Channel)
		if w.From == "" && p.Type == TypeDirect {
			w.From = p.Recipients[0].ID
		}
		u := s.users[w.From]
		if u == nil {
			panic(detail("there is no user %q", w.From))
		}
		n := &stored{Message: Message{Content: w.Text, Type: w.Type}}
		if w.ReplyTo != "" {
			_ = s.answers(p, n, &Reference{MessageID: w.ReplyTo})
		}
		if w.Forwarded != "" {
			n.Reference, n.Snapshots = &Reference{Type: 1, MessageID: s.id(), ChannelID: p.ID}, []Snapshot{{}}
			n.Snapshots[0].Message.Content = w.Forwarded
		}
		s.post(p, n, *u, w.Files)
		p.archived = false
		m = *n.wire()
		s.tell("MESSAGE_CREATE", p.GuildID, m)
	})
	return m
}

// Edit makes the author change the text of a message.
func (s *people) Edit(channel, id, text string) (m Message) {
	s.Change(func() {
		p, n := s.find(channel, id)
		s.rewrite(p, n, text)
		m = *n.wire()
		s.tell("MESSAGE_UPDATE", p.GuildID, m)
	})
	return m
}

// Preview tells that a link in a message got its preview; nobody edited it.
func (s *people) Preview(channel, id string) {
	s.Change(func() {
		p, n := s.find(channel, id)
		n.Embeds = []Embed{{Type: "link", URL: "https://example.org/"}}
		s.tell("MESSAGE_UPDATE", p.GuildID, *n.wire())
	})
}

// Delete takes a message back.
func (s *people) Delete(channel, id string) {
	s.Change(func() {
		p, n := s.find(channel, id)
		s.remove(p, n)
	})
}

// React makes a person put a sign on a message, or take it off.
func (s *people) React(channel, user, id, emoji string, on bool) {
	s.Change(func() {
		p, n := s.find(channel, id)
		s.sign(p, n, user, emoji, on)
	})
}

// FromBot are the messages that the bot wrote in a channel and that are still there.
func (s *people) FromBot(channel string) []Message {
	return slices.DeleteFunc(s.History(channel), func(m Message) bool { return m.Author.ID != s.bot.ID })
}

// History are the messages of a channel, the oldest first.
func (s *people) History(channel string) (list []Message) {
	s.Lock()
	defer s.Unlock()
	if p := s.places[channel]; p != nil {
		for _, m := range p.messages {
			list = append(list, *m.wire())
		}
	}
	return list
}

// Threads are the threads of a channel, by the order of their numbers.
func (s *people) Threads(channel string) (list []Channel) {
	s.Lock()
	defer s.Unlock()
	for _, p := range s.places {
		if p.Type == TypeThread && p.ParentID == channel {
			list = append(list, p.Channel)
		}
	}
	slices.SortFunc(list, func(a, b Channel) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// Furnish makes what a person needs to try a bot: two people, a guild of both with two
// channels, and their direct chats. It returns the first person.
func (s *Server) Furnish() User {
	ada, bob := s.AddUser("Ada Lovelace"), s.AddUser("Bob Noyce")
	home := s.AddGuild("Friends", ada, bob)
	s.AddChannel(home, "general")
	s.AddThread(s.AddChannel(home, "workshop").ID, "Repairs")
	s.Direct(ada.ID)
	s.Direct(bob.ID)
	return ada
}

var _ platformtest.Page = (*Server)(nil)

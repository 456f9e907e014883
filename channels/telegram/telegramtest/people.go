package telegramtest

import (
	"strings"
)

// A Post is what somebody writes, to be given to Server.Post. Chat and From are IDs;
// everything else may be left empty.
type Post struct {
	Chat     int64 // a direct chat's ID is the user's
	From     int64 // empty: the user of the direct chat
	Bot      *Bot  // whose direct chat; nil: the first bot's
	Thread   int64 // the topic
	Text     string
	Entities []Entity // nil: as the platform finds them (commands, mentions, links)
	ReplyTo  int64
	Quote    string // a part of the message replied to
	Forward  *Origin
	Files    []File // several become one media group, each its own message; Text is the first one's caption
	Location *Location
	Contact  *Contact
}

// Say makes a user write text to the first bot in a direct chat and returns the
// message.
func (s *people) Say(user int64, text string) Message {
	return s.Post(Post{Chat: user, Text: text})[0]
}

// SayIn makes a user write text in a group.
func (s *people) SayIn(chatID, user int64, text string) Message {
	return s.Post(Post{Chat: chatID, From: user, Text: text})[0]
}

// Post makes somebody write and returns the messages: one, or those of a media group.
// It panics when the chat or the user is not there, for that is a mistake of the test.
func (s *people) Post(p Post) (messages []Message) {
	s.Change(func() {
		c := s.mustChat(p.Bot, p.Chat)
		if p.From == 0 {
			p.From = p.Chat
		}
		if s.users[p.From] == nil && c.Type != "channel" {
			panic(detail("telegramtest: there is no user %d", p.From))
		}
		group := ""
		if len(p.Files) > 1 {
			group = s.id()
		}
		for i := range max(1, len(p.Files)) {
			r := &record{Message: Message{MediaGroupID: group}, by: p.From}
			s.fill(c, r, p, i)
			s.post(c, r)
			s.announce(c, r, false)
			messages = append(messages, r.Message)
		}
	})
	return messages
}

// fill puts what p says about its message i into r.
func (s *people) fill(c *chat, r *record, p Post, i int) {
	entities := p.Entities
	if entities == nil {
		entities = Detect(p.Text, nil)
	}
	switch {
	case len(p.Files) == 0:
		r.Text, r.Entities = p.Text, entities
	case i == 0:
		r.Caption, r.CaptionEntities = p.Text, entities
	}
	if len(p.Files) > 0 {
		s.attach(&r.Message, p.Files[i])
	}
	r.Location, r.Contact, r.ForwardOrigin = p.Location, p.Contact, p.Forward
	if o := r.ForwardOrigin; o != nil && o.Date == 0 {
		o.Date = s.Now().Unix() - 60
	}
	if p.ReplyTo != 0 {
		if to := c.byID(p.ReplyTo); to != nil {
			r.reply(&to.Message)
		}
	}
	if p.Quote != "" && r.ReplyTo != nil {
		before, _, _ := strings.Cut(r.ReplyTo.Text+r.ReplyTo.Caption, p.Quote)
		r.Quote = &TextQuote{Text: p.Quote, Position: Units(before), IsManual: true}
	}
	c.place(r, p.Thread)
}

// Edit makes the author change the text of a message, or the caption of one with a
// file, and returns its new state.
func (s *people) Edit(chatID, id int64, text string) (m Message) {
	s.Change(func() {
		c := s.mustChat(nil, chatID)
		r := c.byID(id)
		if r == nil {
			panic(detail("telegramtest: there is no message %d", id))
		}
		r.remember()
		if r.Text != "" {
			r.Text, r.Entities = text, Detect(text, nil)
		} else {
			r.Caption, r.CaptionEntities = text, Detect(text, nil)
		}
		r.EditDate = s.Now().Unix()
		s.announce(c, r, true)
		m = r.Message
	})
	return m
}

// Reannounce tells the bots of an edit that changes nothing, as the platform does
// when a link got its preview.
func (s *people) Reannounce(chatID, id int64) {
	s.Change(func() {
		c := s.mustChat(nil, chatID)
		if r := c.byID(id); r != nil {
			r.EditDate = s.Now().Unix()
			s.announce(c, r, true)
		}
	})
}

// Delete takes a message back. The platform does not tell bots of it.
func (s *people) Delete(chatID, id int64) {
	s.Change(func() {
		if r := s.mustChat(nil, chatID).byID(id); r != nil {
			r.deleted = true
		}
	})
}

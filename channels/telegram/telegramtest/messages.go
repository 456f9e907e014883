package telegramtest

import (
	"slices"
	"strings"
)

// byID is a message that is still there; nil: there is none.
func (c *chat) byID(id int64) *record {
	for i := len(c.records) - 1; i >= 0; i-- {
		if r := c.records[i]; r.ID == id && !r.deleted {
			return r
		}
	}
	return nil
}

// reply makes r an answer to m, which is told without what m itself answers to.
func (r *record) reply(m *Message) {
	to := *m
	to.ReplyTo = nil
	r.ReplyTo = &to
}

// place puts r into a topic, or into the thread of what it answers to. In a topic
// whatever answers to nothing answers to the message that made the topic; in a
// supergroup without topics answers have a message_thread_id too.
func (c *chat) place(r *record, thread int64) {
	switch {
	case c.IsForum && thread != 0:
		r.ThreadID, r.IsTopicMessage = thread, true
		if first := c.byID(thread); r.ReplyTo == nil && first != nil {
			r.reply(&first.Message)
		}
	case c.Type == "supergroup" && !c.IsForum && r.ReplyTo != nil:
		r.ThreadID = r.ReplyTo.ID
		if r.ReplyTo.ThreadID != 0 {
			r.ThreadID = r.ReplyTo.ThreadID
		}
	}
}

// post gives r its number, date and author and puts it at the end of the chat.
func (s *world) post(c *chat, r *record) *record {
	*c.next++
	r.ID, r.Date, r.Chat, r.at = *c.next, s.Now().Unix(), c.Chat, len(c.records)
	if u := s.users[r.by]; c.Type == "channel" {
		channel := c.Chat
		r.SenderChat = &channel
	} else if u != nil {
		author := *u
		r.From = &author
	}
	c.records = append(c.records, r)
	return r
}

// announce tells the bots in the chat of a message or of its new state.
func (s *world) announce(c *chat, r *record, edited bool) {
	for _, b := range s.bots {
		if r.by == b.User.ID || !c.present(b) || b.privacy && !s.concerns(b, c, r) {
			continue
		}
		m := r.Message
		switch channel := c.Type == "channel"; {
		case channel && edited:
			s.queue(b, Update{EditedChannelPost: &m})
		case channel:
			s.queue(b, Update{ChannelPost: &m})
		case edited:
			s.queue(b, Update{EditedMessage: &m})
		default:
			s.queue(b, Update{Message: &m})
		}
	}
}

// present reports whether a bot reads the chat.
func (c *chat) present(b *Bot) bool {
	if c.key.bot != 0 && c.key.bot != b.User.ID {
		return false
	}
	status := c.members[b.User.ID]
	return status != "" && status != "left" && status != "kicked"
}

// concerns says what a bot in privacy mode is told.
func (s *world) concerns(b *Bot, c *chat, r *record) bool {
	if c.Type == "private" || c.Type == "channel" || c.members[b.User.ID] == "administrator" || r.Text+r.Caption == "" {
		return true
	}
	if r.ReplyTo != nil && r.ReplyTo.From != nil && r.ReplyTo.From.ID == b.User.ID {
		return true
	}
	text, name := r.Text+r.Caption, "@"+b.User.Username
	return slices.ContainsFunc(slices.Concat(r.Entities, r.CaptionEntities), func(e Entity) bool {
		word := cut(text, e.Offset, e.Length)
		_, to, named := strings.Cut(word, "@")
		return e.Type == "mention" && strings.EqualFold(word, name) ||
			e.Type == "bot_command" && (!named || strings.EqualFold("@"+to, name)) ||
			e.Type == "text_mention" && e.User != nil && e.User.ID == b.User.ID
	})
}

// remember keeps the state that r had.
func (r *record) remember() { r.history = append(r.history, r.Message) }

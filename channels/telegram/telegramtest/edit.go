package telegramtest

import (
	"reflect"
	"time"
)

const pageEdit = "editmessagetext"

// notModified is what the platform says to an edit that changes nothing.
const notModified = "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message"

// own finds the bot's message that is to be edited.
func (s *Server) own(b *Bot, p *params, page string) (*chat, *record, *Rejection) {
	c, rejected := s.target(b, p)
	if rejected != nil {
		return nil, nil, rejected
	}
	id := p.int("message_id")
	switch r := c.byID(id); {
	case p.wrong != nil:
		return nil, nil, p.wrong
	case id == 0:
		return nil, nil, bad(page, "message identifier is not specified")
	case r == nil:
		return nil, nil, bad(page, "message to edit not found")
	case r.by != b.User.ID:
		return nil, nil, bad(page, "message can't be edited")
	default:
		return c, r, nil
	}
}

// revise gives a message its new state, unless nothing changes.
func (s *Server) revise(c *chat, r *record, page string, change func(m *Message)) (any, *Rejection) {
	fresh := r.Message
	change(&fresh)
	if fresh.Text == r.Text && same(fresh.Entities, r.Entities) && fresh.Caption == r.Caption &&
		same(fresh.CaptionEntities, r.CaptionEntities) && reflect.DeepEqual(fresh.ReplyMarkup, r.ReplyMarkup) {
		return nil, bad(page, "%s", notModified)
	}
	if rejected := s.limit(c, 1); rejected != nil {
		return nil, rejected
	}
	for _, b := range s.bots {
		if b.User.ID == r.by {
			delete(b.typing, c.key)
		}
	}
	r.remember()
	fresh.EditDate = s.now().Unix()
	r.Message = fresh
	return r.Message, nil
}

func (s *Server) editMessageText(b *Bot, p *params) (any, *Rejection) {
	c, r, rejected := s.own(b, p, pageEdit)
	if rejected != nil {
		return nil, rejected
	}
	if p.values["text"] == "" {
		return nil, bad(pageEdit, "message text is empty")
	}
	text, entities, rejected := p.formatted("text", "entities", maxText)
	if rejected != nil {
		return nil, rejected
	}
	keys, rejected := p.keyboard()
	switch {
	case rejected != nil:
		return nil, rejected
	case text == "":
		return nil, bad(pageEdit, "text must be non-empty")
	case r.Text == "":
		return nil, bad(pageEdit, "there is no text in the message to edit")
	}
	return s.revise(c, r, pageEdit, func(m *Message) { m.Text, m.Entities, m.ReplyMarkup = text, entities, keys })
}

func (s *Server) editMessageCaption(b *Bot, p *params) (any, *Rejection) {
	const page = "editmessagecaption"
	c, r, rejected := s.own(b, p, page)
	if rejected != nil {
		return nil, rejected
	}
	text, entities, rejected := p.formatted("caption", "caption_entities", maxCaption)
	if rejected != nil {
		return nil, rejected
	}
	keys, rejected := p.keyboard()
	if rejected != nil {
		return nil, rejected
	}
	if r.FileID() == "" {
		return nil, bad(page, "there is no caption in the message to edit")
	}
	return s.revise(c, r, page, func(m *Message) { m.Caption, m.CaptionEntities, m.ReplyMarkup = text, entities, keys })
}

func (s *Server) editMessageReplyMarkup(b *Bot, p *params) (any, *Rejection) {
	const page = "editmessagereplymarkup"
	c, r, rejected := s.own(b, p, page)
	if rejected != nil {
		return nil, rejected
	}
	keys, rejected := p.keyboard()
	if rejected != nil {
		return nil, rejected
	}
	return s.revise(c, r, page, func(m *Message) { m.ReplyMarkup = keys })
}

// keepDeletable is how long a message can be deleted.
//
// Source: https://core.telegram.org/bots/api#deletemessage
const keepDeletable = 48 * time.Hour

// deletable says why the bot may not delete r.
func (s *Server) deletable(b *Bot, c *chat, r *record) *Rejection {
	const page = "deletemessage"
	switch {
	case r == nil:
		return bad(page, "message to delete not found")
	case s.now().Unix()-r.Date > int64(keepDeletable/time.Second):
		return bad(page, "message can't be deleted for everyone")
	case r.by != b.User.ID && c.Type != "private" && c.members[b.User.ID] != "administrator":
		return bad(page, "message can't be deleted")
	}
	return nil
}

func (s *Server) deleteMessage(b *Bot, p *params) (any, *Rejection) {
	c, rejected := s.target(b, p)
	if rejected != nil {
		return nil, rejected
	}
	id := p.int("message_id")
	if p.wrong != nil {
		return nil, p.wrong
	}
	r := c.byID(id)
	if rejected := s.deletable(b, c, r); rejected != nil {
		return nil, rejected
	}
	r.deleted = true
	return true, nil
}

func (s *Server) deleteMessages(b *Bot, p *params) (any, *Rejection) {
	const page = "deletemessages"
	c, rejected := s.target(b, p)
	if rejected != nil {
		return nil, rejected
	}
	var ids []int64
	given := p.decode("message_ids", page, &ids)
	switch {
	case p.wrong != nil:
		return nil, p.wrong
	case !given || len(ids) == 0:
		return nil, bad(page, "message identifiers are not specified")
	case len(ids) > 100:
		return nil, bad(page, "too many message identifiers specified")
	}
	for _, id := range ids { // those that can't be found are skipped
		if r := c.byID(id); r != nil {
			if rejected := s.deletable(b, c, r); rejected != nil {
				return nil, rejected
			}
		}
	}
	for _, id := range ids {
		if r := c.byID(id); r != nil {
			r.deleted = true
		}
	}
	return true, nil
}

package telegramtest

import (
	"cmp"
	"reflect"
	"time"
)

const pageEdit = "editmessagetext"

// notModified is what the platform says to an edit that changes nothing.
const notModified = "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message"

// own finds the bot's message that is to be edited; an empty one where the call is rejected.
func (s *calls) own(b *Bot, p *params, page string) (*chat, *record) {
	c, id := s.target(b, p), p.int("message_id")
	r := cmp.Or(c.byID(id), &record{})
	p.failIf(id == 0, page, "message identifier is not specified")
	p.failIf(r.ID == 0, page, "message to edit not found")
	p.failIf(r.by != b.User.ID, page, "message can't be edited")
	return c, r
}

// revise gives a message its new state, unless nothing changes or the call is rejected.
func (s *calls) revise(c *chat, r *record, p *params, page string, change func(m *Message)) any {
	fresh := r.Message
	change(&fresh)
	unchanged := fresh.Text == r.Text && same(fresh.Entities, r.Entities) && fresh.Caption == r.Caption &&
		same(fresh.CaptionEntities, r.CaptionEntities) && reflect.DeepEqual(fresh.ReplyMarkup, r.ReplyMarkup)
	if p.failIf(unchanged, page, notModified) || p.fail(s.limit(c, 1)) {
		return nil
	}
	delete(s.botByID(r.by).typing, c.key)
	r.remember()
	fresh.EditDate = s.Now().Unix()
	r.Message = fresh
	return r.Message
}

func (s *calls) editMessageText(b *Bot, p *params) any {
	c, r := s.own(b, p, pageEdit)
	p.failIf(p.values["text"] == "", pageEdit, "message text is empty")
	text, entities := p.formatted("text", "entities", maxText)
	keys := p.keyboard()
	p.failIf(text == "", pageEdit, "text must be non-empty")
	p.failIf(r.Text == "", pageEdit, "there is no text in the message to edit")
	return s.revise(c, r, p, pageEdit, func(m *Message) { m.Text, m.Entities, m.ReplyMarkup = text, entities, keys })
}

func (s *calls) editMessageCaption(b *Bot, p *params) any {
	const page = "editmessagecaption"
	c, r := s.own(b, p, page)
	text, entities := p.formatted("caption", "caption_entities", maxCaption)
	keys := p.keyboard()
	p.failIf(r.FileID() == "", page, "there is no caption in the message to edit")
	return s.revise(c, r, p, page, func(m *Message) { m.Caption, m.CaptionEntities, m.ReplyMarkup = text, entities, keys })
}

func (s *calls) editMessageReplyMarkup(b *Bot, p *params) any {
	const page = "editmessagereplymarkup"
	c, r := s.own(b, p, page)
	keys := p.keyboard()
	return s.revise(c, r, p, page, func(m *Message) { m.ReplyMarkup = keys })
}

// keepDeletable is how long a message can be deleted.
//
// Source: https://core.telegram.org/bots/api#deletemessage
const keepDeletable = 48 * time.Hour

// deletable says why the bot may not delete r.
func (s *calls) deletable(b *Bot, c *chat, r *record) *Rejection {
	const page = "deletemessage"
	switch {
	case r == nil:
		return bad(page, "message to delete not found")
	case s.Now().Unix()-r.Date > int64(keepDeletable/time.Second):
		return bad(page, "message can't be deleted for everyone")
	case r.by != b.User.ID && c.Type != "private" && c.members[b.User.ID] != "administrator":
		return bad(page, "message can't be deleted")
	}
	return nil
}

func (s *calls) deleteMessage(b *Bot, p *params) any {
	c := s.target(b, p)
	r := c.byID(p.int("message_id"))
	if !p.fail(s.deletable(b, c, r)) {
		r.deleted = true
	}
	return true
}

func (s *calls) deleteMessages(b *Bot, p *params) any {
	const page = "deletemessages"
	c := s.target(b, p)
	var ids []int64
	p.decode("message_ids", page, &ids)
	p.failIf(len(ids) == 0, page, "message identifiers are not specified")
	p.failIf(len(ids) > 100, page, "too many message identifiers specified")
	var found []*record // those that can't be found are skipped
	for _, id := range ids {
		if r := c.byID(id); r != nil {
			p.fail(s.deletable(b, c, r))
			found = append(found, r)
		}
	}
	for _, r := range found {
		r.deleted = p.wrong == nil
	}
	return true
}

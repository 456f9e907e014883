package telegramtest

import (
	"slices"
	"strings"
)

// Limits of what a bot writes, in UTF-16 units.
//
// Source: https://core.telegram.org/bots/api#sendmessage text, #sendphoto caption
const (
	maxText    = 4096
	maxCaption = 1024
)

// target reads chat_id and finds the chat, if the bot may write there.
func (s *Server) target(b *Bot, p *params) (*chat, *Rejection) {
	text := strings.TrimSpace(p.values["chat_id"])
	if text == "" {
		return nil, bad(pageText, "chat_id is empty")
	}
	var c *chat
	if name, ok := strings.CutPrefix(text, "@"); ok {
		for _, other := range s.chats {
			if other.key.bot == 0 && strings.EqualFold(other.Username, name) {
				c = other
			}
		}
	} else {
		id := p.int("chat_id")
		if p.wrong != nil {
			return nil, bad(pageText, "chat not found")
		}
		if c = s.find(b, id); c == nil && s.users[id] != nil {
			return nil, forbidden("bot can't initiate conversation with a user")
		}
	}
	if c == nil {
		return nil, bad(pageText, "chat not found")
	}
	if c.moved != 0 {
		r := bad("responseparameters", "group chat was upgraded to a supergroup chat")
		r.MigrateTo = c.moved
		return nil, r
	}
	return c, s.admits(b, c)
}

// admits says why the bot may not write there.
func (s *Server) admits(b *Bot, c *chat) *Rejection {
	status := c.members[b.User.ID]
	switch {
	case c.Type == "private" && c.members[c.ID] == "deactivated":
		return forbidden("user is deactivated")
	case c.Type == "private" && status == "kicked":
		return forbidden("bot was blocked by the user")
	case status == "kicked":
		return forbidden("bot was kicked from the " + c.Type + " chat")
	case status == "left" || status == "":
		return forbidden("bot is not a member of the " + c.Type + " chat")
	}
	return nil
}

// thread reads message_thread_id.
func (p *params) thread(c *chat) (int64, *Rejection) {
	id := p.int("message_thread_id")
	_, known := c.topics[id]
	switch {
	case id == 0:
		return 0, nil
	case !c.IsForum || !known:
		return 0, bad(pageText, "message thread not found")
	case c.closed[id]:
		return 0, bad(pageText, "TOPIC_CLOSED")
	}
	return id, nil
}

// formatted reads a text with its entities or its parse_mode. page is the section of
// the method, limit the longest text in UTF-16 units.
func (p *params) formatted(text, entities string, limit int) (string, []Entity, *Rejection) {
	var marks []Entity
	given := p.decode(entities, pageEntity, &marks)
	body := strings.ReplaceAll(p.values[text], "\r", "")
	if mode := p.values["parse_mode"]; mode != "" && !given {
		var rejected *Rejection
		if body, marks, rejected = parseMode(mode, body); rejected != nil {
			return "", nil, rejected
		}
	}
	if p.wrong != nil {
		return "", nil, p.wrong
	}
	if rejected := checkEntities(layout(body), marks); rejected != nil {
		return "", nil, rejected
	}
	body, marks = trim(body, marks)
	if n := Units(body); n > limit {
		r := bad(pageText, "message is too long")
		if text == "caption" {
			r = bad("sendphoto", "message caption is too long")
		}
		r.Detail = detail("%d UTF-16 units, at most %d", n, limit)
		return "", nil, r
	}
	return body, Detect(body, marks), nil
}

// replyParameters say which message is answered.
//
// Source: https://core.telegram.org/bots/api#replyparameters
type replyParameters struct {
	MessageID     int64    `json:"message_id"`
	ChatID        any      `json:"chat_id"`
	AllowWithout  bool     `json:"allow_sending_without_reply"`
	Quote         string   `json:"quote"`
	QuoteEntities []Entity `json:"quote_entities"`
	QuotePosition int      `json:"quote_position"`
}

// reply finds the message that is answered; nil: none.
func (p *params) reply(c *chat) (*Message, *TextQuote, *Rejection) {
	var to replyParameters
	given := p.decode("reply_parameters", "replyparameters", &to)
	if p.wrong != nil || !given {
		return nil, nil, p.wrong
	}
	if to.MessageID == 0 {
		return nil, nil, bad("replyparameters", "message identifier is not specified")
	}
	r := c.byID(to.MessageID)
	if r == nil {
		if to.AllowWithout {
			return nil, nil, nil
		}
		return nil, nil, bad("replyparameters", "message to be replied not found")
	}
	if to.Quote == "" {
		return &r.Message, nil, nil
	}
	before, _, found := strings.Cut(r.Text+r.Caption, to.Quote)
	if !found || Units(to.Quote) > 1024 {
		return nil, nil, bad("replyparameters", "QUOTE_TEXT_INVALID")
	}
	return &r.Message, &TextQuote{Text: to.Quote, Position: Units(before), IsManual: true}, nil
}

// A letter is what all methods that send have in common.
type letter struct {
	chat   *chat
	thread int64
	reply  *Message
	quote  *TextQuote
	keys   *InlineKeyboard
}

// letter reads it, and refuses before anything is sent.
func (s *Server) letter(b *Bot, p *params) (l letter, rejected *Rejection) {
	if l.chat, rejected = s.target(b, p); rejected != nil {
		return l, rejected
	}
	if l.thread, rejected = p.thread(l.chat); rejected != nil {
		return l, rejected
	}
	if l.reply, l.quote, rejected = p.reply(l.chat); rejected != nil {
		return l, rejected
	}
	if l.keys, rejected = p.keyboard(); rejected != nil {
		return l, rejected
	}
	for _, name := range []string{"disable_notification", "protect_content"} {
		p.bool(name)
	}
	var preview map[string]any
	p.decode("link_preview_options", "linkpreviewoptions", &preview)
	return l, p.wrong
}

// deliver puts messages of the bot into the chat, within the rates. Other bots are not
// told of them.
//
// Source: https://core.telegram.org/bots/faq#why-doesn-39t-my-bot-see-messages-from-other-bots
func (s *Server) deliver(b *Bot, l letter, messages ...Message) ([]*record, *Rejection) {
	if rejected := s.limit(l.chat, len(messages)); rejected != nil {
		return nil, rejected
	}
	var sent []*record
	for _, m := range messages {
		r := &record{Message: m, by: b.User.ID}
		if l.reply != nil {
			r.reply(l.reply)
		}
		r.Quote, r.ReplyMarkup = l.quote, l.keys
		l.chat.place(r, l.thread)
		s.post(l.chat, r)
		sent = append(sent, r)
	}
	delete(b.typing, l.chat.key)
	return sent, nil
}

func (s *Server) sendMessage(b *Bot, p *params) (any, *Rejection) {
	l, rejected := s.letter(b, p)
	if rejected != nil {
		return nil, rejected
	}
	if p.values["text"] == "" {
		return nil, bad(pageText, "message text is empty")
	}
	text, entities, rejected := p.formatted("text", "entities", maxText)
	if rejected != nil {
		return nil, rejected
	}
	if text == "" {
		return nil, bad(pageText, "text must be non-empty")
	}
	sent, rejected := s.deliver(b, l, Message{Text: text, Entities: entities})
	if rejected != nil {
		return nil, rejected
	}
	return sent[0].Message, nil
}

// sendMessageDraft shows a text that is being written; this platform looks at it and
// shows nothing.
func (s *Server) sendMessageDraft(b *Bot, p *params) (any, *Rejection) {
	const page = "sendmessagedraft"
	c, rejected := s.target(b, p)
	if rejected != nil {
		return nil, rejected
	}
	id := p.int("draft_id")
	if _, _, rejected := p.formatted("text", "entities", maxText); rejected != nil {
		return nil, rejected
	}
	switch {
	case c.Type != "private":
		return nil, bad(page, "drafts are for private chats")
	case id == 0:
		return nil, bad(page, "draft_id must be non-zero")
	}
	return true, nil
}

// same reports whether two lists of entities are equal.
func same(a, b []Entity) bool {
	return slices.EqualFunc(a, b, func(x, y Entity) bool {
		x.User, y.User = nil, nil
		return x == y
	})
}

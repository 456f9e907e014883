package telegramtest

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Limits of what a bot writes, in UTF-16 units.
//
// Source: https://core.telegram.org/bots/api#sendmessage text, #sendphoto caption
const (
	maxText    = 4096
	maxCaption = 1024
)

// target reads chat_id and finds the chat, if the bot may write there; an empty one where
// the call is rejected.
func (s *calls) target(b *Bot, p *params) *chat {
	text := strings.TrimSpace(p.values["chat_id"])
	p.failIf(text == "", pageText, "chat_id is empty")
	id, _ := strconv.ParseInt(text, 10, 64) // what is no number is no chat's
	c := s.find(b, id)
	switch {
	case c == nil && s.users[id] != nil:
		p.fail(forbidden("bot can't initiate conversation with a user"))
	case c == nil:
		p.fail(bad(pageText, "chat not found"))
	case c.moved != 0:
		r := bad("responseparameters", "group chat was upgraded to a supergroup chat")
		r.MigrateTo = c.moved
		p.fail(r)
	default:
		p.fail(s.admits(b, c))
	}
	return cmp.Or(c, &chat{})
}

// admits says why the bot may not write there.
func (s *calls) admits(b *Bot, c *chat) *Rejection {
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
func (p *params) thread(c *chat) int64 {
	id := p.int("message_thread_id")
	if id != 0 {
		_, known := c.topics[id]
		p.failIf(!c.IsForum || !known, pageText, "message thread not found")
		p.failIf(c.closed[id], pageText, "TOPIC_CLOSED")
	}
	return id
}

// formatted reads a text with its entities or its parse_mode. page is the section of
// the method, limit the longest text in UTF-16 units.
func (p *params) formatted(text, entities string, limit int) (string, []Entity) {
	var marks []Entity
	given := p.decode(entities, pageEntity, &marks)
	body := strings.ReplaceAll(p.values[text], "\r", "")
	if mode := p.values["parse_mode"]; mode != "" && !given {
		var rejected *Rejection
		body, marks, rejected = parseMode(mode, body)
		p.fail(rejected)
	}
	if p.fail(checkEntities(layout(body), marks)) {
		return "", nil
	}
	body, marks = trim(body, marks)
	if n := Units(body); n > limit {
		r := bad(pageText, "message is too long")
		if text == "caption" {
			r = bad("sendphoto", "message caption is too long")
		}
		r.Detail = detail("%d UTF-16 units, at most %d", n, limit)
		p.fail(r)
	}
	return body, Detect(body, marks)
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
func (p *params) reply(c *chat) (*Message, *TextQuote) {
	const page = "replyparameters"
	var to replyParameters
	if !p.decode("reply_parameters", page, &to) {
		return nil, nil
	}
	p.failIf(to.MessageID == 0, page, "message identifier is not specified")
	r := c.byID(to.MessageID)
	if r == nil {
		p.failIf(!to.AllowWithout, page, "message to be replied not found")
		return nil, nil
	}
	if to.Quote == "" {
		return &r.Message, nil
	}
	before, _, found := strings.Cut(r.Text+r.Caption, to.Quote)
	p.failIf(!found || Units(to.Quote) > 1024, page, "QUOTE_TEXT_INVALID")
	return &r.Message, &TextQuote{Text: to.Quote, Position: Units(before), IsManual: true}
}

// outgoing is what all methods that send have in common.
type outgoing struct {
	chat   *chat
	thread int64
	reply  *Message
	quote  *TextQuote
	keys   *InlineKeyboard
}

// outgoing reads it.
func (s *calls) outgoing(b *Bot, p *params) (out outgoing) {
	out.chat = s.target(b, p)
	out.thread = p.thread(out.chat)
	out.reply, out.quote = p.reply(out.chat)
	out.keys = p.keyboard()
	for _, name := range []string{"disable_notification", "protect_content"} {
		p.bool(name)
	}
	var preview map[string]any
	p.decode("link_preview_options", "linkpreviewoptions", &preview)
	return out
}

// deliver puts messages of the bot into the chat, within the rates and unless the call is
// rejected. Other bots are not told of them.
//
// Source: https://core.telegram.org/bots/faq#why-doesn-39t-my-bot-see-messages-from-other-bots
func (s *calls) deliver(b *Bot, p *params, out outgoing, messages ...Message) []Message {
	if p.wrong != nil || p.fail(s.limit(out.chat, len(messages))) {
		return nil
	}
	for i, m := range messages {
		r := &record{Message: m, by: b.User.ID}
		if out.reply != nil {
			r.reply(out.reply)
		}
		r.Quote, r.ReplyMarkup = out.quote, out.keys
		out.chat.place(r, out.thread)
		messages[i] = s.post(out.chat, r).Message
	}
	delete(b.typing, out.chat.key)
	return messages
}

// deliverOne returns the one message.
func (s *calls) deliverOne(b *Bot, p *params, out outgoing, m Message) any {
	if sent := s.deliver(b, p, out, m); len(sent) > 0 {
		return sent[0]
	}
	return nil
}

func (s *calls) sendMessage(b *Bot, p *params) any {
	out := s.outgoing(b, p)
	p.failIf(p.values["text"] == "", pageText, "message text is empty")
	text, entities := p.formatted("text", "entities", maxText)
	p.failIf(text == "", pageText, "text must be non-empty")
	return s.deliverOne(b, p, out, Message{Text: text, Entities: entities})
}

// sendMessageDraft shows a text that is being written; this platform looks at it and
// shows nothing.
func (s *calls) sendMessageDraft(b *Bot, p *params) any {
	const page = "sendmessagedraft"
	c, id := s.target(b, p), p.int("draft_id")
	p.formatted("text", "entities", maxText)
	p.failIf(c.Type != "private", page, "drafts are for private chats")
	p.failIf(id == 0, page, "draft_id must be non-zero")
	return true
}

// same reports whether two lists of entities are equal.
func same(a, b []Entity) bool {
	return slices.EqualFunc(a, b, func(x, y Entity) bool {
		x.User, y.User = nil, nil
		return x == y
	})
}

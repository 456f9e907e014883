package telegramtest

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"switchboard/channels/platformtest"
)

// typingFor is how long a chat shows that a bot is typing.
//
// Source: https://core.telegram.org/bots/api#sendchataction
const typingFor = 5 * time.Second

var actions = strings.Fields(`typing upload_photo record_video upload_video record_voice upload_voice upload_document
	choose_sticker find_location record_video_note upload_video_note`)

func (s *calls) sendChatAction(b *Bot, p *params) any {
	c := s.target(b, p)
	p.thread(c)
	if !p.failIf(!slices.Contains(actions, p.values["action"]), "sendchataction", "wrong parameter action in request") {
		b.typing[c.key] = s.Now()
	}
	return true
}

// Typing reports whether a chat shows now that the first bot is typing.
func (s *people) Typing(chatID int64) bool {
	s.Lock()
	defer s.Unlock()
	return s.typing(s.bots[0], s.mustChat(nil, chatID))
}

func (s *world) typing(b *Bot, c *chat) bool {
	at, ok := b.typing[c.key]
	return ok && s.Now().Sub(at) < typingFor
}

// A press is a button that somebody pressed.
type press struct {
	Answer
	at time.Time
}

// An Answer is what came back to whoever pressed a button.
type Answer = platformtest.Answer

// answerWithin is how long a press may be answered.
const answerWithin = 15 * time.Minute

// Press makes a user press the button with this text or callback_data under a
// message. It returns the callback's ID; empty when there is no such button.
func (s *people) Press(chatID, user, messageID int64, button string) (id string) {
	s.Change(func() { id = s.press(s.mustChat(nil, chatID), user, messageID, button) })
	return id
}

func (s *people) press(c *chat, user, messageID int64, button string) string {
	r, u := c.byID(messageID), s.users[user]
	if r == nil || u == nil || r.ReplyMarkup == nil {
		return ""
	}
	b := s.botByID(r.by)
	for _, key := range slices.Concat(r.ReplyMarkup.Rows...) {
		if b == nil || key.CallbackData == "" || key.Text != button && key.CallbackData != button {
			continue
		}
		return s.callback(b, c, *u, r, key.CallbackData)
	}
	return ""
}

// PressStale makes a user press a button that the message does not show any more, as
// a slow client can.
func (s *people) PressStale(chatID, user, messageID int64, data string) (id string) {
	s.Change(func() {
		c := s.mustChat(nil, chatID)
		if r := c.byID(messageID); r != nil && s.botByID(r.by) != nil {
			id = s.callback(s.botByID(r.by), c, *s.users[user], r, data)
		}
	})
	return id
}

func (s *people) callback(b *Bot, c *chat, u User, r *record, data string) string {
	s.ids.other++
	id := strconv.FormatInt(u.ID<<20+s.ids.other, 10)
	m := r.Message
	b.pressed[id] = &press{at: s.Now()}
	s.queue(b, Update{CallbackQuery: &Callback{
		ID: id, From: u, Message: &m, Data: data, ChatInstance: strconv.FormatInt(-c.ID*7+1, 10),
	}})
	return id
}

// Answered says what came back to a press of one of the first bot's buttons.
func (s *people) Answered(callbackID string) Answer {
	s.Lock()
	defer s.Unlock()
	if p := s.bots[0].pressed[callbackID]; p != nil {
		return p.Answer
	}
	return Answer{}
}

func (s *calls) answerCallbackQuery(b *Bot, p *params) any {
	const page = "answercallbackquery"
	pressed := b.pressed[p.values["callback_query_id"]]
	alert := p.bool("show_alert")
	p.failIf(pressed == nil || pressed.Done || s.Now().Sub(pressed.at) > answerWithin,
		page, "query is too old and response timeout expired or query ID is invalid")
	if !p.failIf(Units(p.values["text"]) > 200, page, "MESSAGE_TOO_LONG") {
		pressed.Answer = Answer{Done: true, Text: p.values["text"], Alert: alert}
	}
	return true
}

// reactions are the emoji that can be put on a message.
//
// Source: https://core.telegram.org/bots/api#reactiontypeemoji
var reactions = strings.Fields(`❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨
	😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡`)

func (s *calls) setMessageReaction(b *Bot, p *params) any {
	const page = "setmessagereaction"
	c := s.target(b, p)
	var wanted []Reaction
	p.decode("reaction", page, &wanted)
	id := p.int("message_id")
	p.bool("is_big")
	p.failIf(c.byID(id) == nil, page, "message to react not found")
	p.failIf(len(wanted) > 1, page, "REACTIONS_TOO_MANY") // "bots can set up to one reaction per message"
	for _, w := range wanted {
		p.failIf(w.Type != "emoji" || !slices.Contains(reactions, w.Emoji), page, "REACTION_INVALID")
	}
	if p.wrong == nil {
		c.react(id, b.User.ID, wanted)
	}
	return true
}

func (c *chat) react(id, who int64, wanted []Reaction) (before []Reaction) {
	if c.reacted[id] == nil {
		c.reacted[id] = map[int64][]Reaction{}
	}
	before = c.reacted[id][who]
	c.reacted[id][who] = wanted
	return before
}

// React makes a user's reactions to a message these, none for none at all. A bot is
// told of it in direct chats and where it is an administrator, when it asked for such
// updates.
//
// Source: https://core.telegram.org/bots/api#update, message_reaction
func (s *people) React(chatID, user, messageID int64, emoji ...string) {
	s.Change(func() {
		c := s.mustChat(nil, chatID)
		wanted := []Reaction{}
		for _, e := range emoji {
			wanted = append(wanted, Reaction{Type: "emoji", Emoji: e})
		}
		before := c.react(messageID, user, wanted)
		for _, b := range s.bots {
			if c.present(b) && (c.Type == "private" || c.members[b.User.ID] == "administrator") {
				s.queue(b, Update{MessageReaction: &ReactionChange{
					Chat: c.Chat, MessageID: messageID, User: s.users[user], Date: s.Now().Unix(),
					Old: append([]Reaction{}, before...), New: wanted,
				}})
			}
		}
	})
}

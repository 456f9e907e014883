package telegram

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/channels/wire"
)

// An update is one thing the platform told.
type update struct {
	id    int64           // 0: it cannot be read
	event *channels.Event // nil: nothing of ours; it is confirmed like the others
	chat  int64           // 0: unknown
	album string          // the album that the message belongs to; empty: none
	edits string          // the album of which a message was edited; empty: none
	query string          // of a button: what to answer
	also  []int64         // numbers of the other updates that event is made of
	parts []picture       // of an album
	bot   string          // what its keys begin with
}

// A reader makes events of what the platform tells the bot.
type reader struct {
	channel string
	me      self
	bot     string // its number, which keys begin with
	log     *slog.Logger
}

func (a *api) reader() reader {
	me := a.me()
	return reader{a.Name(), me, strconv.FormatInt(me.id, 10), a.Log}
}

// decode reads one update. What cannot be read becomes EventUndecodable.
func (r reader) decode(raw []byte) update {
	u := update{id: updateID(raw), bot: r.bot}
	if err := r.fill(&u, raw); err != nil {
		return r.undecodable(u.id, raw, err)
	}
	return u
}

// undecodable is an update that cannot be read; id is 0 where not even its number can be.
func (r reader) undecodable(id int64, raw []byte, why error) update {
	number := ""
	if id != 0 {
		number = strconv.FormatInt(id, 10)
	}
	return update{id: id, event: wire.Undecodable(r.channel, r.bot, "update", number, raw, why)}
}

var idPattern = regexp.MustCompile(`"update_id"\s*:\s*([0-9]{1,18})\b`)

// updateID reads an update's number, whatever else is in it; 0: it has none. Numbers
// have 32 bits; to confirm a larger one could confirm everything to come.
//
// Source: https://core.telegram.org/bots/api#update, and TQueue::EventId of
// https://github.com/tdlib/td.
func updateID(raw []byte) int64 {
	var head struct {
		ID int64 `json:"update_id"`
	}
	if json.Unmarshal(raw, &head) != nil {
		head.ID = 0
		if found := idPattern.FindSubmatch(raw); found != nil {
			head.ID, _ = strconv.ParseInt(string(found[1]), 10, 64)
		}
	}
	if head.ID < 0 || head.ID > math.MaxInt32 {
		return 0
	}
	return head.ID
}

// fill makes the event of an update.
func (r reader) fill(u *update, raw []byte) error {
	w, odd, err := readUpdate(withoutNUL(raw))
	if err != nil {
		return fmt.Errorf("it is no update as documented: %w", err)
	}
	if len(odd) > 0 {
		r.log.Warn("a part of an update could not be read", "update_id", u.id, "fields", strings.Join(odd, ", "))
	}
	switch {
	case w.Message != nil:
		return r.message(u, w.Message)
	case w.EditedMessage != nil:
		return r.edited(u, w.EditedMessage)
	case w.CallbackQuery != nil:
		return r.pressed(u, w.CallbackQuery)
	case w.MyChatMember != nil:
		return r.member(u, w.MyChatMember)
	case w.Reaction != nil:
		return r.reacted(u, w.Reaction)
	}
	return nil // of a kind that was not asked for
}

// message makes EventMessage of what somebody wrote, EventMoved of a group that
// became a supergroup, and nothing of other notices of the platform.
func (r reader) message(u *update, m *wireMessage) error {
	conv, err := r.conversation(m)
	if err != nil {
		return err
	}
	u.chat = m.Chat.ID
	switch {
	case m.Chat.Type == "channel":
		return nil
	case m.MigrateTo != 0:
		u.event = r.moved(m.Chat.Title, m.Chat.ID, m.MigrateTo, m.Date)
		return nil
	case m.MigrateFrom != 0:
		u.event = r.moved(m.Chat.Title, m.MigrateFrom, m.Chat.ID, m.Date)
		return nil
	}
	sender, err := senderOf(m)
	if err != nil {
		return err
	}
	content, ok := r.content(m)
	if !ok {
		return nil
	}
	u.album = m.MediaGroupID
	u.event = &channels.Event{
		Key: wire.Key(r.bot, "message", string(conv.ID), strconv.Itoa(m.ID)), Kind: channels.EventMessage,
		Conversation: conv, Sender: sender, Message: content, At: instant(m.Date),
	}
	return nil
}

// edited makes EventEdited of a message's new state. In an album it is that of one
// picture; see albums.
func (r reader) edited(u *update, m *wireMessage) error {
	if err := r.message(u, m); err != nil || u.event == nil || u.event.Kind != channels.EventMessage {
		u.event = nil
		return err
	}
	u.album, u.edits = "", m.MediaGroupID
	e := u.event
	e.Kind, e.At = channels.EventEdited, instant(cmp.Or(m.EditDate, m.Date))
	e.Key = editKey(u.bot, e)
	return nil
}

// pressed makes EventAction of a button. Buttons that are not ours have no data.
func (r reader) pressed(u *update, q *wireQuery) error {
	if q.ID == "" || q.From.ID == 0 {
		return errors.New("the button's press has no ID or nobody did it")
	}
	u.query = q.ID
	if q.Message == nil || q.Data == "" {
		return nil
	}
	conv, err := r.conversation(q.Message)
	if err != nil {
		return err
	}
	u.chat = q.Message.Chat.ID
	u.event = &channels.Event{
		Key: wire.Key(r.bot, "action", string(conv.ID), strconv.Itoa(q.Message.ID), q.ID), Kind: channels.EventAction,
		Conversation: conv, Sender: senderUser(&q.From),
		Action: channels.Action{Code: q.Data, MessageID: messageID(q.Message.ID)},
	}
	return nil
}

// member makes EventMember where the bot may speak now and could not before, or the
// reverse.
func (r reader) member(u *update, m *wireMember) error {
	conv, err := r.conversation(&wireMessage{ID: 1, Chat: m.Chat})
	if err != nil {
		return err
	}
	if m.Chat.Type == "channel" || m.Old.in() == m.New.in() {
		return nil
	}
	became := channels.Left
	if m.New.in() {
		became = channels.Joined
	}
	u.chat = m.Chat.ID
	u.event = &channels.Event{
		Key: wire.Key(r.bot, "member", string(conv.ID), strconv.FormatInt(u.id, 10)), Kind: channels.EventMember,
		Conversation: conv, Sender: senderUser(&m.From), Member: became, At: instant(m.Date),
	}
	return nil
}

// in says whether the bot may speak.
func (s wireStatus) in() bool {
	return slices.Contains([]string{"creator", "administrator", "member"}, s.Status) || s.Status == "restricted" && s.IsMember && s.CanSend
}

// reacted makes EventReaction of what was added and taken off.
func (r reader) reacted(u *update, w *wireReaction) error {
	conv, err := r.conversation(&wireMessage{ID: w.MessageID, Chat: w.Chat})
	if err != nil {
		return err
	}
	sender, err := senderOf(&wireMessage{From: w.User, SenderChat: w.ActorChat})
	if err != nil {
		return err
	}
	reaction := channels.Reaction{
		MessageID: messageID(w.MessageID), Added: signs(w.New, w.Old), Removed: signs(w.Old, w.New),
	}
	if w.Chat.Type == "channel" || len(reaction.Added)+len(reaction.Removed) == 0 {
		return nil
	}
	u.chat = w.Chat.ID
	u.event = &channels.Event{
		Key: wire.Key(r.bot, "reaction", string(conv.ID), strconv.Itoa(w.MessageID), strconv.FormatInt(u.id, 10)), Kind: channels.EventReaction,
		Conversation: conv, Sender: sender, Reaction: reaction, At: instant(w.Date),
	}
	return nil
}

// signs are those of list that are not in other.
func signs(list, other []wireSign) (names []string) {
	for _, s := range list {
		if name := cmp.Or(s.Emoji, s.ID, s.Type); name != "" && !slices.Contains(other, s) {
			names = append(names, name)
		}
	}
	return names
}

// moved says that the conversation from has the new ID to.
func (r reader) moved(title string, from, to, date int64) *channels.Event {
	id := conversationID(to, 0)
	return &channels.Event{
		Key: wire.Key(r.bot, "moved", strconv.FormatInt(from, 10), strconv.FormatInt(to, 10)), Kind: channels.EventMoved, Former: conversationID(from, 0),
		Conversation: channels.Conversation{Channel: r.channel, ID: id, Kind: channels.Group, Place: string(id), Title: title}, At: instant(date),
	}
}

// conversation is where m stands. A message thread counts only if is_topic_message
// says that it is a topic: in other groups it is a chain of replies.
//
// Source: https://core.telegram.org/bots/api#message "message_thread_id".
func (r reader) conversation(m *wireMessage) (channels.Conversation, error) {
	if m.Chat.ID == 0 || m.ID <= 0 {
		return channels.Conversation{}, errors.New("it names no chat or no message")
	}
	topic := 0
	if m.IsTopicMessage {
		topic = max(m.ThreadID, 0)
	}
	id := conversationID(m.Chat.ID, topic)
	conv := channels.Conversation{Channel: r.channel, ID: id, Place: string(id), Title: m.Chat.Title}
	kind := m.Chat.Type
	if kind == "" && m.Chat.ID > 0 { // as in the platform's own examples
		kind = "private"
	}
	switch kind {
	case "private":
		conv.Kind, conv.Title = channels.Direct, label(m.Chat.FirstName, m.Chat.LastName, m.Chat.Username)
	case "group", "supergroup", "channel":
		conv.Kind = channels.Group
		if topic != 0 {
			conv.Kind, conv.Place = channels.Thread, strconv.FormatInt(m.Chat.ID, 10)
		}
	default:
		return conv, fmt.Errorf("%.40q is no kind of chat that is known here", m.Chat.Type)
	}
	return conv, nil
}

// senderOf is who wrote m. Who writes in the name of a chat (an anonymous admin, a
// channel) cannot be told apart from others, so such a sender counts as a machine and
// is never served.
//
// Source: https://core.telegram.org/bots/api#message "sender_chat".
func senderOf(m *wireMessage) (channels.Sender, error) {
	if chat := m.SenderChat; chat != nil && chat.ID != 0 {
		return channels.Sender{ID: strconv.FormatInt(chat.ID, 10), Label: cmp.Or(chat.Title, chat.Username), Bot: true}, nil
	}
	if m.From == nil || m.From.ID == 0 {
		return channels.Sender{}, errors.New("nobody is named as its sender")
	}
	return senderUser(m.From), nil
}

func senderUser(u *wireUser) channels.Sender {
	return channels.Sender{ID: strconv.FormatInt(u.ID, 10), Label: u.label(), Bot: u.IsBot}
}

func (u *wireUser) label() string { return label(u.FirstName, u.LastName, u.Username) }

func label(first, last, username string) string {
	return cmp.Or(strings.TrimSpace(first+" "+last), username)
}

// instant reads Unix seconds; zero is unknown.
func instant(seconds int64) time.Time {
	if seconds <= 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

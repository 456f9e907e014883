package telegramtest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"switchboard/channels/platformtest"
)

// note is what people on the page have to know of the platform.
const note = "As on the real one, bots are not told of deleted messages."

// View implements platformtest.Page: it looks at the first bot's chats.
func (s *Server) View(user, chat string) platformtest.View {
	s.Lock()
	defer s.Unlock()
	b := s.bots[0]
	v := platformtest.View{
		Platform: "Telegram", Colour: "#1f8fd0",
		Bot: shownUser(&b.User), Mention: "@" + b.User.Username, Connected: s.listening(b), Note: note, Blocks: true,
		Signs: []string{"👍", "❤", "😁", "👀"}, Answers: map[string]Answer{},
	}
	for _, id := range slices.Sorted(maps.Keys(s.users)) {
		if u := s.users[id]; !u.IsBot {
			v.Users = append(v.Users, shownUser(u))
		}
	}
	me := s.users[number(user)]
	if me == nil {
		return v
	}
	direct := s.direct(b, me)
	v.Blocked = direct.members[b.User.ID] == "kicked"
	v.Chats = append(v.Chats, platformtest.Chat{ID: itoa(direct.ID), Title: "@" + b.User.Username, Direct: true})
	for _, id := range s.groupsOf(me.ID) {
		c := s.chats[chatKey{0, id}]
		shown := platformtest.Chat{ID: itoa(id), Title: c.Title, Apart: c.IsForum}
		for _, topic := range slices.Sorted(maps.Keys(c.topics)) {
			shown.Threads = append(shown.Threads, platformtest.Thread{ID: itoa(topic), Title: c.topics[topic]})
		}
		v.Chats = append(v.Chats, shown)
	}
	if !slices.ContainsFunc(v.Chats, func(c platformtest.Chat) bool { return c.ID == chat }) {
		return v
	}
	c := s.find(b, number(chat))
	for _, m := range s.history(c) {
		if !m.Deleted {
			v.Messages = append(v.Messages, m.onPage())
		}
	}
	if s.typing(b, c) {
		v.Working = "typing…"
	}
	for _, command := range s.menu(b, c, me.ID) {
		v.Commands = append(v.Commands, platformtest.Command{Name: command.Command, About: command.Description})
	}
	for id, p := range b.pressed {
		if s.Now().Sub(p.at) < time.Minute {
			v.Answers[id] = p.Answer
		}
	}
	return v
}

// listening reports whether a bot waits for updates now.
func (s *Server) listening(b *Bot) bool {
	return b.polling > 0 || b.hook != nil || !b.polled.IsZero() && s.Now().Sub(b.polled) < 5*time.Second
}

func shownUser(u *User) platformtest.User {
	if u == nil {
		return platformtest.User{}
	}
	name := strings.TrimSpace(u.FirstName + " " + u.LastName)
	if u.IsBot {
		name = "@" + u.Username
	}
	return platformtest.User{ID: itoa(u.ID), Name: name}
}

// words are the text of a message, or of what comes with a file.
func (m *Message) words() (string, []Entity) {
	if m.Text != "" {
		return m.Text, m.Entities
	}
	return m.Caption, m.CaptionEntities
}

func (m *Shown) onPage() platformtest.Message {
	shown := platformtest.Message{
		ID: itoa(m.ID), Author: shownUser(m.From), Bot: m.Bot, Notice: m.notice(), Forwarded: m.ForwardOrigin != nil, At: m.Date * 1000,
	}
	if shown.Notice != "" {
		return shown
	}
	if m.IsTopicMessage {
		shown.Thread = itoa(m.ThreadID)
	}
	if to := m.ReplyTo; to != nil && to.ForumTopicCreated == nil {
		text, _ := to.words()
		if m.Quote != nil {
			text = m.Quote.Text
		}
		shown.To = &platformtest.Quoted{Author: shownUser(to.From).Name, Text: text}
	}
	var entities []Entity
	shown.Text, entities = m.words()
	for _, e := range entities {
		shown.Marks = append(shown.Marks, e.mark(shown.Text))
	}
	if n := len(m.Photo); n > 0 {
		shown.Files = append(shown.Files, platformtest.Shown{ID: m.Photo[n-1].FileID, Name: "photo", Picture: true})
	}
	for _, f := range []*Media{m.Document, m.Audio, m.Video, m.Voice, m.Sticker} {
		if f != nil {
			shown.Files = append(shown.Files, platformtest.Shown{ID: f.FileID, Name: f.FileName, Size: f.FileSize})
		}
	}
	if at := m.Location; at != nil {
		shown.Extras = append(shown.Extras, fmt.Sprintf("Place: %v, %v", at.Latitude, at.Longitude))
	}
	if m.Contact != nil {
		shown.Extras = append(shown.Extras, "Contact: "+m.Contact.FirstName+" "+m.Contact.PhoneNumber)
	}
	if m.ReplyMarkup != nil {
		for _, row := range m.ReplyMarkup.Rows {
			var line []platformtest.Button
			for _, b := range row {
				line = append(line, platformtest.Button{Label: b.Text, Code: b.CallbackData, URL: b.URL})
			}
			shown.Buttons = append(shown.Buttons, line)
		}
	}
	for _, r := range m.Reactions {
		shown.Reactions = append(shown.Reactions, r.Emoji)
	}
	for _, before := range m.Before {
		text, _ := before.words()
		shown.Before = append(shown.Before, text)
	}
	return shown
}

// notice is what a service message says; empty: it is none.
func (m *Message) notice() string {
	switch {
	case m.ForumTopicCreated != nil:
		return "Topic " + m.ForumTopicCreated.Name
	case m.NewChatMembers != nil:
		return shownUser(&m.NewChatMembers[0]).Name + " joined"
	case m.LeftChatMember != nil:
		return shownUser(m.LeftChatMember).Name + " left"
	case m.MigrateToChatID != 0 || m.MigrateFromChatID != 0:
		return "The group became a supergroup"
	}
	return ""
}

// marks are the page's names of entities that have a look of their own.
var marks = map[string]string{
	"bold": "bold", "italic": "italic", "underline": "underline", "strikethrough": "strike", "code": "code", "pre": "pre",
	"blockquote": "quote", "expandable_blockquote": "folded", "spoiler": "spoiler", "text_link": "link", "url": "link",
	"email": "email", "bot_command": "command",
}

func (e Entity) mark(text string) platformtest.Mark {
	m := platformtest.Mark{Type: marks[e.Type], From: e.Offset, Length: e.Length, URL: e.URL, Language: e.Language}
	if m.Type == "" {
		m.Type = "named"
	}
	if e.Type == "url" {
		m.URL = cut(text, e.Offset, e.Length)
		if scheme, _, ok := strings.Cut(m.URL, ":"); !ok || strings.Contains(scheme, ".") {
			m.URL = "https://" + m.URL
		}
	}
	return m
}

// Do implements platformtest.Page.
func (s *Server) Do(d platformtest.Deed) (any, error) {
	user, chat, message := number(d.User), number(d.Chat), number(d.Message)
	if !s.may(user, chat) {
		return nil, platformtest.ErrDeed
	}
	switch d.Name {
	case "send":
		return s.write(d)
	case "edit", "delete":
		if Units(d.Text) > maxText {
			return nil, fmt.Errorf("one message has at most %d characters", maxText)
		}
		if !s.wrote(user, chat, message) || d.Name == "edit" && d.Text != "" && strings.TrimSpace(d.Text) == "" {
			return nil, platformtest.ErrDeed
		}
		if d.Name == "edit" {
			return s.Edit(chat, message, d.Text), nil
		}
		s.Delete(chat, message)
	case "press":
		return s.Press(chat, user, message, d.Text), nil
	case "react":
		s.React(chat, user, message, strings.Fields(d.Text)...)
	case "block":
		s.Block(user, d.Text == "true")
	case "person":
		name := strings.TrimSpace(d.Text)
		if name == "" || Units(name) > 64 {
			return nil, platformtest.ErrDeed
		}
		u := s.AddUser(name)
		s.Lock()
		groups := s.groupsOf(user)
		s.Unlock()
		for _, c := range groups {
			s.Join(c, u)
		}
		return shownUser(&u), nil
	}
	return true, nil
}

// may reports whether the user is there, and in the chat if one is named.
func (s *Server) may(user, chat int64) bool {
	s.Lock()
	defer s.Unlock()
	u := s.users[user]
	if u == nil || u.IsBot {
		return false
	}
	if chat == 0 || chat == user {
		s.direct(s.bots[0], u)
		return true
	}
	return slices.Contains(s.groupsOf(user), chat)
}

// wrote reports whether the message is there and the user's.
func (s *Server) wrote(user, chat, message int64) bool {
	s.Lock()
	defer s.Unlock()
	c := s.find(s.bots[0], chat)
	if c == nil {
		return false
	}
	r := c.byID(message)
	return r != nil && r.by == user
}

// groupsOf are the groups that a user is in, the newest first. It is called under the
// lock.
func (s *Server) groupsOf(user int64) (ids []int64) {
	for key, c := range s.chats {
		if status := c.members[user]; key.bot == 0 && c.moved == 0 && status != "" && status != "left" && status != "kicked" {
			ids = append(ids, c.ID)
		}
	}
	slices.SortFunc(ids, func(a, b int64) int { return int(b - a) })
	return ids
}

// write writes as the platform's apps do: long texts in several messages, pictures
// as photos. Whoever blocked the bot unblocks it by writing.
func (s *Server) write(d platformtest.Deed) (any, error) {
	p := Post{Chat: cmp.Or(number(d.Chat), number(d.User)), From: number(d.User), Thread: number(d.Thread), ReplyTo: number(d.Message), Files: d.Files}
	texts, err := d.Texts(maxText, utf16.RuneLen)
	if err != nil {
		return nil, err
	}
	if len(p.Files) > 0 && (len(texts) > 1 || Units(texts[0]) > maxCaption) {
		return nil, fmt.Errorf("a text that comes with files has at most %d characters; send it on its own", maxCaption)
	}
	if p.Chat == p.From {
		s.Block(p.From, false)
	}
	for _, p.Text = range texts {
		s.Post(p)
		p.ReplyTo = 0
	}
	return true, nil
}

// Furnish makes what a person needs to try a bot: two people, a group of both and a
// forum with topics. It returns the first person. The numbers are the same each time,
// so that a bot knows the chats again.
func (s *Server) Furnish() User {
	ada, bob := s.AddUser("Ada Lovelace"), s.AddUser("Bob Noyce")
	s.AddGroup("Friends", ada, bob)
	forum := s.AddForum("Workshop", ada, bob)
	s.AddTopic(forum.ID, "Ideas")
	s.AddTopic(forum.ID, "Repairs")
	return ada
}

package discordtest

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"switchboard/channels/platformtest"
)

// note is what people on the page have to know of the platform.
const note = "Name the bot by @switchboard-dev in a channel. As on the real one, a button waits three seconds for its answer."

// View implements platformtest.Page.
func (s *Server) View(user, chat string) platformtest.View {
	s.Lock()
	defer s.Unlock()
	v := platformtest.View{
		Platform: "Discord", Colour: "#5865f2",
		Bot: shownUser(&s.bot), Mention: "@" + s.bot.Username, Connected: s.gateway.open() > 0, Note: note, Blocks: true,
		Signs: []string{"👍", "❤️", "😁", "👀"}, Answers: map[string]platformtest.Answer{},
	}
	for _, id := range slices.Sorted(maps.Keys(s.users)) {
		if u := s.users[id]; !u.Bot {
			v.Users = append(v.Users, shownUser(u))
		}
	}
	if s.users[user] == nil {
		return v
	}
	v.Blocked = s.direct(user).blocked
	v.Chats = s.chatsOf(user)
	if !slices.ContainsFunc(v.Chats, func(c platformtest.Chat) bool { return c.ID == chat }) {
		return v
	}
	for _, p := range s.around(chat) {
		for _, m := range p.messages {
			v.Messages = append(v.Messages, s.onPage(p, m))
		}
		if at, ok := s.typings[p.ID]; ok && s.Now().Sub(at) < 10*time.Second {
			v.Working = "typing…"
		}
	}
	slices.SortStableFunc(v.Messages, func(a, b platformtest.Message) int { return int(a.At - b.At) })
	for _, c := range s.commands {
		v.Commands = append(v.Commands, platformtest.Command{Name: c.Name, About: c.Description})
	}
	for id, i := range s.presses {
		if s.Now().Sub(i.at) > time.Minute || i.place != chat {
			continue
		}
		a := platformtest.Answer{Done: len(i.Answers) > 0}
		switch {
		case a.Done:
			a.Text = i.Answers[0].Data.Content
		case s.Now().Sub(i.at) > answerWithin:
			a.Done, a.Text = true, "This interaction failed"
		}
		v.Answers[id] = a
	}
	return v
}

// chatsOf are the direct chat and the channels that a person sees. It is called under the lock.
func (s *Server) chatsOf(user string) (chats []platformtest.Chat) {
	chats = append(chats, platformtest.Chat{ID: s.direct(user).ID, Title: "@" + s.bot.Username, Direct: true})
	for _, id := range slices.Sorted(maps.Keys(s.places)) {
		p := s.places[id]
		if g := s.guilds[p.GuildID]; g == nil || !g.members[user] || p.Type != TypeText {
			continue
		}
		c := platformtest.Chat{ID: id, Title: "#" + p.title(), Apart: true}
		for _, t := range s.around(id)[1:] {
			c.Threads = append(c.Threads, platformtest.Thread{ID: t.ID, Title: t.title()})
		}
		chats = append(chats, c)
	}
	return chats
}

// around is a channel and its threads.
func (s *Server) around(id string) []*place {
	list := []*place{s.places[id]}
	for _, t := range slices.Sorted(maps.Keys(s.places)) {
		if s.places[t].ParentID == id {
			list = append(list, s.places[t])
		}
	}
	return list
}

func shownUser(u *User) platformtest.User {
	name := u.Name()
	if u.Bot {
		name = "@" + u.Username
	}
	return platformtest.User{ID: u.ID, Name: name}
}

// onPage is a message as people see it.
func (s *Server) onPage(p *place, m *stored) platformtest.Message {
	at, _ := time.Parse("2006-01-02T15:04:05.000000+00:00", m.Timestamp)
	shown := platformtest.Message{
		ID: m.ID, Author: shownUser(&m.Author), Bot: m.Author.Bot, At: at.UnixMilli(), Forwarded: len(m.Snapshots) > 0, Before: m.before,
	}
	if p.Type == TypeThread {
		shown.Thread = p.ID
	}
	if m.Referenced != nil {
		text, _ := s.looks(m.Referenced.Content)
		shown.To = &platformtest.Quoted{Author: shownUser(&m.Referenced.Author).Name, Text: text}
	}
	shown.Text, shown.Marks = s.looks(m.Content)
	for _, a := range m.Attachments {
		shown.Files = append(shown.Files, platformtest.Shown{ID: a.ID, Name: a.Filename, Size: a.Size, Picture: strings.HasPrefix(a.ContentType, "image/")})
	}
	for _, row := range m.Components {
		var line []platformtest.Button
		for _, b := range row.Components {
			line = append(line, platformtest.Button{Label: b.Label, Code: b.CustomID, URL: b.URL})
		}
		shown.Buttons = append(shown.Buttons, line)
	}
	for _, r := range m.Reactions {
		shown.Reactions = append(shown.Reactions, r.Emoji.Name)
	}
	return shown
}

// Do implements platformtest.Page.
func (s *Server) Do(d platformtest.Deed) (any, error) {
	if !s.may(d.User, d.Chat) {
		return nil, platformtest.ErrDeed
	}
	where := d.Chat
	if d.Thread != "" {
		where = d.Thread
	}
	if d.Message != "" && d.Name != "send" {
		if where = s.placeOf(d.Chat, d.Message); where == "" || (d.Name == "edit" || d.Name == "delete") && !s.wrote(d.User, where, d.Message) {
			return nil, platformtest.ErrDeed
		}
	}
	switch d.Name {
	case "send":
		return s.write(d, where)
	case "edit":
		if n := Units(d.Text); n > maxText || strings.TrimSpace(d.Text) == "" {
			return nil, errors.New("a message has 1 to 2000 characters")
		}
		return s.Edit(where, d.Message, s.named(d.Text)), nil
	case "delete":
		s.Delete(where, d.Message)
	case "press":
		return s.pressed(where, d)
	case "react":
		s.toggle(where, d)
	case "block":
		s.Block(d.User, d.Text == "true")
	case "person":
		return s.person(d)
	}
	return true, nil
}

// pressed presses the button with a code.
func (s *Server) pressed(where string, d platformtest.Deed) (any, error) {
	for _, m := range s.History(where) {
		for _, row := range m.Components {
			for _, b := range row.Components {
				if m.ID == d.Message && b.CustomID == d.Text {
					return s.Press(where, d.User, m.ID, b.Label), nil
				}
			}
		}
	}
	return nil, platformtest.ErrDeed
}

// toggle makes a person's reactions those in the text.
func (s *Server) toggle(where string, d platformtest.Deed) {
	want := strings.Fields(d.Text)
	for _, m := range s.History(where) {
		if m.ID != d.Message {
			continue
		}
		for _, r := range m.Reactions {
			if slices.Contains(r.users, d.User) && !slices.Contains(want, r.Emoji.Name) {
				s.React(where, d.User, m.ID, r.Emoji.Name, false)
			}
		}
	}
	for _, sign := range want {
		s.React(where, d.User, d.Message, sign, true)
	}
}

func (s *Server) person(d platformtest.Deed) (any, error) {
	name := strings.TrimSpace(d.Text)
	if name == "" || Units(name) > 32 {
		return nil, platformtest.ErrDeed
	}
	u := s.AddUser(name)
	s.Change(func() {
		for _, g := range s.guilds {
			if g.members[d.User] {
				g.members[u.ID] = true
			}
		}
	})
	return shownUser(&u), nil
}

// may says whether a person is there, and in the chat if one is named.
func (s *Server) may(user, chat string) bool {
	s.Lock()
	defer s.Unlock()
	if u := s.users[user]; u == nil || u.Bot {
		return false
	}
	return chat == "" || slices.ContainsFunc(s.chatsOf(user), func(c platformtest.Chat) bool { return c.ID == chat })
}

// placeOf is the channel or thread that a message of a chat stands in; empty: none.
func (s *Server) placeOf(chat, id string) string {
	s.Lock()
	defer s.Unlock()
	for _, p := range s.around(chat) {
		if p.byID(id) != nil {
			return p.ID
		}
	}
	return ""
}

func (s *Server) wrote(user, where, id string) bool {
	s.Lock()
	defer s.Unlock()
	m := s.places[where].byID(id)
	return m != nil && m.Author.ID == user
}

// named writes mentions as the platform's apps send them.
func (s *Server) named(text string) string {
	return strings.ReplaceAll(text, "@"+s.bot.Username, "<@"+s.bot.ID+">")
}

// write writes as the platform's apps do; a command of the bot becomes an interaction.
func (s *Server) write(d platformtest.Deed, where string) (any, error) {
	if name, rest, _ := strings.Cut(strings.TrimPrefix(d.Text, "/"), " "); strings.HasPrefix(d.Text, "/") && len(d.Files) == 0 {
		if slices.ContainsFunc(s.Commands(), func(c Command) bool { return c.Name == name }) {
			return s.Give(where, d.User, name, strings.TrimSpace(rest)), nil
		}
	}
	d.Text = s.named(d.Text)
	texts, err := d.Texts(maxText, utf16.RuneLen)
	if err != nil {
		return nil, err
	}
	for _, f := range d.Files {
		if f.Bytes() > mostFile {
			return nil, errors.New("a file has at most 10 MB")
		}
	}
	p := Post{Channel: where, From: d.User, ReplyTo: d.Message, Files: d.Files}
	for _, p.Text = range texts {
		s.Post(p)
		p.ReplyTo, p.Files = "", nil
	}
	return true, nil
}

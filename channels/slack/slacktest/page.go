package slacktest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"switchboard/channels/platformtest"
)

const note = "As on the real one, the bot answers a mention in a channel in a thread."

// signs are the reactions that the page offers, with the platform's names.
var signs = map[string]string{"👍": "+1", "❤": "heart", "😄": "smile", "👀": "eyes"}

// View implements platformtest.Page.
func (s *Server) View(user, chat string) platformtest.View {
	s.Lock()
	defer s.Unlock()
	v := platformtest.View{
		Platform: "Slack", Colour: "#611f69",
		Bot: platformtest.User{ID: s.bot.ID, Name: s.bot.Name}, Mention: "@" + s.bot.Name, Connected: len(s.wire.sockets) > 0,
		Note: note, Signs: []string{"👍", "❤", "😄", "👀"}, Answers: map[string]platformtest.Answer{},
		Commands: []platformtest.Command{{Name: "switchboard", About: "give the bot a command, such as help"}},
	}
	for _, id := range slices.Sorted(maps.Keys(s.users)) {
		if u := s.users[id]; !u.IsBot {
			v.Users = append(v.Users, onPage(u))
		}
	}
	me := s.users[user]
	if me == nil {
		return v
	}
	dm := s.direct(me)
	v.Chats = append(v.Chats, platformtest.Chat{ID: dm.ID, Title: s.bot.Name, Direct: true, Apart: true, Threads: s.threads(dm)})
	for _, id := range slices.Sorted(maps.Keys(s.places)) {
		if c := s.places[id]; !c.IsIM && c.members[user] {
			v.Chats = append(v.Chats, platformtest.Chat{ID: id, Title: "#" + c.Name, Apart: true, Threads: s.threads(c)})
		}
	}
	c := s.places[chat]
	if c == nil || !c.members[user] {
		return v
	}
	for _, r := range c.messages {
		if !r.deleted && (r.only == "" || r.only == user) {
			v.Messages = append(v.Messages, s.message(r))
		}
	}
	for key, status := range s.statuses {
		if strings.HasPrefix(key, c.ID+"/") && status == "processing" {
			v.Working = "working…"
		}
	}
	for id, a := range s.answered {
		v.Answers[id] = platformtest.Answer{Done: a.Done, Text: a.Text}
	}
	return v
}

func onPage(u *User) platformtest.User { return platformtest.User{ID: u.ID, Name: u.RealName} }

// threads are those of a channel, by their first messages.
func (s *Server) threads(c *place) (list []platformtest.Thread) {
	for _, r := range c.messages {
		if r.ThreadTS == r.TS && !r.deleted {
			title := []rune(s.unescape(r.shown()))
			list = append(list, platformtest.Thread{ID: r.TS, Title: string(title[:min(len(title), 40)])})
		}
	}
	return list
}

func (s *Server) message(r *record) platformtest.Message {
	m := platformtest.Message{ID: r.TS, Author: onPage(s.users[r.by]), Bot: r.by == s.bot.ID, At: at(r.TS).UnixMilli(), Before: r.before}
	if r.Subtype != "" && r.Subtype != "file_share" && r.Subtype != "thread_broadcast" && r.Subtype != "me_message" {
		return platformtest.Message{ID: r.TS, Notice: s.unescape(r.Text), At: m.At}
	}
	if r.only != "" {
		m.Extras = []string{"Only you see this"}
	}
	if r.ThreadTS != "" && r.ThreadTS != r.TS {
		m.Thread = r.ThreadTS
	}
	if len(r.Blocks) > 0 {
		m.Text, m.Marks = look(r.Blocks)
	} else {
		m.Text = s.unescape(r.Text)
	}
	for _, f := range r.Files {
		kept := s.files[f.ID]
		if kept != nil {
			m.Files = append(m.Files, platformtest.Shown{ID: f.ID, Name: kept.Name, Size: kept.Bytes(), Picture: strings.HasPrefix(kept.Type, "image/")})
		}
	}
	for _, b := range r.buttons() {
		m.Buttons = append(m.Buttons, []platformtest.Button{{Label: b.Text.Text, Code: b.Text.Text}})
	}
	for _, reaction := range r.Reactions {
		m.Reactions = append(m.Reactions, sign(reaction.Name))
	}
	return m
}

func sign(name string) string {
	for sign, known := range signs {
		if known == name {
			return sign
		}
	}
	return ":" + name + ":"
}

// Do implements platformtest.Page.
func (s *Server) Do(d platformtest.Deed) (any, error) {
	s.Lock()
	u, c := s.users[d.User], s.places[d.Chat]
	may := u != nil && !u.IsBot && (c == nil && d.Name == "person" || c != nil && c.members[d.User])
	var r *record
	if may && c != nil && d.Message != "" {
		if r = c.find(d.Message); d.Name == "press" {
			r = c.findFor(d.User, d.Message)
		}
	}
	s.Unlock()
	switch {
	case !may, r == nil && slices.Contains([]string{"edit", "delete", "press", "react"}, d.Name):
		return nil, platformtest.ErrDeed
	case (d.Name == "edit" || d.Name == "delete") && r.by != d.User:
		return nil, platformtest.ErrDeed
	}
	switch d.Name {
	case "send":
		return s.say(d, r)
	case "edit":
		s.Edit(d.Chat, d.Message, d.Text)
	case "delete":
		s.Delete(d.Chat, d.Message)
	case "press":
		return s.Press(d.Chat, d.User, d.Message, d.Text), nil
	case "react":
		s.reactions(d, r)
	case "person":
		return s.person(d)
	default:
		return nil, platformtest.ErrDeed
	}
	return true, nil
}

// reactions makes the user's signs on a message those that the deed names.
func (s *Server) reactions(d platformtest.Deed, r *record) {
	s.Lock()
	had := slices.Clone(r.Reactions)
	s.Unlock()
	for sign, name := range signs {
		wants := slices.Contains(strings.Fields(d.Text), sign)
		has := slices.ContainsFunc(had, func(o Reaction) bool { return o.Name == name && slices.Contains(o.Users, d.User) })
		if wants != has {
			s.React(d.Chat, d.User, d.Message, name, has)
		}
	}
}

func (s *Server) person(d platformtest.Deed) (any, error) {
	name := strings.TrimSpace(d.Text)
	if name == "" || utf8.RuneCountInString(name) > 64 {
		return nil, platformtest.ErrDeed
	}
	u := s.AddUser(name)
	s.Change(func() {
		for _, c := range s.places {
			if !c.IsIM && c.members[d.User] {
				c.members[u.ID] = true
			}
		}
	})
	return onPage(&u), nil
}

// say writes as the platform's apps do; a text that begins with a slash is a command.
//
// Source: https://docs.slack.dev/interactivity/implementing-slash-commands.
func (s *Server) say(d platformtest.Deed, to *record) (any, error) {
	if command, rest, _ := strings.Cut(d.Text, " "); strings.HasPrefix(command, "/") && len(d.Files) == 0 {
		if d.Thread != "" || to != nil {
			return nil, fmt.Errorf("there are no slash commands in threads; name the bot instead: @%s /help", s.bot.Name)
		}
		if command != "/switchboard" {
			return nil, fmt.Errorf("%s is not a command here; the bot's is /switchboard", command)
		}
		return s.Command(d.Chat, d.User, command, strings.TrimSpace(rest)), nil
	}
	p := Post{Channel: d.Chat, User: d.User, Thread: d.Thread, Files: d.Files}
	if to != nil {
		p.Thread = to.TS
		if to.ThreadTS != "" {
			p.Thread = to.ThreadTS
		}
	}
	texts, err := d.Texts(maxSaid, func(rune) int { return 1 })
	if err != nil {
		return nil, err
	}
	for _, p.Text = range texts {
		s.Post(p)
		p.Files = nil
	}
	return true, nil
}

// Furnish makes what a person needs to try a bot: two people and two channels. It returns
// the first person. The IDs are the same each time, so that a bot knows the chats again. What comes later has new ones, so that such a bot takes
// nothing for something old.
func (s *Server) Furnish() User {
	ada, bob := s.AddUser("Ada Lovelace"), s.AddUser("Bob Noyce")
	s.AddChannel("general", ada, bob)
	s.AddPrivate("workshop", ada, bob)
	s.Change(func() {
		s.direct(s.users[ada.ID])
		s.direct(s.users[bob.ID])
		s.ids = s.Now().UnixMilli()
	})
	return ada
}

var _ platformtest.Page = (*Server)(nil)

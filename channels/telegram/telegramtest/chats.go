package telegramtest

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A chatKey names a chat. A direct chat belongs to one bot; others have bot 0.
type chatKey struct{ bot, id int64 }

// A chat is one place where messages go.
type chat struct {
	Chat
	key     chatKey
	members map[int64]string // status by user, "member" and so on; "kicked" and "left" too
	records []*record        // in order
	topics  map[int64]string // name by thread
	closed  map[int64]bool   // topics
	moved   int64            // the supergroup that this group became
	next    *int64           // the number of the last message
	own     int64            // where next points for supergroups and channels
	reacted map[int64]map[int64][]Reaction
}

// A record is a message and what became of it.
type record struct {
	Message
	by      int64 // who wrote it
	history []Message
	deleted bool
	at      int // place in the chat
}

// A Shown is a message as the chat shows it, with what it was before.
type Shown struct {
	Message
	Deleted   bool       `json:"deleted,omitempty"`
	Bot       bool       `json:"bot,omitempty"`    // written by a bot
	Before    []Message  `json:"before,omitempty"` // its former states, oldest first
	Reactions []Reaction `json:"reactions,omitempty"`
}

// AddUser makes a person; name may be "First Last". The username is made of it.
func (s *Server) AddUser(name string) User {
	first, last, _ := strings.Cut(name, " ")
	var u *User
	s.Change(func() {
		s.ids.user++
		u = &User{ID: s.ids.user, FirstName: first, LastName: last, Username: username(name, s.ids.user), LanguageCode: "en"}
		s.users[u.ID] = u
	})
	return *u
}

// SetLanguage makes language the one of a user's app, two letters; it is "en" at first.
func (s *Server) SetLanguage(user int64, language string) {
	s.Change(func() { s.users[user].LanguageCode = language })
}

// username is name in the letters that are allowed.
func username(name string, id int64) string {
	kept := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(name))
	if len(kept) < 5 {
		kept += "_" + strconv.FormatInt(id, 10)
	}
	return kept
}

// direct is the direct chat of a bot and a user; it is made when it is not there yet.
func (s *Server) direct(b *Bot, u *User) *chat {
	key := chatKey{b.User.ID, u.ID}
	if c := s.chats[key]; c != nil {
		return c
	}
	c := &chat{Chat: Chat{ID: u.ID, Type: "private", Username: u.Username, FirstName: u.FirstName, LastName: u.LastName}, key: key}
	c.members = map[int64]string{u.ID: "member", b.User.ID: "member"}
	return s.keep(c)
}

// keep makes the chat known.
func (s *Server) keep(c *chat) *chat {
	c.next, c.own = &s.ids.message, s.ids.message
	if c.Type == "supergroup" || c.Type == "channel" {
		s.ids.chatStep++ // numbers of one chat are not those of another
		c.own += 1000 * s.ids.chatStep
		c.next = &c.own
	}
	c.topics, c.closed, c.reacted = map[int64]string{}, map[int64]bool{}, map[int64]map[int64][]Reaction{}
	s.chats[c.key] = c
	return c
}

// AddGroup makes a basic group of the first bot and these people; the first of them
// made it. The bot is told with my_chat_member, here as with the others below.
func (s *Server) AddGroup(title string, members ...User) Chat {
	return s.addChat("group", title, false, members)
}

// AddSupergroup makes a supergroup of the first bot and these people.
func (s *Server) AddSupergroup(title string, members ...User) Chat {
	return s.addChat("supergroup", title, false, members)
}

// AddForum makes a supergroup with topics.
func (s *Server) AddForum(title string, members ...User) Chat {
	return s.addChat("supergroup", title, true, members)
}

// AddChannel makes a channel in which the first bot is an administrator.
func (s *Server) AddChannel(title string, members ...User) Chat {
	return s.addChat("channel", title, false, members)
}

func (s *Server) addChat(typ, title string, forum bool, members []User) Chat {
	var c *chat
	s.Change(func() {
		s.ids.group++
		id := -s.ids.group
		if typ != "group" {
			id = -1_000_000_000_000 - s.ids.group%1_000_000_000_000
		}
		c = &chat{Chat: Chat{ID: id, Type: typ, Title: title, IsForum: forum}, key: chatKey{0, id}, members: map[int64]string{}}
		for i, m := range members {
			c.members[m.ID] = "member"
			if i == 0 {
				c.members[m.ID] = "creator"
			}
		}
		s.keep(c)
		status := "member"
		if typ == "channel" {
			status = "administrator"
		}
		s.become(s.bots[0], c, s.somebody(c), status)
	})
	return c.Chat
}

// AddTopic makes a topic in a forum and returns its message_thread_id.
func (s *Server) AddTopic(chatID int64, name string) (thread int64) {
	s.Change(func() {
		c := s.mustChat(nil, chatID)
		m := s.post(c, &record{Message: Message{ForumTopicCreated: &TopicCreated{Name: name, IconColor: 7322096}}, by: s.somebody(c).ID})
		thread = m.ID
		c.topics[thread] = name
		m.ThreadID, m.IsTopicMessage = thread, true
		s.announce(c, m, false)
	})
	return thread
}

// CloseTopic closes a topic, or opens it again.
func (s *Server) CloseTopic(chatID, thread int64, closed bool) {
	s.Change(func() { s.mustChat(nil, chatID).closed[thread] = closed })
}

// somebody is a member who is no bot, the first by number; in a chat without such,
// the first bot.
func (s *Server) somebody(c *chat) User {
	for _, id := range slices.Sorted(maps.Keys(c.members)) {
		if status := c.members[id]; s.botByID(id) == nil && status != "left" && status != "kicked" {
			return *s.users[id]
		}
	}
	return s.bots[0].User
}

// find is the chat that a bot calls by this ID; nil: there is none.
func (s *Server) find(b *Bot, id int64) *chat {
	if c := s.chats[chatKey{0, id}]; c != nil {
		return c
	}
	return s.chats[chatKey{b.User.ID, id}]
}

// mustChat is a chat by the ID that a user of this package gives; a direct chat is
// the one with bot b, or with the first bot when b is nil.
func (s *Server) mustChat(b *Bot, id int64) *chat {
	if b == nil {
		b = s.bots[0]
	}
	if c := s.find(b, id); c != nil {
		return c
	}
	u := s.users[id]
	if u == nil {
		panic(detail("telegramtest: there is no chat %d", id))
	}
	return s.direct(b, u)
}

// byID is a message that is still there; nil: there is none.
func (c *chat) byID(id int64) *record {
	for i := len(c.records) - 1; i >= 0; i-- {
		if r := c.records[i]; r.ID == id && !r.deleted {
			return r
		}
	}
	return nil
}

// Messages are what a chat shows, in order; without what was deleted.
func (s *Server) Messages(chatID int64) []Shown {
	return slices.DeleteFunc(s.History(chatID), func(m Shown) bool { return m.Deleted })
}

// History is everything that a chat showed at any time, in order.
func (s *Server) History(chatID int64) []Shown {
	s.Lock()
	defer s.Unlock()
	return s.history(s.mustChat(nil, chatID))
}

func (s *Server) history(c *chat) []Shown {
	var shown []Shown
	for _, r := range c.records {
		m := Shown{Message: r.Message, Deleted: r.deleted, Bot: s.botByID(r.by) != nil, Before: slices.Clone(r.history)}
		for _, id := range slices.Sorted(maps.Keys(c.reacted[r.ID])) {
			m.Reactions = append(m.Reactions, c.reacted[r.ID][id]...)
		}
		shown = append(shown, m)
	}
	return shown
}

// FromBot is what the bots wrote in a chat and it shows, in order.
func (s *Server) FromBot(chatID int64) []Shown {
	return slices.DeleteFunc(s.Messages(chatID), func(m Shown) bool { return !m.Bot })
}

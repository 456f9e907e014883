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
func (s *world) AddUser(name string) User {
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
func (s *world) SetLanguage(user int64, language string) {
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

// AddGroup makes a basic group of the first bot and these people; the first of them
// made it. The bot is told with my_chat_member, here as with the others below.
func (s *world) AddGroup(title string, members ...User) Chat {
	return s.addChat("group", title, false, members)
}

// AddSupergroup makes a supergroup of the first bot and these people.
func (s *world) AddSupergroup(title string, members ...User) Chat {
	return s.addChat("supergroup", title, false, members)
}

// AddForum makes a supergroup with topics.
func (s *world) AddForum(title string, members ...User) Chat {
	return s.addChat("supergroup", title, true, members)
}

// AddChannel makes a channel in which the first bot is an administrator.
func (s *world) AddChannel(title string, members ...User) Chat {
	return s.addChat("channel", title, false, members)
}

func (s *world) addChat(typ, title string, forum bool, members []User) Chat {
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
func (s *world) AddTopic(chatID int64, name string) (thread int64) {
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
func (s *world) CloseTopic(chatID, thread int64, closed bool) {
	s.Change(func() { s.mustChat(nil, chatID).closed[thread] = closed })
}

// Messages are what a chat shows, in order; without what was deleted.
func (s *world) Messages(chatID int64) []Shown {
	return slices.DeleteFunc(s.History(chatID), func(m Shown) bool { return m.Deleted })
}

// History is everything that a chat showed at any time, in order.
func (s *world) History(chatID int64) []Shown {
	s.Lock()
	defer s.Unlock()
	return s.history(s.mustChat(nil, chatID))
}

func (s *world) history(c *chat) []Shown {
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
func (s *world) FromBot(chatID int64) []Shown {
	return slices.DeleteFunc(s.Messages(chatID), func(m Shown) bool { return !m.Bot })
}

package telegramtest

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"switchboard/channels/platformtest"
)

// The world is what there is: bots, users, chats and files. Its methods in lower case are called
// under the lock.
type world struct {
	*platformtest.Host
	bots   []*Bot
	users  map[int64]*User
	chats  map[chatKey]*chat
	files  map[string]*file
	remote map[string]File // by URL
	ids    struct {
		message, update, user, group, other int64
		chatStep                            int64
	}
}

func newWorld() *world {
	s := &world{
		Host:  platformtest.NewHost(),
		users: map[int64]*User{}, chats: map[chatKey]*chat{}, files: map[string]*file{}, remote: map[string]File{},
	}
	// Numbers depend on the time, so that a bot that kept its memory of an earlier
	// server takes nothing for something old.
	begin := time.Now().Unix()
	s.ids.update = begin
	s.ids.message = begin - 1_750_000_000
	s.ids.user = 500_000_000
	s.ids.group = 4_000_000_000
	return s
}

// id makes a number for something that only needs to be unique.
func (s *world) id() string {
	s.ids.other++
	return strconv.FormatInt(s.ids.update+s.ids.other*7919, 36)
}

// byToken finds a bot.
func (s *world) byToken(token string) *Bot {
	for _, b := range s.bots {
		if b.Token == token && !b.revoked {
			return b
		}
	}
	return nil
}

// botByID finds a bot; nil: it is a person, or unknown.
func (s *world) botByID(id int64) *Bot {
	for _, b := range s.bots {
		if b.User.ID == id {
			return b
		}
	}
	return nil
}

// direct is the direct chat of a bot and a user; it is made when it is not there yet.
func (s *world) direct(b *Bot, u *User) *chat {
	key := chatKey{b.User.ID, u.ID}
	if c := s.chats[key]; c != nil {
		return c
	}
	c := &chat{Chat: Chat{ID: u.ID, Type: "private", Username: u.Username, FirstName: u.FirstName, LastName: u.LastName}, key: key}
	c.members = map[int64]string{u.ID: "member", b.User.ID: "member"}
	return s.keep(c)
}

// keep makes the chat known.
func (s *world) keep(c *chat) *chat {
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

// somebody is a member who is no bot, the first by number; in a chat without such,
// the first bot.
func (s *world) somebody(c *chat) User {
	for _, id := range slices.Sorted(maps.Keys(c.members)) {
		if status := c.members[id]; s.botByID(id) == nil && status != "left" && status != "kicked" {
			return *s.users[id]
		}
	}
	return s.bots[0].User
}

// find is the chat that a bot calls by this ID; nil: there is none.
func (s *world) find(b *Bot, id int64) *chat {
	if c := s.chats[chatKey{0, id}]; c != nil {
		return c
	}
	return s.chats[chatKey{b.User.ID, id}]
}

// mustChat is a chat by the ID that a user of this package gives; a direct chat is
// the one with bot b, or with the first bot when b is nil.
func (s *world) mustChat(b *Bot, id int64) *chat {
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

package telegramtest

import "maps"

// getChat tells of a chat that the bot is or was in.
func (s *calls) getChat(b *Bot, p *params) any {
	return struct {
		Chat
		AccentColorID int `json:"accent_color_id"`
		MaxReactions  int `json:"max_reaction_count"`
	}{Chat: s.target(b, p).Chat, MaxReactions: 11}
}

func (s *calls) getChatMember(b *Bot, p *params) any {
	c, u := s.target(b, p), s.users[p.int("user_id")]
	if p.failIf(u == nil, "getchatmember", "PARTICIPANT_ID_INVALID") {
		return nil
	}
	return c.member(*u)
}

func (c *chat) member(u User) Member {
	m := Member{User: u, Status: c.members[u.ID]}
	if m.Status == "" || m.Status == "deactivated" {
		m.Status = "left"
	}
	if m.Status == "kicked" {
		m.UntilDate = new(int64)
	}
	return m
}

func (s *calls) leaveChat(b *Bot, p *params) any {
	c := s.target(b, p)
	if !p.failIf(c.Type == "private", "leavechat", "chat member status can't be changed in private chats") {
		s.become(b, c, b.User, "left")
	}
	return true
}

// become changes the bot's place in a chat and tells it so.
func (s *world) become(b *Bot, c *chat, by User, status string) {
	before := c.member(b.User)
	if before.Status == status {
		return
	}
	c.members[b.User.ID] = status
	s.queue(b, Update{MyChatMember: &MemberChange{
		Chat: c.Chat, From: by, Date: s.Now().Unix(), Old: before, New: c.member(b.User),
	}})
}

// actor finds a chat and somebody in it who acts.
func (s *world) actor(chatID int64) (*chat, User) {
	c := s.mustChat(nil, chatID)
	return c, s.somebody(c)
}

// Block makes a user block the first bot, or unblock it.
func (s *people) Block(user int64, blocked bool) {
	s.Change(func() {
		c, u := s.actor(user)
		status := "member"
		if blocked {
			status = "kicked"
		}
		s.become(s.bots[0], c, u, status)
	})
}

// Deactivate makes a user's account cease to be.
func (s *people) Deactivate(user int64) {
	s.Change(func() { s.mustChat(nil, user).members[user] = "deactivated" })
}

// Kick puts the first bot out of a group.
func (s *people) Kick(chatID int64) {
	s.Change(func() {
		c, u := s.actor(chatID)
		s.become(s.bots[0], c, u, "kicked")
	})
}

// Invite lets the first bot into a group again.
func (s *people) Invite(chatID int64) {
	s.Change(func() {
		c, u := s.actor(chatID)
		s.become(s.bots[0], c, u, "member")
	})
}

// Promote makes the first bot an administrator of a group.
func (s *people) Promote(chatID int64) {
	s.Change(func() {
		c, u := s.actor(chatID)
		s.become(s.bots[0], c, u, "administrator")
	})
}

// Join lets somebody into a group, which tells of it.
func (s *people) Join(chatID int64, u User) {
	s.Change(func() {
		c := s.mustChat(nil, chatID)
		c.members[u.ID] = "member"
		s.announce(c, s.post(c, &record{Message: Message{NewChatMembers: []User{u}}, by: u.ID}), false)
	})
}

// Leave makes somebody leave a group, which tells of it.
func (s *people) Leave(chatID int64, u User) {
	s.Change(func() {
		c := s.mustChat(nil, chatID)
		c.members[u.ID] = "left"
		s.announce(c, s.post(c, &record{Message: Message{LeftChatMember: &u}, by: u.ID}), false)
	})
}

// Migrate upgrades a group to a supergroup, which it returns: the group tells its new
// ID, the supergroup its old one, and the group takes no messages any more.
//
// Source: https://core.telegram.org/bots/api#message, migrate_to_chat_id
func (s *people) Migrate(chatID int64) (upgraded Chat) {
	s.Change(func() {
		c, u := s.actor(chatID)
		id := -1_000_000_000_000 + c.ID
		fresh := &chat{
			Chat: Chat{ID: id, Type: "supergroup", Title: c.Title}, key: chatKey{0, id},
			members: maps.Clone(c.members),
		}
		s.keep(fresh)
		s.announce(c, s.post(c, &record{Message: Message{MigrateToChatID: id}, by: u.ID}), false)
		s.announce(fresh, s.post(fresh, &record{Message: Message{MigrateFromChatID: c.ID}, by: u.ID}), false)
		c.moved = id
		upgraded = fresh.Chat
	})
	return upgraded
}

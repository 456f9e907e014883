package discordtest

import (
	"cmp"
	"strings"
)

// A guild is a server of people, as the platform calls it guild.
type guild struct {
	id, name string
	members  map[string]bool
	botIn    string // when the bot joined; empty: it is not there
}

// A place is a channel of any kind with its messages, the oldest first.
type place struct {
	Channel
	messages []*stored
	denied   uint64 // permissions that the bot lacks
	archived bool
	blocked  bool // of a direct chat: whoever it is with takes no messages of the bot
}

// A stored message with what it was before.
type stored struct {
	Message
	before []string
	thread *Channel
}

// Permissions that a bot may lack in a channel.
//
// Source: https://docs.discord.com/developers/topics/permissions.
const (
	AddReactions  uint64 = 1 << 6
	ViewChannel   uint64 = 1 << 10
	SendMessages  uint64 = 1 << 11
	AttachFiles   uint64 = 1 << 15
	ReadHistory   uint64 = 1 << 16
	CreateThreads uint64 = 1 << 35
	SendInThreads uint64 = 1 << 38
)

// AddUser makes a person.
func (s *world) AddUser(name string) (u User) {
	s.Change(func() {
		u = User{ID: s.fixedID(), Username: strings.ToLower(strings.ReplaceAll(name, " ", "")), GlobalName: name, Discriminator: "0"}
		s.users[u.ID] = &u
	})
	return u
}

// AddGuild makes a guild with these people, and the bot in it.
func (s *people) AddGuild(name string, people ...User) (id string) {
	s.Change(func() {
		g := &guild{id: s.fixedID(), name: name, members: map[string]bool{}, botIn: instant(s.Now())}
		for _, u := range people {
			g.members[u.ID] = true
		}
		s.guilds[g.id] = g
		id = g.id
		s.tellGuild(g)
	})
	return id
}

// AddChannel makes a text channel in a guild.
func (s *people) AddChannel(guild, name string) (c Channel) {
	s.Change(func() {
		p := &place{Channel: Channel{ID: s.fixedID(), Type: TypeText, GuildID: guild, Name: name}}
		s.places[p.ID] = p
		c = p.Channel
		s.tell("CHANNEL_CREATE", guild, c)
	})
	return c
}

// AddThread makes a thread in a channel, which stands by itself.
func (s *people) AddThread(parent, name string) (c Channel) {
	s.Change(func() {
		up := s.mustPlace(parent)
		p := &place{Channel: Channel{ID: s.fixedID(), Type: TypeThread, GuildID: up.GuildID, ParentID: parent, Name: name}}
		s.places[p.ID] = p
		c = p.Channel
		s.tell("THREAD_CREATE", up.GuildID, c)
	})
	return c
}

// OpenThread makes a person begin a thread at a message.
func (s *people) OpenThread(channel, message, user, name string) (c Channel) {
	s.Change(func() {
		up, m := s.find(channel, message)
		c = s.begin(up, m, user, name)
	})
	return c
}

// Direct is the direct chat of a person and the bot. Its number is the same each time for the
// same person.
func (s *people) Direct(user string) (c Channel) {
	s.Change(func() { c = s.direct(user).Channel })
	return c
}

// Deny takes permissions from the bot in a channel, and gives all others.
func (s *people) Deny(channel string, permissions uint64) {
	s.Change(func() { s.mustPlace(channel).denied = permissions })
}

// Block makes a person take no messages of the bot, or take them again.
func (s *people) Block(user string, on bool) { s.Change(func() { s.direct(user).blocked = on }) }

// Kick puts the bot out of a guild.
func (s *people) Kick(id string) {
	s.Change(func() {
		s.guilds[id].botIn = ""
		s.tell("GUILD_DELETE", id, map[string]any{"id": id})
	})
}

// Invite lets the bot into a guild.
func (s *people) Invite(id string) {
	s.Change(func() {
		s.guilds[id].botIn = instant(s.Now())
		s.tellGuild(s.guilds[id])
	})
}

// Remove deletes a channel or thread.
func (s *people) Remove(channel string) {
	s.Change(func() {
		p := s.mustPlace(channel)
		delete(s.places, channel)
		kind := "CHANNEL_DELETE"
		if p.Type == TypeThread {
			kind = "THREAD_DELETE"
		}
		s.tell(kind, p.GuildID, p.Channel)
	})
}

// title is what the page calls a place.
func (p *place) title() string { return cmp.Or(p.Name, p.ID) }

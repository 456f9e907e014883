package discordtest

import (
	"cmp"
	"maps"
	"slices"
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
func (s *Server) AddUser(name string) (u User) {
	s.Change(func() {
		u = User{ID: s.fixedID(), Username: strings.ToLower(strings.ReplaceAll(name, " ", "")), GlobalName: name, Discriminator: "0"}
		s.users[u.ID] = &u
	})
	return u
}

// AddGuild makes a guild with these people, and the bot in it.
func (s *Server) AddGuild(name string, people ...User) (id string) {
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
func (s *Server) AddChannel(guild, name string) (c Channel) {
	s.Change(func() {
		p := &place{Channel: Channel{ID: s.fixedID(), Type: TypeText, GuildID: guild, Name: name}}
		s.places[p.ID] = p
		c = p.Channel
		s.tell("CHANNEL_CREATE", guild, c)
	})
	return c
}

// AddThread makes a thread in a channel, which stands by itself.
func (s *Server) AddThread(parent, name string) (c Channel) {
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
func (s *Server) OpenThread(channel, message, user, name string) (c Channel) {
	s.Change(func() {
		up, m := s.find(channel, message)
		c = s.begin(up, m, user, name)
	})
	return c
}

// begin begins a thread, which has the message's number. It is called under the lock.
func (s *Server) begin(up *place, m *stored, owner, name string) Channel {
	t := &place{Channel: Channel{ID: m.ID, Type: TypeThread, GuildID: up.GuildID, ParentID: up.ID, Name: name, OwnerID: owner}}
	s.places[t.ID], m.thread = t, &t.Channel
	s.tell("THREAD_CREATE", up.GuildID, t.Channel)
	return t.Channel
}

// Direct is the direct chat of a person and the bot. Its number is the same each time for the
// same person.
func (s *Server) Direct(user string) (c Channel) {
	s.Change(func() { c = s.direct(user).Channel })
	return c
}

// direct is called under the lock.
func (s *Server) direct(user string) *place {
	for _, p := range s.places {
		if p.Type == TypeDirect && p.Recipients[0].ID == user {
			return p
		}
	}
	u := s.users[user]
	if u == nil {
		panic("discordtest: there is no user " + user)
	}
	p := &place{Channel: Channel{ID: s.fixedID(), Type: TypeDirect, Recipients: []User{*u}}}
	s.places[p.ID] = p
	return p
}

// Deny takes permissions from the bot in a channel, and gives all others.
func (s *Server) Deny(channel string, permissions uint64) {
	s.Change(func() { s.mustPlace(channel).denied = permissions })
}

// Block makes a person take no messages of the bot, or take them again.
func (s *Server) Block(user string, on bool) { s.Change(func() { s.direct(user).blocked = on }) }

// Kick puts the bot out of a guild.
func (s *Server) Kick(id string) {
	s.Change(func() {
		s.guilds[id].botIn = ""
		s.tell("GUILD_DELETE", id, map[string]any{"id": id})
	})
}

// Invite lets the bot into a guild.
func (s *Server) Invite(id string) {
	s.Change(func() {
		s.guilds[id].botIn = instant(s.Now())
		s.tellGuild(s.guilds[id])
	})
}

// Remove deletes a channel or thread.
func (s *Server) Remove(channel string) {
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

func (s *Server) tellGuild(g *guild) { s.tell("GUILD_CREATE", g.id, s.wireGuild(g)) }

// wireGuild is a guild as GUILD_CREATE tells it: channels, and the threads that are active.
//
// Source: https://docs.discord.com/developers/events/gateway-events#guild-create.
func (s *Server) wireGuild(g *guild) map[string]any {
	rooms, threads := []Channel{}, []Channel{}
	for _, id := range slices.Sorted(maps.Keys(s.places)) {
		p := s.places[id]
		switch {
		case p.GuildID != g.id || p.denied&ViewChannel != 0 || p.archived:
		case p.Type == TypeThread:
			threads = append(threads, p.Channel)
		default:
			rooms = append(rooms, p.Channel)
		}
	}
	return map[string]any{
		"id": g.id, "name": g.name, "joined_at": g.botIn, "unavailable": false, "large": false, "member_count": len(g.members) + 1,
		"channels": rooms, "threads": threads, "members": []any{}, "roles": []any{}, "system_channel_id": nil,
	}
}

// mustPlace panics where there is no such channel, for that is a mistake of the test.
func (s *Server) mustPlace(id string) *place {
	p := s.places[id]
	if p == nil {
		panic("discordtest: there is no channel " + id)
	}
	return p
}

// at finds the channel of a call. The bot must be there and have these permissions; a call
// about what it cannot see at all is answered like that.
func (s *Server) at(r *request, needs uint64) (*place, *Rejection) {
	p := s.places[r.PathValue("channel")]
	if p == nil {
		return nil, UnknownChannel
	}
	if p.Type == TypeDirect {
		return p, nil
	}
	denied := p.denied
	if up := s.places[p.ParentID]; up != nil {
		denied |= up.denied
	}
	switch {
	case s.guilds[p.GuildID].botIn == "" || denied&ViewChannel != 0:
		return nil, MissingAccess
	case denied&needs != 0:
		return nil, MissingPermissions
	}
	return p, nil
}

// byID finds a message of the channel.
func (p *place) byID(id string) *stored {
	i := slices.IndexFunc(p.messages, func(m *stored) bool { return m.ID == id })
	if i < 0 {
		return nil
	}
	return p.messages[i]
}

func (s *Server) getChannel(r *request) (any, *Rejection) {
	p, refused := s.at(r, 0)
	if refused != nil {
		return nil, refused
	}
	return p.Channel, nil
}

func (s *Server) openDirect(r *request) (any, *Rejection) {
	var body struct {
		Recipient string `json:"recipient_id"`
	}
	if refused := r.decode(&body); refused != nil {
		return nil, refused
	}
	if s.users[body.Recipient] == nil {
		return nil, UnknownUser
	}
	return s.direct(body.Recipient).Channel, nil
}

// startThread makes a thread of a message; it has the message's number.
//
// Source: https://docs.discord.com/developers/resources/channel#start-thread-from-message.
func (s *Server) startThread(r *request) (any, *Rejection) {
	p, refused := s.at(r, CreateThreads)
	if refused != nil {
		return nil, refused
	}
	var body struct {
		Name string `json:"name"`
	}
	if refused := r.decode(&body); refused != nil {
		return nil, refused
	}
	m := p.byID(r.PathValue("message"))
	switch n := Units(body.Name); {
	case p.Type != TypeText:
		return nil, &Rejection{Status: 400, Code: 50024, Message: "Cannot execute action on this channel type"}
	case m == nil:
		return nil, UnknownMessage
	case m.thread != nil:
		return nil, ThreadExists
	case n < 1 || n > 100:
		return nil, invalid("name: Must be between 1 and 100 in length.")
	}
	return s.begin(p, m, s.bot.ID, body.Name), nil
}

// title is what the page calls a place.
func (p *place) title() string { return cmp.Or(p.Name, p.ID) }

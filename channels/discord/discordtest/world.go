package discordtest

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"time"

	"switchboard/channels/platformtest"
)

// The world is what there is: people, guilds, places, files and the bot. Its methods in lower case are
// called under the lock.
type world struct {
	*platformtest.Host
	app       Application
	bot       User
	token     string
	users     map[string]*User
	guilds    map[string]*guild
	places    map[string]*place
	files     map[string]*kept
	presses   map[string]*Interaction
	rang      map[string]bool // messages that somebody was notified of
	typings   map[string]time.Time
	fixed     uint64 // numbers of what is furnished
	last      uint64 // the newest number that depends on time
	edited    time.Time
	forbidden bool // no privileged intent is enabled
}

func newWorld() *world {
	s := &world{
		Host: platformtest.NewHost(), fixed: firstID,
		users: map[string]*User{}, guilds: map[string]*guild{}, places: map[string]*place{}, files: map[string]*kept{},
		rang: map[string]bool{}, presses: map[string]*Interaction{}, typings: map[string]time.Time{},
	}
	s.bot = User{ID: s.fixedID(), Username: "switchboard-dev", Bot: true}
	s.users[s.bot.ID] = &s.bot
	s.token = s.newToken("")
	s.app = Application{ID: s.bot.ID, Name: "Switchboard", BotPublic: true}
	return s
}

func (s *world) newToken(had string) string {
	return platformtest.Token(had, base64.RawURLEncoding.EncodeToString([]byte(s.bot.ID))+".Gfake0.")
}

// fixedID numbers what is furnished. It is called under the lock or before Serve.
func (s *world) fixedID() string {
	s.fixed++
	return strconv.FormatUint(s.fixed, 10)
}

// epoch is where the platform's numbers begin.
//
// Source: https://docs.discord.com/developers/reference#snowflakes.
const epoch = 1_420_070_400_000

// id makes a number that grows with time. It is called under the lock.
func (s *world) id() string {
	s.last = max(s.last+1, uint64(s.Now().UnixMilli()-epoch)<<22)
	return strconv.FormatUint(s.last, 10)
}

// number reads an ID; what is none is 0.
func number(id string) uint64 {
	n, _ := strconv.ParseUint(id, 10, 64)
	return n
}

// instant writes a time as the platform does.
func instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000+00:00") }

// direct is called under the lock.
func (s *world) direct(user string) *place {
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

// mustPlace panics where there is no such channel, for that is a mistake of the test.
func (s *world) mustPlace(id string) *place {
	p := s.places[id]
	if p == nil {
		panic("discordtest: there is no channel " + id)
	}
	return p
}

// byID finds a message of the channel.
func (p *place) byID(id string) *stored {
	i := slices.IndexFunc(p.messages, func(m *stored) bool { return m.ID == id })
	if i < 0 {
		return nil
	}
	return p.messages[i]
}

// wireGuild is a guild as GUILD_CREATE tells it: channels, and the threads that are active.
//
// Source: https://docs.discord.com/developers/events/gateway-events#guild-create.
func (s *world) wireGuild(g *guild) map[string]any {
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

// find is a message wherever it is. It panics where there is none.
func (s *world) find(channel, id string) (*place, *stored) {
	p := s.mustPlace(channel)
	m := p.byID(id)
	if m == nil {
		panic(detail("there is no message %q", id))
	}
	return p, m
}

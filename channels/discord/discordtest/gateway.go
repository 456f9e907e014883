package discordtest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// The gateway's operations.
//
// Source: https://docs.discord.com/developers/topics/opcodes-and-status-codes#gateway.
const (
	opDispatch  = 0
	opHeartbeat = 1
	opIdentify  = 2
	opResume    = 6
	opReconnect = 7
	opInvalid   = 9
	opHello     = 10
	opAck       = 11
)

// Close codes of the gateway.
const (
	CloseUnknown       = 4000
	CloseNoIdentify    = 4003
	CloseUnauthorized  = 4004
	CloseTwice         = 4005
	CloseBadSequence   = 4007
	CloseTimeout       = 4009
	CloseSharding      = 4011
	CloseBadIntents    = 4013
	CloseIntentsDenied = 4014
)

// Intents, what a session is told.
//
// Source: https://docs.discord.com/developers/events/gateway#gateway-intents.
const (
	intentGuilds          = 1 << 0
	intentMembers         = 1 << 1
	intentPresences       = 1 << 8
	intentMessages        = 1 << 9
	intentReactions       = 1 << 10
	intentDirect          = 1 << 12
	intentDirectReactions = 1 << 13
	intentContent         = 1 << 15
)

// gateway is the state of the gateway.
type gateway struct {
	sessions   map[string]*session
	conns      map[*conn]bool
	interval   time.Duration // of heartbeats
	every      time.Duration // between two identifies
	identified time.Time
	asked      []time.Time // when identifies came
	starts     int         // sessions begun so far
	resumes    int         // sessions resumed
	tried      int         // resumes that were asked for
	newest     *session    // that an identify began
	remaining  int         // session starts
	resets     time.Time   // when there are new ones; zero: nobody asked
	storm      *Storm
	shards     int
	most       int // connections with a session at once
	frozen     bool
	closed     bool // nobody is let in
	cut        bool // who is let in is cut off before anything is told
}

func newGateway() gateway {
	return gateway{
		sessions: map[string]*session{}, conns: map[*conn]bool{},
		interval: 41250 * time.Millisecond, every: 5 * time.Second, remaining: startsADay, shards: 1,
	}
}

// A session is what outlives a connection, so that it can be resumed.
type session struct {
	id      string
	intents int
	told    []frame // every dispatch, numbered from 1
	acked   int     // the highest number that a heartbeat said
	conn    *conn   // nil: nobody is connected
}

// A frame is one payload of the gateway.
//
// Source: https://docs.discord.com/developers/events/gateway-events#payload-structure.
type frame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  *int            `json:"s"`
	Type *string         `json:"t"`
	raw  []byte          // instead of all that
}

// events are what the bot is told, by sessions of the gateway.
type events struct {
	*world
	gateway  gateway
	repeat   int
	disorder bool
}

// Heartbeat sets how often connections from now on shall say that they live.
func (s *events) Heartbeat(every time.Duration) { s.Change(func() { s.gateway.interval = every }) }

// IdentifyEvery sets how much time must lie between two identifies; at first five seconds.
func (s *events) IdentifyEvery(every time.Duration) { s.Change(func() { s.gateway.every = every }) }

// Starts sets how many session starts are left.
func (s *events) Starts(left int) { s.Change(func() { s.gateway.remaining = left }) }

// Shards sets how many shards the platform wants the bot to have.
func (s *events) Shards(n int) { s.Change(func() { s.gateway.shards = n }) }

// Identifies and Resumes count what sessions began with; MostConnections is how many
// connections with a session there were at once.
func (s *events) Identifies() int { return look(s, func(g *gateway) int { return g.starts }) }

// Resumes counts the sessions that were resumed.
func (s *events) Resumes() int { return look(s, func(g *gateway) int { return g.resumes }) }

// ResumesAsked counts the resumes that were asked for, whatever became of them.
func (s *events) ResumesAsked() int { return look(s, func(g *gateway) int { return g.tried }) }

// MostConnections is how many connections with a session there were at once, at most.
func (s *events) MostConnections() int { return look(s, func(g *gateway) int { return g.most }) }

// Connections counts the connections with a session.
func (s *events) Connections() int { return look(s, func(g *gateway) int { return g.open() }) }

// Connected says whether a session has a connection.
func (s *events) Connected() bool { return look(s, func(g *gateway) bool { return g.open() > 0 }) }

// Unacknowledged counts what was told to sessions and not said to be received by a heartbeat;
// that a session was resumed does not count, and nothing of one that the bot gave up for another.
func (s *events) Unacknowledged() int {
	return look(s, func(g *gateway) (n int) {
		for _, t := range g.sessions {
			if t.conn == nil && t != g.newest {
				continue
			}
			for _, f := range t.told[t.acked:] {
				if *f.Type != "RESUMED" {
					n++
				}
			}
		}
		return n
	})
}

func look[T any](s *events, ask func(*gateway) T) T {
	s.Lock()
	defer s.Unlock()
	return ask(&s.gateway)
}

func (g *gateway) open() (n int) {
	for _, t := range g.sessions {
		if t.conn != nil {
			n++
		}
	}
	return n
}

// intentOf is what a session needs to be told of an event.
func intentOf(kind string, direct bool) int {
	switch kind {
	case "MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_DELETE_BULK":
		if direct {
			return intentDirect
		}
		return intentMessages
	case "MESSAGE_REACTION_ADD", "MESSAGE_REACTION_REMOVE":
		if direct {
			return intentDirectReactions
		}
		return intentReactions
	case "INTERACTION_CREATE", "READY", "RESUMED":
		return 0
	}
	return intentGuilds
}

// tell tells all sessions of an event in a guild, or in a direct chat when that is empty. It is
// called under the lock.
func (s *events) tell(kind, guild string, data any) {
	if g := s.guilds[guild]; g != nil && g.botIn == "" && kind != "GUILD_DELETE" {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(s.gateway.sessions)) {
		t := s.gateway.sessions[id]
		if need := intentOf(kind, guild == ""); t.intents&need != need {
			continue
		}
		shown := data
		if m, ok := data.(Message); ok && t.intents&intentContent == 0 {
			s.blank(&m)
			shown = m
		}
		for range s.repeat {
			t.dispatch(kind, shown)
		}
	}
	s.Wake()
}

// dispatch adds an event to what a session is told.
func (t *session) dispatch(kind string, data any) {
	raw, err := json.Marshal(data)
	if err != nil {
		panic(detail("%s cannot be encoded: %v", kind, err))
	}
	n := len(t.told) + 1
	t.told = append(t.told, frame{Op: opDispatch, Data: raw, Seq: &n, Type: &kind})
}

// Inject tells every session an event with this data as it is; N in it becomes the event's
// number. With kind empty data is the whole frame, in which SEQ becomes that number.
func (s *events) Inject(kind, data string) {
	s.Change(func() {
		for _, t := range s.gateway.sessions {
			n := len(t.told) + 1
			f := frame{Op: opDispatch, Data: json.RawMessage(data), Seq: &n, Type: &kind}
			if kind == "" {
				f.raw = []byte(replaceSeq(data, n))
			}
			t.told = append(t.told, f)
		}
	})
}

// Repeat makes the platform tell every later event n times.
func (s *events) Repeat(n int) { s.Change(func() { s.repeat = n }) }

// Disorder makes the platform tell what waits for a session in the reverse order.
func (s *events) Disorder(on bool) { s.Change(func() { s.disorder = on }) }

// reversed turns what a session was not told yet round; numbers stay in order. It is called
// under the lock.
func (t *session) reversed(from int) {
	rest := t.told[from:]
	slices.Reverse(rest)
	for i := range rest {
		n := from + i + 1
		rest[i].Seq = &n
	}
}

// ready is what a new session is told first.
//
// Source: https://docs.discord.com/developers/events/gateway-events#ready.
func (s *events) ready(c *conn, t *session) {
	var guilds []map[string]any
	for _, id := range slices.Sorted(maps.Keys(s.guilds)) {
		if s.guilds[id].botIn != "" {
			guilds = append(guilds, map[string]any{"id": id, "unavailable": true})
		}
	}
	t.dispatch("READY", map[string]any{
		"v": 10, "user": s.bot, "guilds": append([]map[string]any{}, guilds...), "session_id": t.id, "private_channels": []any{},
		"resume_gateway_url": "ws://" + c.host + "/gateway-resume", "application": map[string]any{"id": s.app.ID, "flags": s.app.Flags},
	})
	for _, g := range guilds {
		t.dispatch("GUILD_CREATE", s.wireGuild(s.guilds[g["id"].(string)])) //nolint:errcheck // made above
	}
}

// Asked are the times at which bots asked for a session to begin, whatever became of it.
func (s *events) Asked() []time.Time {
	return look(s, func(g *gateway) []time.Time { return append([]time.Time(nil), g.asked...) })
}

// A day's session starts, and when there are new ones.
//
// Source: https://docs.discord.com/developers/events/gateway#session-start-limit.
const (
	startsADay = 1000
	startsFor  = 24 * time.Hour
)

// today renews the session starts where a day is over. It is called under the lock.
func (g *gateway) today(now time.Time) {
	if g.resets.IsZero() {
		g.resets = now.Add(startsFor)
	}
	if !now.Before(g.resets) {
		g.remaining, g.resets = startsADay, now.Add(startsFor)
	}
}

func replaceSeq(data string, n int) string { return strings.ReplaceAll(data, "SEQ", itoa(n)) }

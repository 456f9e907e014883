package discordtest

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
)

// A conn is one connection of the gateway.
type conn struct {
	ws      *websocket.Conn
	host    string
	session *session
	next    int      // the index of the session's event to tell next
	control [][]byte // frames without a number, to be written first
	muted   bool     // nothing is written any more
	code    int      // to close with; 0: not
	half    bool     // the next frame breaks off in its middle
	done    chan struct{}
	silent  int // heartbeats that were not acknowledged
}

// sockets are the connections of the gateway.
type sockets struct{ *events }

// serveGateway lets a bot in, and serves it until the connection ends.
func (s *sockets) serveGateway(w http.ResponseWriter, r *http.Request) {
	refused, cut := false, false
	s.Change(func() { refused, cut = s.gateway.closed, s.gateway.cut })
	if refused || r.FormValue("v") != "10" || r.FormValue("encoding") != "json" {
		http.Error(w, "v must be 10 and encoding json", http.StatusServiceUnavailable)
		return
	}
	up := websocket.Upgrader{HandshakeTimeout: 10 * time.Second}
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	if cut {
		_ = ws.Close()
		return
	}
	c := &conn{ws: ws, host: r.Host, done: make(chan struct{})}
	s.Change(func() {
		s.gateway.conns[c] = true
		c.say(opHello, map[string]any{"heartbeat_interval": s.gateway.interval.Milliseconds()})
	})
	written := make(chan struct{})
	go func() {
		defer close(written)
		s.feed(c)
	}()
	s.read(c)
	close(c.done)
	_ = ws.Close()
	<-written
	s.Change(func() {
		delete(s.gateway.conns, c)
		if c.session != nil && c.session.conn == c {
			c.session.conn = nil
		}
	})
}

// say queues a frame without a number. It is called under the lock.
func (c *conn) say(op int, data any) {
	raw, _ := json.Marshal(map[string]any{"op": op, "d": data, "s": nil, "t": nil})
	c.control = append(c.control, raw)
}

// feed writes what there is until the connection ends.
func (s *sockets) feed(c *conn) {
	for {
		s.Lock()
		changed, frame, code, half := s.Changed(), c.take(s.IsDeaf()), c.code, c.half
		s.Unlock()
		_ = c.ws.SetWriteDeadline(time.Now().Add(10 * time.Second))
		switch {
		case frame != nil && half:
			_ = c.ws.NetConn().SetDeadline(time.Now().Add(time.Second))
			_, _ = c.ws.NetConn().Write(append([]byte{0x81, 126, byte(len(frame) >> 8), byte(len(frame))}, frame[:len(frame)/2]...))
			_ = c.ws.Close()
			return
		case frame != nil:
			if c.ws.WriteMessage(websocket.TextMessage, frame) != nil {
				_ = c.ws.Close()
				return
			}
			continue
		case code != 0:
			if code > 0 {
				_ = c.ws.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""))
			}
			_ = c.ws.Close()
			return
		}
		select {
		case <-changed:
		case <-c.done:
			return
		case <-s.Context().Done():
			_ = c.ws.Close()
			return
		}
	}
}

// take is the next frame to write; nil: none now. It is called under the lock.
func (c *conn) take(deaf bool) []byte {
	if c.muted {
		return nil
	}
	if len(c.control) > 0 {
		first := c.control[0]
		c.control = c.control[1:]
		return first
	}
	if t := c.session; t != nil && t.conn == c && !deaf && c.next < len(t.told) {
		f := t.told[c.next]
		c.next++
		if f.raw != nil {
			return f.raw
		}
		if json.Valid(f.Data) {
			raw, _ := json.Marshal(f)
			return raw
		}
		return []byte(`{"op":0,"t":"` + *f.Type + `","s":` + itoa(*f.Seq) + `,"d":` + string(f.Data) + `}`)
	}
	return nil
}

// read reads what the bot says until the connection ends.
func (s *sockets) read(c *conn) {
	c.ws.SetReadLimit(4096)
	for {
		_ = c.ws.SetReadDeadline(time.Now().Add(s.patience()))
		_, data, err := c.ws.ReadMessage()
		if err != nil {
			s.Change(func() { s.left(c, err) })
			return
		}
		var f frame
		if json.Unmarshal(data, &f) != nil {
			s.Change(func() { c.code = 4002 })
			continue
		}
		s.Change(func() { s.heard(c, f) })
	}
}

// patience is how long a connection may say nothing.
func (s *sockets) patience() time.Duration {
	return look(s.events, func(g *gateway) time.Duration { return 2*g.interval + time.Second })
}

// left notes how a connection ended: a bot that says that it goes for good ends its session.
//
// Source: https://docs.discord.com/developers/events/gateway#initiating-a-disconnect.
func (s *sockets) left(c *conn, err error) {
	closed, ok := errors.AsType[*websocket.CloseError](err)
	if ok && (closed.Code == websocket.CloseNormalClosure || closed.Code == websocket.CloseGoingAway) && c.session != nil {
		delete(s.gateway.sessions, c.session.id)
	}
}

// heard does what a frame of the bot asks for. It is called under the lock.
func (s *sockets) heard(c *conn, f frame) {
	switch f.Op {
	case opHeartbeat:
		var seq *int
		if json.Unmarshal(f.Data, &seq) == nil && seq != nil && c.session != nil {
			c.session.acked = max(c.session.acked, *seq)
		}
		if s.gateway.frozen || s.IsDeaf() {
			c.silent++
			return
		}
		c.say(opAck, nil)
	case opIdentify:
		s.identify(c, f.Data)
	case opResume:
		s.resume(c, f.Data)
	default:
		if c.session == nil {
			c.code = CloseNoIdentify
		}
	}
}

// identify begins a session.
//
// Source: https://docs.discord.com/developers/events/gateway-events#identify.
func (s *sockets) identify(c *conn, data []byte) {
	var in struct {
		Token      string            `json:"token"`
		Intents    *int              `json:"intents"`
		Properties map[string]string `json:"properties"`
	}
	g, now := &s.gateway, s.Now()
	g.today(now)
	g.asked = append(g.asked, now)
	soon := now.Sub(g.identified) < g.every
	switch err := json.Unmarshal(data, &in); {
	case err != nil:
		c.code = 4002
	case c.session != nil:
		c.code = CloseTwice
	case in.Token != s.token && in.Token != "Bot "+s.token:
		c.code = CloseUnauthorized
	case in.Intents == nil || *in.Intents < 0 || *in.Intents >= 1<<26:
		c.code = CloseBadIntents
	case g.shards > 1:
		c.code = CloseSharding
	case *in.Intents&(intentMembers|intentPresences) != 0, s.forbidden && *in.Intents&intentContent != 0:
		c.code = CloseIntentsDenied
	case g.remaining <= 0: // sessions end, and the token is reset
		s.token += "x"
		c.code = CloseUnauthorized
	case soon:
		g.remaining--
		c.say(opInvalid, false)
	case s.meets(c):
		g.identified = now
		g.remaining--
	default:
		g.identified = now
		g.remaining--
		g.starts++
		t := &session{id: "session-" + s.id(), intents: *in.Intents}
		g.sessions[t.id], g.newest = t, t
		s.ready(c, t)
		s.seat(c, t, 0)
		s.brews(c)
	}
}

// resume goes on with a session, after the event that the bot names.
//
// Source: https://docs.discord.com/developers/events/gateway#resuming.
func (s *sockets) resume(c *conn, data []byte) {
	var in struct {
		Token   string `json:"token"`
		Session string `json:"session_id"`
		Seq     int    `json:"seq"`
	}
	_ = json.Unmarshal(data, &in)
	t := s.gateway.sessions[in.Session]
	s.gateway.tried++
	switch {
	case in.Token != s.token && in.Token != "Bot "+s.token:
		c.code = CloseUnauthorized
	case t == nil:
		c.say(opInvalid, false)
	case in.Seq > len(t.told) || in.Seq < 0:
		c.code = CloseBadSequence
	case s.meets(c):
	default:
		s.gateway.resumes++
		if s.disorder {
			t.reversed(in.Seq)
		}
		t.dispatch("RESUMED", map[string]any{})
		s.seat(c, t, in.Seq)
		s.brews(c)
	}
}

// seat connects a session from an event on; whoever had it before is put out.
func (s *sockets) seat(c *conn, t *session, from int) {
	if t.conn != nil && t.conn != c {
		t.conn.code = -1
	}
	c.session, c.next, t.conn = t, from, c
	s.gateway.most = max(s.gateway.most, s.gateway.open())
}

// Freeze makes the gateway acknowledge no heartbeats any more; events go on.
func (s *sockets) Freeze(on bool) { s.Change(func() { s.gateway.frozen = on }) }

// each does something to every connection there is.
func (s *sockets) each(f func(*conn)) {
	s.Change(func() {
		for c := range s.gateway.conns {
			f(c)
		}
	})
}

// Mute keeps the connections that are open, and nothing comes on them any more; new ones are
// well.
func (s *sockets) Mute() { s.each(func(c *conn) { c.muted = true }) }

// DropGateway cuts all connections without a word.
func (s *sockets) DropGateway() { s.each(func(c *conn) { c.code = -1 }) }

// HalfFrame makes the next frame of each connection break off in its middle.
func (s *sockets) HalfFrame() { s.each(func(c *conn) { c.half = true }) }

// CloseGateway ends all connections with a close code.
func (s *sockets) CloseGateway(code int) { s.each(func(c *conn) { c.code = code }) }

// Reconnect asks all connections to connect again (op 7).
func (s *sockets) Reconnect() { s.each(func(c *conn) { c.say(opReconnect, nil) }) }

// AskHeartbeat asks all connections for a heartbeat at once (op 1).
func (s *sockets) AskHeartbeat() { s.each(func(c *conn) { c.say(opHeartbeat, nil) }) }

// Invalidate says that sessions are not valid any more (op 9), or with resumable that they can
// be resumed all the same.
func (s *sockets) Invalidate(resumable bool) {
	s.each(func(c *conn) {
		if !resumable && c.session != nil {
			delete(s.gateway.sessions, c.session.id)
			c.session = nil
		}
		c.say(opInvalid, resumable)
	})
}

// Forget ends all sessions without telling, so that none can be resumed.
func (s *sockets) Forget() {
	s.Change(func() { s.gateway.sessions = map[string]*session{} })
}

// CloseDoor lets no connection to the gateway in any more; the REST API goes on.
func (s *sockets) CloseDoor(on bool) { s.Change(func() { s.gateway.closed = on }) }

// CutAtOnce makes the gateway cut each connection right after its handshake.
func (s *sockets) CutAtOnce(on bool) { s.Change(func() { s.gateway.cut = on }) }

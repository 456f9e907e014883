package slacktest

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"switchboard/channels/platformtest"
)

const (
	// maxSockets is how many an app may have open.
	//
	// Source: https://docs.slack.dev/apis/events-api/using-socket-mode.
	maxSockets = 10
	// maxRetries is how often an event that is not acknowledged is told again.
	//
	// Source: https://docs.slack.dev/apis/events-api/ "Error handling".
	maxRetries = 3
	ticketFor  = 30 * time.Second
)

// intake is what goes to the app's sockets.
type intake struct {
	tickets map[string]time.Time
	sockets []*socket
	queue   []*envelope
	ping    time.Duration
	retry   time.Duration // until what is not acknowledged is told again
	repeat  int
	reorder bool
	most    int // sockets that were open at once
	opened  int
}

func newIntake() intake {
	return intake{tickets: map[string]time.Time{}, ping: 5 * time.Second, retry: 3 * time.Second, repeat: 1}
}

// An envelope is something told to the app, until it is acknowledged.
type envelope struct {
	id      string
	kind    string // events_api, interactive, slash_commands
	payload json.RawMessage
	on      *socket // nil: it waits
	sent    time.Time
	tries   int
	raw     bool                        // payload is the whole frame
	done    func(reply json.RawMessage) // what the acknowledgement brought
}

// A socket is one connection of the app.
type socket struct {
	conn  *websocket.Conn
	write sync.Mutex
	over  chan struct{}
	hung  bool
}

func (k *socket) send(data []byte) error {
	k.write.Lock()
	defer k.write.Unlock()
	_ = k.conn.SetWriteDeadline(time.Now().Add(5 * time.Second))
	return k.conn.WriteMessage(websocket.TextMessage, data)
}

// openConnection hands out the address of a socket, for one use.
//
// Source: https://docs.slack.dev/reference/methods/apps.connections.open.
func (s *calls) openConnection(p *params) (map[string]any, *Rejection) {
	ticket := s.id("ticket-")
	s.wire.tickets[ticket] = time.Now().Add(ticketFor)
	return map[string]any{"url": "ws://" + p.host + "/link/?ticket=" + ticket + "&app_id=" + s.app}, nil
}

// serveSocket serves one connection of the app.
func (s *events) serveSocket(w http.ResponseWriter, r *http.Request) {
	ticket := r.FormValue("ticket")
	s.Lock()
	good := time.Now().Before(s.wire.tickets[ticket]) && !s.revoked
	delete(s.wire.tickets, ticket)
	s.Unlock()
	if !good {
		http.Error(w, "the ticket is not good", http.StatusForbidden)
		return
	}
	upgrader := websocket.Upgrader{}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	stop := context.AfterFunc(s.Context(), func() { _ = conn.Close() })
	defer stop()
	k := &socket{conn: conn, over: make(chan struct{})}
	s.Lock()
	crowded, hung := len(s.wire.sockets) >= maxSockets, s.IsDeaf()
	s.Unlock()
	k.hung = hung
	if crowded {
		_ = k.send(disconnect("too_many_websockets"))
		return
	}
	n := 0
	s.Change(func() {
		s.wire.sockets = append(s.wire.sockets, k)
		s.wire.most, s.wire.opened, n = max(s.wire.most, len(s.wire.sockets)), s.wire.opened+1, len(s.wire.sockets)
	})
	defer s.left(k)
	if !hung {
		_ = k.send(platformtest.Encode(map[string]any{
			"type": "hello", "num_connections": n, "connection_info": map[string]string{"app_id": s.app},
			"debug_info": map[string]any{"host": "applink-fake", "approximate_connection_time": 18060},
		}))
	}
	s.Go(func() { s.pump(k) })
	s.hear(k)
}

func disconnect(reason string) []byte {
	return platformtest.Encode(map[string]any{"type": "disconnect", "reason": reason, "debug_info": map[string]any{"host": "applink-fake"}})
}

// left takes a socket away; what was not acknowledged on it is told on the next.
func (s *events) left(k *socket) {
	close(k.over)
	s.Change(func() {
		s.wire.sockets = slices.DeleteFunc(s.wire.sockets, func(o *socket) bool { return o == k })
		var kept []*envelope
		for _, e := range s.wire.queue {
			if e.on == k {
				e.on = nil
				if e.kind != "events_api" {
					continue // interactions are told once
				}
			}
			kept = append(kept, e)
		}
		s.wire.queue = kept
	})
}

// hear reads acknowledgements until the connection ends.
func (s *events) hear(k *socket) {
	answer := k.conn.PingHandler()
	k.conn.SetPingHandler(func(data string) error {
		if s.hangs(k) {
			return nil
		}
		return answer(data)
	})
	for {
		_, data, err := k.conn.ReadMessage()
		if err != nil {
			return
		}
		var ack struct {
			ID      string          `json:"envelope_id"`
			Payload json.RawMessage `json:"payload"`
		}
		if json.Unmarshal(data, &ack) == nil && !s.hangs(k) {
			s.acknowledge(ack.ID, ack.Payload)
		}
	}
}

func (s *events) hangs(k *socket) bool {
	s.Lock()
	defer s.Unlock()
	return k.hung
}

func (s *events) acknowledge(id string, reply json.RawMessage) {
	s.Change(func() {
		i := slices.IndexFunc(s.wire.queue, func(e *envelope) bool { return e.id == id })
		if i < 0 {
			return
		}
		e := s.wire.queue[i]
		s.wire.queue = slices.Delete(s.wire.queue, i, i+1)
		if e.done != nil {
			e.done(reply)
		}
	})
}

// pump writes what is to be told to a socket.
func (s *events) pump(k *socket) {
	ping := time.Now()
	for {
		s.Lock()
		e, wait := s.next(k)
		changed, hung, every := s.Changed(), k.hung, s.wire.ping
		var frame []byte
		if e != nil {
			frame = e.frame()
		}
		s.Unlock()
		if e != nil {
			if k.send(frame) != nil {
				return
			}
			continue
		}
		if due := every - time.Since(ping); due <= 0 && !hung {
			ping = time.Now()
			_ = k.conn.WriteControl(websocket.PingMessage, []byte("Ping from applink-fake"), time.Now().Add(time.Second))
			continue
		} else if !hung {
			wait = min(wait, due)
		}
		timer := time.NewTimer(wait)
		select {
		case <-k.over:
			timer.Stop()
			return
		case <-s.Context().Done():
			timer.Stop()
			return
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// next takes what is due on a socket; if nothing is, it says how long to wait.
func (s *events) next(k *socket) (due *envelope, wait time.Duration) {
	wait = time.Minute
	if k.hung {
		return nil, wait
	}
	now := time.Now()
	s.wire.queue = slices.DeleteFunc(s.wire.queue, func(e *envelope) bool {
		late := e.on != nil && now.Sub(e.sent) >= s.wire.retry
		return late && (e.kind != "events_api" || e.tries > maxRetries)
	})
	for _, e := range s.wire.queue {
		ready := e.on == nil
		if !ready {
			left := s.wire.retry - now.Sub(e.sent)
			ready = left <= 0
			wait = min(wait, max(left, time.Millisecond))
		}
		if ready && (due == nil || s.wire.reorder) {
			due = e
		}
	}
	if due != nil {
		due.on, due.sent = k, now
		due.tries++
	}
	return due, wait
}

func (e *envelope) frame() []byte {
	if e.raw {
		return e.payload
	}
	frame := map[string]any{
		"envelope_id": e.id, "type": e.kind, "payload": e.payload, "accepts_response_payload": e.kind != "events_api",
	}
	if e.kind == "events_api" {
		frame["retry_attempt"], frame["retry_reason"] = e.tries-1, ""
		if e.tries > 1 {
			frame["retry_reason"] = "timeout"
		}
	}
	data, err := json.Marshal(frame)
	if err != nil { // a payload that is to be unreadable
		head := platformtest.Encode(map[string]any{"envelope_id": e.id, "type": e.kind, "accepts_response_payload": false})
		return slices.Concat(head[:len(head)-1], []byte(`,"payload":`), e.payload, []byte("}"))
	}
	return data
}

// Inject tells the app the payload of an event as it is.
func (s *events) Inject(payload string) {
	s.Change(func() { s.tell("events_api", []byte(payload), nil) })
}

// InjectEvent tells the app of an event.
func (s *events) InjectEvent(event any) { s.Change(func() { s.event(event) }) }

// InjectFrame sends a frame as it is, once.
func (s *events) InjectFrame(frame string) {
	s.Change(func() {
		for _, k := range s.wire.sockets {
			_ = k.send([]byte(frame))
		}
	})
}

// Pending counts what the app has not acknowledged.
func (s *events) Pending() int {
	s.Lock()
	defer s.Unlock()
	return len(s.wire.queue)
}

// Forget drops what waits to be told, as after a long time without a socket.
func (s *events) Forget() { s.Change(func() { s.wire.queue = nil }) }

// Repeat makes the platform tell every later event n times.
func (s *events) Repeat(n int) { s.Change(func() { s.wire.repeat = max(n, 1) }) }

// Reorder makes the platform tell the newest event first.
func (s *events) Reorder(on bool) { s.Change(func() { s.wire.reorder = on }) }

// Beat is how often the platform pings.
func (s *events) Beat(d time.Duration) { s.Change(func() { s.wire.ping = d }) }

// Retry is after how long the platform tells again what was not acknowledged.
func (s *events) Retry(d time.Duration) { s.Change(func() { s.wire.retry = d }) }

// Sockets counts the sockets that are open.
func (s *events) Sockets() int {
	s.Lock()
	defer s.Unlock()
	return len(s.wire.sockets)
}

// MostSockets counts the sockets that were open at once, at most.
func (s *events) MostSockets() int {
	s.Lock()
	defer s.Unlock()
	return s.wire.most
}

// Opened counts the sockets that were ever opened.
func (s *events) Opened() int {
	s.Lock()
	defer s.Unlock()
	return s.wire.opened
}

// Disconnect announces the end of all sockets for a reason (warning, refresh_requested,
// link_disabled) and ends them when the app has not within ten seconds.
//
// Source: https://docs.slack.dev/apis/events-api/using-socket-mode "disconnect".
func (s *events) Disconnect(reason string) {
	s.Change(func() {
		for _, k := range s.wire.sockets {
			_ = k.send(disconnect(reason))
			s.Go(func() {
				select {
				case <-k.over:
				case <-s.Context().Done():
				case <-time.After(10 * time.Second):
					_ = k.conn.Close()
				}
			})
		}
	})
}

// DropSockets cuts all sockets.
func (s *events) DropSockets() {
	s.Change(func() {
		for _, k := range s.wire.sockets {
			_ = k.conn.Close()
		}
	})
}

// HalfFrame cuts all sockets in the middle of a frame.
func (s *events) HalfFrame() {
	s.Change(func() {
		for _, k := range s.wire.sockets {
			k.write.Lock()
			_, _ = k.conn.NetConn().Write([]byte{0x81, 0x7e, 0x10, 0x00, '{', '"'})
			k.write.Unlock()
			_ = k.conn.Close()
		}
	})
}

// Hang keeps the sockets that are open, and nothing comes on them any more; new ones are
// well.
func (s *events) Hang() {
	s.Change(func() {
		for _, k := range s.wire.sockets {
			k.hung = true
		}
	})
}

// Deaf makes the platform tell nothing any more on any socket, old or new.
func (s *events) Deaf(on bool) {
	s.Host.Deaf(on)
	if on {
		s.Hang()
	}
}

package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/sync/errgroup"

	"switchboard/channels"
	"switchboard/channels/wire"
)

// The gateway's operations.
//
// Source: https://docs.discord.com/developers/topics/opcodes-and-status-codes#gateway.
const (
	opcodeDispatch  = 0
	opcodeHeartbeat = 1
	opcodeIdentify  = 2
	opcodeResume    = 6
	opcodeReconnect = 7
	opcodeInvalid   = 9
	opcodeHello     = 10
	opcodeAck       = 11
)

// Close codes of the gateway that mean something to us.
const (
	closeUnauthorized = 4004
	closeBadSequence  = 4007
	closeTimeout      = 4009
	closeShard        = 4010
	closeSharding     = 4011
	closeVersion      = 4012
	closeIntents      = 4013
	closePrivileged   = 4014
	// closeResumable is what we close with: after 1000 and 1001 a session cannot be resumed.
	//
	// Source: https://docs.discord.com/developers/events/gateway#initiating-a-disconnect.
	closeResumable = 4000
)

// The intents that we ask for. The last one is privileged: the portal must allow it.
//
// Source: https://docs.discord.com/developers/events/gateway#gateway-intents.
const (
	intents       = 1<<0 | 1<<9 | 1<<10 | 1<<12 | 1<<13 // guilds; messages and reactions in guilds and direct chats
	intentContent = 1 << 15
)

// maxFrame bounds a frame of the gateway, in bytes: a large guild is told in one.
const maxFrame = 64 << 20

// pace holds the times of the inbound side; tests shorten them.
type pace struct {
	// heartbeat is the longest time between two heartbeats; the platform asks for about 41 s.
	heartbeat time.Duration
	// silence is how much longer than that the connection may be silent.
	silence time.Duration
	// ack is how long after a heartbeat its acknowledgement may come; without it the connection
	// is dead.
	//
	// Source: https://docs.discord.com/developers/events/gateway#sending-heartbeats.
	ack time.Duration
	// hello bounds the wait for the gateway's first frame, and for the session after it.
	hello time.Duration
	// invalid is the least time before a session begins after one that was not valid any more;
	// the platform asks for one to five seconds.
	//
	// Source: https://docs.discord.com/developers/events/gateway#resuming.
	invalid time.Duration
	// start is the least time between two identifies, and doubles to startMost while no session
	// holds, which is to say for so long. restart is how long a process waits before its first one
	// when few of the day's are left.
	start, startMost, holds, restart time.Duration
	// press is how long an interaction waits for its commit; the platform waits three seconds.
	press time.Duration
	// history is how long events wait at most for history that cannot be read, of which one page
	// takes so long.
	history, page time.Duration
	// again bounds the pauses between two tries to hand in what was not taken.
	firstRetry, mostRetry time.Duration
}

var defaultPace = pace{
	heartbeat: 40 * time.Second, silence: 8 * time.Second, ack: 10 * time.Second, hello: 20 * time.Second,
	invalid: time.Second, start: 6 * time.Second, startMost: 10 * time.Minute, holds: time.Minute, restart: time.Minute,
	history: time.Minute, page: 20 * time.Second, press: 2 * time.Second, firstRetry: 100 * time.Millisecond, mostRetry: 5 * time.Second,
}

// A frame is one payload of the gateway.
//
// Source: https://docs.discord.com/developers/events/gateway-events#payload-structure.
type frame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  int64           `json:"s"` // 0: none
	Type string          `json:"t"`
}

var (
	// errRetry is wrapped by errors after which connecting again at once is right.
	errRetry = errors.New("connect again")
	// errDeaf is what a connection ends with on which nothing comes any more.
	errDeaf    = errors.New("the gateway does not acknowledge heartbeats any more")
	errUnbegun = errors.New("the gateway answers heartbeats and tells nothing of the session")
	// errBehind is what a connection ends with when more waits to be taken than is kept.
	errBehind = errors.New("too many events wait to be taken; the platform tells them again")
)

// A connection is one of the gateway.
type connection struct {
	c         *Client
	ws        *wire.Socket
	sink      channels.Sink
	session   *session
	heartbeat time.Duration
	asked     atomic.Int64 // when the oldest heartbeat without an acknowledgement was sent, in ns; 0: none
	begun     atomic.Bool  // something was told
	since     atomic.Int64 // when READY or RESUMED came, in ns; 0: it did not
	held      atomic.Bool  // it held for long enough
	queue     chan told
	presses   errgroup.Group // the interactions that are under way
}

// queued is how many events may wait to be taken.
const queued = 4096

// serve makes the connection and serves it to its end.
func (l *connection) serve(ctx context.Context, address string) error {
	if err := l.dial(ctx, address); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return l.read(ctx) })
	g.Go(func() error {
		first, err := l.greet(ctx)
		if err != nil {
			return err
		}
		g.Go(func() error { return l.beat(ctx, first) })
		return l.deliver(ctx)
	})
	<-ctx.Done()
	err := context.Cause(ctx)
	l.ws.End(closeResumable)
	_ = g.Wait()
	_ = l.presses.Wait()
	return err
}

// dial opens the connection.
func (l *connection) dial(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return fmt.Errorf("the platform names no address of its gateway: %q", address)
	}
	u.RawQuery = url.Values{"v": {"10"}, "encoding": {"json"}}.Encode()
	if l.ws, err = l.c.Wire.Dial(ctx, u.String(), l.c.pace.hello, maxFrame); err != nil {
		return fmt.Errorf("connect to the gateway %s: %w", u.Host, err)
	}
	return nil
}

// greet waits for the gateway's hello, says who we are and returns when the first heartbeat is
// due.
func (l *connection) greet(ctx context.Context) (first time.Duration, err error) {
	var hello told
	select {
	case hello = <-l.queue:
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	var said struct {
		Interval int64 `json:"heartbeat_interval"`
	}
	if hello.frame.Op != opcodeHello || json.Unmarshal(hello.frame.Data, &said) != nil || said.Interval <= 0 {
		return 0, errors.New("the gateway does not begin with its hello")
	}
	l.heartbeat = min(time.Duration(said.Interval)*time.Millisecond, l.c.pace.heartbeat)
	token := l.session.secret.Reveal()
	if l.session.id != "" {
		err = l.say(opcodeResume, map[string]any{"token": token, "session_id": l.session.id, "seq": l.session.seq.Load()})
	} else {
		l.c.mu.Lock()
		want := intents | intentContent
		if l.c.withoutContent {
			want = intents
		}
		l.c.starts.last, l.c.starts.times = time.Now(), l.c.starts.times+1
		l.c.mu.Unlock()
		err = l.say(opcodeIdentify, map[string]any{
			"token": token, "intents": want,
			"properties": map[string]string{"os": "linux", "browser": "switchboard", "device": "switchboard"},
		})
	}
	return time.Duration(rand.Float64() * float64(l.heartbeat)), err
}

// say writes a frame.
func (l *connection) say(op int, data any) error {
	if err := l.ws.Say(map[string]any{"op": op, "d": data}, l.c.pace.ack); err != nil {
		return fmt.Errorf("write to the gateway: %w", err)
	}
	return nil
}

// beat sends heartbeats and ends the connection when one is not acknowledged in time.
func (l *connection) beat(ctx context.Context, first time.Duration) error {
	due := time.NewTimer(first)
	defer due.Stop()
	look := time.NewTicker(max(l.c.pace.ack/20, time.Millisecond))
	defer look.Stop()
	began := time.Now()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-look.C:
			l.hold()
			switch asked := l.asked.Load(); {
			case asked != 0 && time.Since(time.Unix(0, asked)) > l.c.pace.ack:
				return errDeaf
			case !l.begun.Load() && time.Since(began) > l.c.pace.hello:
				return errUnbegun
			}
		case <-due.C:
			if err := l.pulse(); err != nil {
				return err
			}
			due.Reset(l.heartbeat)
		}
	}
}

// pulse sends a heartbeat. It names the last event that is committed, not the last one that
// came.
func (l *connection) pulse() error {
	l.asked.CompareAndSwap(0, time.Now().UnixNano())
	var seq any
	if n := l.session.seq.Load(); n > 0 {
		seq = n
	}
	return l.say(opcodeHeartbeat, seq)
}

// classifyEnd decides by what a connection ended with whether its session can be resumed, and whether
// another one may begin. It is called under the lock.
//
// Source: https://docs.discord.com/developers/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes.
func (l *connection) classifyEnd(err error) error {
	closed, ok := errors.AsType[*websocket.CloseError](err)
	if !ok || closed.Code < 4000 { // of the connection: it says nothing of the session
		return err
	}
	c := l.c
	if stop := stops[closed.Code]; stop != nil && (c.withoutContent || closed.Code != closePrivileged) {
		return fmt.Errorf("%w (code %d): %w", channels.ErrStopped, closed.Code, stop)
	}
	switch closed.Code {
	case closeUnauthorized:
		return fmt.Errorf("the gateway: %w", channels.ErrUnauthorized)
	case closePrivileged:
		c.withoutContent = true
		c.Log.Warn("the portal does not let the bot read messages: it reads only direct chats and messages that mention it; switch on Bot, Message Content Intent")
		return fmt.Errorf("%w without the message content", errRetry)
	case closeBadSequence, closeTimeout:
		c.lose(l.session)
	default:
		if l.session.refused++; l.session.refused >= mostRefused {
			c.lose(l.session)
		}
	}
	return fmt.Errorf("the gateway closed the connection with code %d", closed.Code)
}

// stops are the close codes after which nothing is gained by trying again, and what to do.
var stops = map[int]error{
	closeShard:      errors.New("the platform refuses the shard that this program asks for: update Switchboard, and restart it"),
	closeSharding:   fmt.Errorf("%w, and restart Switchboard", errSharded),
	closeVersion:    errors.New("the platform does not serve this version of its gateway any more: update Switchboard, and restart it"),
	closeIntents:    errors.New("the platform does not know the intents that this program asks for: update Switchboard, and restart it"),
	closePrivileged: errors.New("the portal does not allow the intents that the bot asks for: open Bot there, switch on Message Content Intent, and restart Switchboard"),
}

// mostRefused is how often in a row the platform may close the connection of a session without a
// word before another one is begun.
const mostRefused = 5

// ended notes what came of a connection, and returns what to say of its end.
func (l *connection) ended(ctx context.Context, err error) error {
	c, s := l.c, l.session
	c.mu.Lock()
	defer c.mu.Unlock()
	c.up = false
	s.unreached++
	if l.begun.Load() {
		s.unreached, s.refused = 0, 0
	}
	err = l.classifyEnd(err)
	if !errors.Is(context.Cause(ctx), context.Canceled) { // nobody ended it on purpose
		c.shaky = c.shaky || l.since.Load() != 0 && !l.held.Load()
		if l.ws != nil && !l.held.Load() {
			c.starts.fault = err
		}
	}
	return err
}

// settle notes that a session began or was resumed.
func (l *connection) settle() {
	l.since.CompareAndSwap(0, time.Now().UnixNano())
	l.c.Refused.Served(l.session.secret)
	l.c.settled()
	l.sink.Received()
}

// hold notes when the connection has held for long enough.
func (l *connection) hold() {
	since := l.since.Load()
	if since == 0 || l.held.Load() || time.Since(time.Unix(0, since)) < l.c.pace.holds {
		return
	}
	l.held.Store(true)
	l.c.gate.held()
	l.sink.Received()
}

package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/slack-go/slack"

	"switchboard/channels"
	"switchboard/channels/wire"
	"switchboard/internal/retry"
)

const (
	helloWithin = 10 * time.Second
	// maxFrame bounds one frame, in bytes.
	maxFrame = 16 << 20
	// mostFrames are how many frames are handed in at once.
	mostFrames = 100
	// mostHeld is how much waits for history, or to be taken, before the socket is read no further.
	mostHeld = 1000
	// shortLife is a connection that ended soon; after mostShort of them in a row Run ends, so
	// that a platform which takes none is not asked without a pause.
	shortLife = 10 * time.Second
	mostShort = 3
)

// errReopen says that the platform wants the socket to be opened again.
var errReopen = errors.New("the platform asked for a new connection")

// A connection is one of Socket Mode.
//
// Source: https://docs.slack.dev/apis/events-api/using-socket-mode.
type connection struct {
	*session
	conn   *wire.Socket
	frames chan []byte
	lost   chan error
	filled chan *gap
	held   int           // items that wait for history
	end    error         // the platform announced the end
	slots  chan struct{} // what is pressed and under way
	wg     sync.WaitGroup

	mu    sync.Mutex
	gaps  map[channels.ConversationID]*gap
	order []*gap // those to be read, the next one first
	twins map[channels.EventKey]*gap
	soon  chan struct{}
}

func newConnection(s *session, conn *wire.Socket) *connection {
	return &connection{
		session: s, conn: conn, frames: make(chan []byte, mostFrames), lost: make(chan error, 1), filled: make(chan *gap), soon: make(chan struct{}, 1),
		gaps: map[channels.ConversationID]*gap{}, twins: map[channels.EventKey]*gap{}, slots: make(chan struct{}, pressesAtOnce),
	}
}

// socket opens a connection, and hands in what comes on it until it ends.
func (s *session) socket(ctx context.Context) error {
	conn, err := s.c.dial(ctx)
	if err != nil {
		return err
	}
	opened := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	l := newConnection(s, conn)
	l.gaps, l.order = s.marks.openGaps(opened)
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	l.wg.Go(func() { l.read(ctx) })
	l.wg.Go(func() { l.ask(ctx) })
	l.wg.Go(func() { l.fillGaps(ctx) })
	err = l.work(ctx)
	for range pressesAtOnce {
		l.slots <- struct{}{} // what was pressed is acknowledged by this connection; no more is taken
	}
	conn.End(websocket.CloseNormalClosure)
	cancel()
	l.wg.Wait()
	if !errors.Is(err, errReopen) {
		return err
	}
	if s.short++; time.Since(opened) >= shortLife {
		s.short = 0
	}
	if s.short > mostShort {
		return fmt.Errorf("%d connections in a row were ended at once by the platform", s.short)
	}
	return err
}

// dial opens a socket by an address that the platform hands out for one use.
//
// Source: https://docs.slack.dev/reference/methods/apps.connections.open.
func (a *api) dial(ctx context.Context) (*wire.Socket, error) {
	const op = "apps.connections.open"
	address := ""
	x, err := a.call(ctx, op, wire.CallTimeout, func(ctx context.Context, lib *slack.Client) (err error) {
		_, address, err = lib.StartSocketModeContext(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "wss" && (u.Scheme != "ws" || !a.mayTrust(u)) {
		return nil, fmt.Errorf("%s: the answer of %d bytes names no address of a socket", op, len(x.Body))
	}
	conn, err := a.Wire.Dial(ctx, address, helloWithin, maxFrame)
	if err != nil {
		return nil, fmt.Errorf("open the socket: %w", err)
	}
	return conn, nil
}

// read takes frames off the connection until it ends. What somebody pressed goes its own way at
// once, as it is to be answered soon.
func (l *connection) read(ctx context.Context) {
	answer := l.conn.PingHandler()
	l.conn.SetPingHandler(func(data string) error {
		l.sink.Received()
		return answer(data)
	})
	l.conn.SetPongHandler(func(string) error {
		l.sink.Received()
		return nil
	})
	for {
		_, data, err := l.conn.ReadMessage()
		if err != nil {
			l.lost <- err
			return
		}
		l.sink.Received()
		var f frame
		if json.Unmarshal(data, &f) == nil && (f.Type == "interactive" || f.Type == "slash_commands") {
			if it := l.decode(data); it.press != nil {
				l.press(ctx, it)
				continue
			}
		}
		select {
		case l.frames <- data:
		case <-ctx.Done():
			return
		}
	}
}

// ask asks for a sign of life, so that a connection that is well is never silent for
// long.
func (l *connection) ask(ctx context.Context) {
	for retry.Sleep(ctx, l.c.cfg.PingInterval/3) {
		if l.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(l.c.cfg.PingInterval)) != nil {
			return
		}
	}
}

// work hands in what comes, in order.
func (l *connection) work(ctx context.Context) error {
	for {
		due, err := l.release(ctx)
		if err != nil {
			return err
		}
		if l.end != nil {
			return l.end
		}
		frames := l.frames
		if l.held >= mostHeld {
			frames = nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-l.lost:
			return fmt.Errorf("the socket ended: %s", wire.Plainly(err))
		case <-due:
		case g := <-l.filled:
			err = l.settle(ctx, g)
		case frame := <-frames:
			err = l.deliver(ctx, l.classify(append([][]byte{frame}, l.waiting()...)))
		}
		if err != nil {
			return err
		}
	}
}

// waiting takes the frames that came meanwhile.
func (l *connection) waiting() (frames [][]byte) {
	for len(frames) < mostFrames && l.held < mostHeld && l.end == nil {
		select {
		case frame := <-l.frames:
			frames = append(frames, frame)
		default:
			return frames
		}
	}
	return frames
}

// classify decodes frames and returns what is to be handed in now. What came in a place whose
// history is being read waits for that. Behind the announced end nothing is taken: it is told
// on the next connection.
func (l *connection) classify(frames [][]byte) (now []item) {
	for _, raw := range frames {
		if l.end != nil {
			return now
		}
		it := l.decode(raw)
		switch {
		case it.end != nil:
			l.end = it.end
		case it.envelope == "":
		case !l.hold(&it):
			now = append(now, it)
		}
	}
	return now
}

// deliver hands items in, as often as it takes, and acknowledges them. What comes
// meanwhile is handed in along with them: whether an event fails by its own fault shows
// when others are taken.
func (l *connection) deliver(ctx context.Context, items []item) error {
	accept := func() error { return l.accept(ctx, items) }
	err := wire.HandIn(ctx, l.c.Log, l.c.pace.firstRetry, l.c.pace.mostRetry, accept, func() error {
		if len(l.lost) > 0 {
			return errors.New("the socket ended, and events were not accepted")
		}
		if len(items) < mostHeld {
			items = append(items, l.classify(l.waiting())...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, it := range items {
		l.acknowledge(it.envelope, nil)
	}
	return nil
}

// acknowledge tells the platform that an envelope was taken. Where that fails, the
// connection has ended, and it comes again on the next.
func (l *connection) acknowledge(envelope string, payload any) {
	if envelope == "" {
		return
	}
	ack := map[string]any{"envelope_id": envelope}
	if payload != nil {
		ack["payload"] = payload
	}
	if err := l.conn.Say(ack, helloWithin); err != nil {
		l.c.Log.Debug("an envelope was not acknowledged; it comes again", "error", err)
	}
}

// ended is what an announced end means.
//
// Source: https://docs.slack.dev/apis/events-api/using-socket-mode "disconnect".
func ended(reason string) error {
	switch reason {
	case "link_disabled":
		return errors.New("Socket Mode is switched off for the app (link_disabled); switch it on under Socket Mode of the app") //nolint:staticcheck // a name
	case "too_many_websockets":
		return fmt.Errorf("%w: ten connections are open already (too_many_websockets)", channels.ErrElsewhere)
	}
	return errReopen
}

package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"switchboard/channels"
	web "switchboard/channels/api"
	"switchboard/internal/api"
	"switchboard/router/core"
	"switchboard/router/sessions"
	"switchboard/router/turns"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// engine is the little that a console needs of one: it keeps messages and events
// in memory, and reply decides what becomes of each text.
type engine struct {
	channel *web.Channel
	client  *api.Client
	reply   func(text string, turn *turn)

	mu      sync.Mutex
	events  map[string][]channels.SessionEvent
	keys    map[channels.EventKey]bool
	texts   []string
	rows    int64
	broken  int    // Accept fails that often
	reading func() // what happens as events are read, once
	mute    int    // so many answers to messages are lost
	away    atomic.Bool
	work    sync.WaitGroup
	stop    func()
}

// turn lets reply answer.
type turn struct {
	e       *engine
	conv    channels.ConversationID
	id      int64
	receipt *channels.Receipt
}

func newEngine(t *testing.T, reply func(text string, turn *turn)) *engine {
	t.Helper()
	e := &engine{reply: reply, events: map[string][]channels.SessionEvent{}, keys: map[channels.EventKey]bool{}}
	e.channel = web.NewChannel("console", "console", channels.Features{Markdown: true}, slog.New(slog.DiscardHandler))
	path := filepath.Join(t.TempDir(), "engine.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(e.losing(handler(e.channel, e)))
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	e.client = api.NewClient(func(ctx context.Context) (net.Conn, error) {
		if e.away.Load() {
			return nil, errors.New("nobody is there")
		}
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	})
	e.start(t)
	t.Cleanup(func() {
		e.work.Wait()
		e.stop()
		e.client.Close()
		server.Close()
	})
	return e
}

// handler serves the channel alone.
func handler(c *web.Channel, sessions web.SessionReader) http.Handler {
	log := slog.New(slog.DiscardHandler)
	return web.New(web.Deps{Log: log, Console: c, Channel: web.NewChannel("api", web.Kind, web.Features, log), Owner: "owner", Sessions: sessions}, nil).Socket()
}

// losing takes messages and loses the first answers.
func (e *engine) losing(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		lose := r.Method == http.MethodPost && e.mute > 0
		if lose {
			e.mute--
		}
		e.mu.Unlock()
		if !lose {
			handler.ServeHTTP(w, r)
			return
		}
		handler.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	})
}

func (e *engine) start(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := e.channel.Run(ctx, e); err != nil {
			t.Error(err)
		}
	}()
	e.stop = func() { cancel(); <-done }
}

// restart ends Run, and with it every stream, and begins again.
func (e *engine) restart(t *testing.T) {
	e.stop()
	e.start(t)
}

// Received implements channels.Sink.
func (e *engine) Received() {}

// Marks implements channels.Sink.
func (e *engine) Marks(context.Context) ([]channels.Mark, error) { return nil, nil }

// Accept implements channels.Sink.
func (e *engine) Accept(_ context.Context, batch []channels.Event) ([]channels.Receipt, error) {
	var receipts []channels.Receipt
	for _, event := range batch {
		e.mu.Lock()
		if e.broken > 0 {
			e.broken--
			e.mu.Unlock()
			return nil, errors.New("the disk is full")
		}
		if e.keys[event.Key] {
			receipts = append(receipts, channels.Receipt{Duplicate: true}) // it knows no more, as the store
			e.mu.Unlock()
			continue
		}
		e.rows++
		got := channels.Receipt{MessageID: e.rows, TurnID: 100 + e.rows}
		e.texts = append(e.texts, event.Message.Text)
		e.mu.Unlock()
		next := &turn{e: e, conv: event.Conversation.ID, id: got.TurnID, receipt: &got}
		switch {
		case strings.HasPrefix(event.Message.Text, "/"):
			got.TurnID, next.id = 0, 0
			got.Event = next.emit("message", nil, &channels.SessionMessage{ID: got.MessageID, Direction: "in", Text: event.Message.Text, Author: event.Sender.Person})
			e.reply(event.Message.Text, next)
		case strings.Contains(event.Message.Text, "\x00"):
			got = channels.Receipt{Rejected: "the message holds a NUL byte"}
		case event.Sender.Person == "stranger":
			got = channels.Receipt{MessageID: got.MessageID}
		default:
			got.Event = next.emit("message", nil, &channels.SessionMessage{ID: got.MessageID, Direction: "in", Text: event.Message.Text, Author: event.Sender.Person})
			next.state("running")
			e.work.Go(func() { e.reply(event.Message.Text, next) })
		}
		e.mu.Lock()
		e.keys[event.Key] = true
		e.mu.Unlock()
		receipts = append(receipts, got)
	}
	return receipts, nil
}

// Events implements SessionReader.
func (e *engine) Events(_ context.Context, session string, n int64, limit int) ([]channels.SessionEvent, error) {
	e.mu.Lock()
	reading := e.reading
	e.reading = nil
	e.mu.Unlock()
	if reading != nil {
		reading()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var found []channels.SessionEvent
	for _, event := range e.events[session] {
		if event.N > n && len(found) < limit {
			found = append(found, event)
		}
	}
	return found, nil
}

// SessionInfo implements web.SessionReader.
func (e *engine) SessionInfo(_ context.Context, session string) (sessions.Info, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return sessions.Info{Session: session, FirstEvent: 1, LastEvent: int64(len(e.events[session]))}, nil
}

// Posted implements web.SessionReader.
func (e *engine) Posted(context.Context, channels.Conversation, string) (channels.Receipt, error) {
	return channels.Receipt{}, core.ErrNotFound
}

// Sessions implements web.SessionReader.
func (e *engine) Sessions(context.Context, sessions.Query) ([]sessions.Info, *sessions.Mark, error) {
	return nil, nil, nil
}

// ForkSession implements web.SessionReader.
func (e *engine) ForkSession(context.Context, string, int64, channels.Conversation, string) error {
	return core.ErrNotFound
}

// ForgetSession implements web.SessionReader.
func (e *engine) ForgetSession(context.Context, string, core.Actor) error { return core.ErrNotFound }

// Current implements web.SessionReader.
func (e *engine) Current(context.Context, string) (*turns.Turn, error) { return nil, core.ErrNotFound }

func (e *engine) said() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.texts)
}

func (u *turn) emit(kind string, data any, m *channels.SessionMessage) int64 {
	u.e.mu.Lock()
	session := "console:" + string(u.conv)
	event := channels.SessionEvent{N: int64(len(u.e.events[session]) + 1), Kind: kind, TurnID: u.id, At: time.Now().UTC(), Message: m}
	if data != nil {
		raw, err := json.Marshal(data)
		if err != nil {
			panic(err)
		}
		event.Data = raw
	}
	u.e.events[session] = append(u.e.events[session], event)
	u.e.mu.Unlock()
	u.e.channel.Wake(u.conv)
	return event.N
}

func (u *turn) say(text string, final, notice bool) {
	u.e.mu.Lock()
	u.e.rows++
	id := u.e.rows
	u.e.mu.Unlock()
	u.emit("message", nil, &channels.SessionMessage{ID: id, Direction: "out", Text: text, Author: "bot", Final: final, Notice: notice})
}

func (u *turn) state(state string) { u.emit("turn", map[string]string{"state": state}, nil) }

// answer is a whole simple turn.
func (u *turn) answer(text string) {
	u.say(text, true, false)
	u.raw("turn", `{"state":"done","outcome":"answered"}`)
}

// raw emits an event with data in JSON, so that tests hold the names.
func (u *turn) raw(kind, data string) { u.emit(kind, json.RawMessage(data), nil) }

// echo answers everything.
func echo(text string, turn *turn) {
	if turn.id == 0 {
		turn.say("command "+text, false, false)
		return
	}
	turn.answer("**you** said: " + text)
}

func planned(text string, turn *turn) {
	turn.raw("plan", `{"attempt":0,"goal":"look","count":3,"tasks":[{"type":"exec","detail":"ls -l"},{"type":"tool","tool":"time","detail":"ask"},{"type":"msg","detail":"tell"}]}`)
	turn.raw("task", `{"attempt":0,"position":0,"type":"exec","state":"running"}`)
	turn.raw("task", `{"attempt":0,"position":0,"type":"exec","state":"failed","outcome":"error","code":"exit_status"}`)
	turn.raw("review", `{"attempt":0,"position":0,"status":"replan","reason":"no such\nfolder"}`)
	turn.raw("task", `{"attempt":0,"position":1,"type":"tool","state":"cancelled"}`)
	turn.say("I try another way, because *there is no such folder*.", false, true)
	turn.raw("plan", `{"attempt":1,"goal":"look again","count":2,"tasks":[{"type":"tool","tool":"time","detail":"ask"},{"type":"msg","detail":"say"}]}`)
	turn.raw("unknown", `[]`)
	turn.raw("task", `{"attempt":1,"position":0,"type":"tool","state":"running"}`)
	turn.raw("task", `{"attempt":1,"position":0,"type":"tool","state":"done","outcome":"ok"}`)
	turn.raw("review", `{"attempt":1,"position":0,"status":"ok","reason":"it is fine"}`)
	turn.raw("task", `{"position":99,"state":"running"}`)
	turn.raw("task", `{"position":1,"type":"msg","state":"done"}`)
	turn.answer(fmt.Sprintf("There is nothing in %s.", text))
}

package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gorilla/websocket"

	"switchboard/channels"
	"switchboard/internal/api"
	"switchboard/internal/retry"
)

// wsPath is where a WebSocket is opened.
const wsPath = "/v1/ws"

const (
	// pongWait is how long nothing may come over a WebSocket: its client answers each ping.
	pongWait = 3 * pingEvery
	// socketCalls is how many calls of one WebSocket are worked on at once; while there are so many no other is read.
	socketCalls = 16
	// socketUnsent is how many messages may wait until the client takes them; then whoever has one more waits.
	socketUnsent = 16
	// closeWait is how long the close frame, and what a client still sends before it reads that, may take.
	closeWait = time.Second
)

func (a *API) socketCall() {
	methods := sync.OnceValue(func() map[string]rpcMethod { return rpcMethods(a.huma.OpenAPI()) })
	a.handle(Call{
		Scope: Read, Method: http.MethodGet, Path: wsPath, ID: "openSocket", Tag: "sessions", Status: http.StatusSwitchingProtocols,
		Summary: "A WebSocket with JSON-RPC 2.0: the events of a session, or which sessions have something new, as notifications, and the calls of this document that take and give JSON by their operation ids.",
	}, description{
		params: []*huma.Param{
			param("query", "session", "Whose events follow; none: which sessions have something new."),
			param("query", "after", "Begin behind this event; without it the events begin now."),
			param("query", "delta", "0: without texts that grow."),
		},
		gives: schemas{}, about: "The WebSocket is open. Its first message is the notification hello.",
	}, func(w http.ResponseWriter, r *http.Request) error { return a.openSocket(w, r, methods()) })
}

// Hijack implements http.Hijacker.
func (w *answered) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.status = http.StatusSwitchingProtocols
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

// A socket is one WebSocket. One goroutine, in deliver, sends its messages; what hands it some waits while there are many.
type socket struct {
	api     *API
	conn    *websocket.Conn
	caller  *Caller
	methods map[string]rpcMethod
	calls   *api.Client
	unsent  chan []byte
	ended   <-chan struct{}
	end     context.CancelCauseFunc // with errLeft, or the *websocket.CloseError that the client is told
}

// errLeft ends a socket whose client left, or sent what is no message.
var errLeft = errors.New("the client left")

// openSocket serves a WebSocket until its client leaves, its token is good no more or the engine stops.
func (a *API) openSocket(w http.ResponseWriter, r *http.Request, methods map[string]rpcMethod) error {
	s := &socket{api: a, caller: CallerOf(r.Context()), methods: methods, unsent: make(chan []byte, socketUnsent)}
	begin, channel, err := s.source(r)
	if err != nil {
		return err
	}
	return channel.serve(r.Context(), func(ctx context.Context, _ channels.Sink) error {
		if s.conn, err = upgrade(w, r); s.conn == nil {
			return err
		}
		ctx, s.end = context.WithCancelCause(ctx)
		s.calls, s.ended = a.within(r), ctx.Done()
		var work sync.WaitGroup
		defer work.Wait()
		defer s.conn.Close()
		defer s.end(nil)
		follow, stop := begin()
		defer stop()
		work.Go(func() {
			switch err := follow(ctx); {
			case errors.Is(err, errTokenEnded):
				s.end(notGoodAnyMore)
			case err != nil && ctx.Err() == nil:
				a.Log.WarnContext(ctx, "WebSocket ended", "token", s.caller.Token, "error", err)
				s.end(&websocket.CloseError{Code: websocket.CloseInternalServerErr, Text: "the events could not be read; come again"})
			}
		})
		work.Go(func() { s.read(ctx, &work) })
		s.deliver(ctx)
		return nil
	})
}

// upgrade makes a call a WebSocket. Nil: err says why not; if that is nil too the connection is closed already.
func upgrade(w http.ResponseWriter, r *http.Request) (conn *websocket.Conn, err error) {
	upgrader := websocket.Upgrader{
		// Every origin that comes here is ours: the door refuses others (guard.host), before a call is looked for, and by
		// names that proxies do not change. The library would compare the origin with Host alone.
		CheckOrigin: func(*http.Request) bool { return true },
		Error: func(_ http.ResponseWriter, _ *http.Request, status int, reason error) {
			err = api.Failed(status, "open it with a WebSocket client", "%v", reason)
		},
	}
	conn, _ = upgrader.Upgrade(w, r, w.Header())
	if conn == nil {
		return nil, err
	}
	conn.SetReadLimit(maxBody)
	if CallerOf(r.Context()).Local {
		conn.SetReadLimit(maxLocalBody)
	}
	conn.SetPongHandler(func(string) error { return conn.SetReadDeadline(time.Now().Add(pongWait)) })
	return conn, nil
}

// within makes calls as the client of a WebSocket would beside it: each comes through the same door, with the same token.
func (a *API) within(r *http.Request) *api.Client {
	caller := CallerOf(r.Context())
	return api.InProcess(http.HandlerFunc(func(w http.ResponseWriter, call *http.Request) {
		call.Host, call.RemoteAddr = r.Host, r.RemoteAddr
		for _, name := range []string{"Authorization", "Origin", "X-Forwarded-For"} {
			call.Header[name] = r.Header[name]
		}
		if call.Body == nil {
			call.Body = http.NoBody
		}
		if caller.door == nil {
			a.serve(w, withCaller(call, caller))
		} else {
			caller.door.ServeHTTP(w, call)
		}
	}))
}

// A hello is the first message.
type hello struct {
	Version   string `json:"version"` // of the API
	Session   string `json:"session,omitempty"`
	LastEvent *int64 `json:"last_event,omitempty"` // behind which the events begin
}

// source finds what the client wants to follow, on a channel. begin says hello and begins to listen, until stop is called: what comes
// from then on follow sends.
func (s *socket) source(r *http.Request) (begin func() (follow func(context.Context) error, stop func()), channel *Channel, err error) {
	first := hello{Version: s.api.huma.OpenAPI().Info.Version, Session: r.URL.Query().Get("session")}
	if first.Session == "" {
		channel = s.api.channelOf(s.caller)
		return func() (func(context.Context) error, func()) {
			news, stop := channel.watch()
			_ = s.notify("hello", first)
			return func(ctx context.Context) error { return s.watch(ctx, channel, news) }, stop
		}, channel, nil
	}
	r.SetPathValue("id", first.Session)
	f, missed, err := s.api.feed(r)
	if err != nil {
		return nil, nil, err
	}
	f.out, f.until, first.LastEvent = s, -1, new(f.after)
	return func() (func(context.Context) error, func()) {
		stop := f.c.subscribe(f.listener)
		_ = s.notify("hello", first)
		if missed != "" {
			_ = s.notify("event", rpcEvent{Event: channels.KindReset, Data: map[string]string{"reason": missed}})
		}
		return f.run, stop
	}, f.c, nil
}

// watch says which sessions have something new.
func (s *socket) watch(ctx context.Context, channel *Channel, news *watch) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-news.notified:
		}
		convs, all := channel.take(news)
		if err := s.api.eachNews(ctx, channel, s.caller, convs, all, s.notify); err != nil {
			return err
		}
	}
}

// deliver sends what waits to be, and pings, until ctx ends or the client does not read.
func (s *socket) deliver(ctx context.Context) {
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	// A client that reads no more must not hold the engine's end up.
	defer context.AfterFunc(ctx, func() { _ = s.conn.NetConn().SetWriteDeadline(time.Now().Add(closeWait)) })()
	for ctx.Err() == nil {
		var err error
		select {
		case <-ctx.Done():
		case text := <-s.unsent:
			_ = s.conn.SetWriteDeadline(time.Now().Add(api.WriteWait))
			err = s.conn.WriteMessage(websocket.TextMessage, text)
		case <-ping.C:
			if s.caller.good(ctx) != nil {
				s.end(notGoodAnyMore)
			} else {
				err = s.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(api.WriteWait))
			}
		}
		if err != nil {
			return // the client does not read, or left
		}
	}
	cause := context.Cause(ctx)
	last, ours := errors.AsType[*websocket.CloseError](cause)
	if !ours {
		last = &websocket.CloseError{Code: websocket.CloseGoingAway, Text: "the engine stops; come again"}
	}
	if errors.Is(cause, errLeft) {
		return
	}
	_ = s.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(last.Code, last.Text), time.Now().Add(closeWait))
}

// notGoodAnyMore ends a socket whose token was revoked, or has expired.
var notGoodAnyMore = &websocket.CloseError{Code: websocket.ClosePolicyViolation, Text: "the token is not valid any more"}

// read takes the client's calls until it leaves.
func (s *socket) read(ctx context.Context, work *sync.WaitGroup) {
	defer s.end(errLeft)
	busy := make(chan struct{}, socketCalls)
	changed := make(chan struct{}) // closed: what changes something and came before is done
	close(changed)
	for {
		_ = s.conn.SetReadDeadline(time.Now().Add(pongWait))
		_, text, err := s.conn.ReadMessage()
		if errors.Is(err, websocket.ErrReadLimit) { // the library has said so; a client that still sends does not read it
			_ = s.conn.NetConn().SetReadDeadline(time.Now().Add(closeWait))
			_, _ = io.Copy(io.Discard, s.conn.NetConn())
		}
		if err != nil {
			return
		}
		id, call, fault := s.decode(text)
		if fault != nil {
			_ = s.answer(id, nil, fault)
			retry.Sleep(ctx, time.Second/tokenRate) // these do not pass the door
			continue
		}
		select {
		case busy <- struct{}{}:
		case <-ctx.Done():
			return
		}
		before, done := changed, make(chan struct{})
		if call.ordered {
			changed = done
		}
		work.Go(func() {
			defer func() { close(done); <-busy }()
			if call.ordered {
				<-before
			}
			result, fault := s.call(ctx, call.Call)
			_ = s.answer(id, result, fault)
		})
	}
}

// call makes a call of the API.
func (s *socket) call(ctx context.Context, call api.Call) (result json.RawMessage, fault *rpcError) {
	defer func() {
		if p := recover(); p != nil { // as net/http does with one that comes by itself
			s.api.Log.ErrorContext(ctx, "a call panicked", "path", call.Path, "panic", p, "stack", string(debug.Stack()))
			fault = &rpcError{Code: rpcInternal, Message: "the bot could not do this now"}
		}
	}()
	err := s.calls.Do(ctx, call, &result)
	refused, ok := errors.AsType[*api.Error](err)
	switch {
	case err == nil:
		return result, nil
	case !ok:
		return nil, &rpcError{Code: rpcInternal, Message: "the bot could not do this now"}
	case refused.Status == http.StatusUnauthorized:
		s.end(notGoodAnyMore)
	}
	return nil, &rpcError{rpcRefused, refused.Message, &rpcRefusal{refused.Status, refused.Code, refused.Hint}}
}

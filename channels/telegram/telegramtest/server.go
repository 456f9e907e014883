package telegramtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Server is the whole platform: bots, users, chats. Its methods may be called
// from several goroutines at once.
type Server struct {
	listener net.Listener
	http     *http.Server
	ctx      context.Context // ends at Close; what waits, waits on it too
	stop     context.CancelFunc
	wg       sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	conns   map[net.Conn]bool
	changed chan struct{} // closed and replaced at every change
	now     func() time.Time
	bots    []*Bot
	users   map[int64]*User
	chats   map[chatKey]*chat
	files   map[string]*file
	remote  map[string]File // by URL
	calls   []Call
	faults  []*Fault
	limits  *limiter
	deaf    bool
	ids     struct {
		message, update, user, group, other int64
		chatStep                            int64
	}
}

// TB is what New needs of a *testing.T.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// New starts a server on a free port of 127.0.0.1 with one bot. It is closed at the
// end of the test.
func New(t TB) *Server {
	t.Helper()
	s, err := Start("127.0.0.1:0")
	if err != nil {
		t.Fatalf("start telegramtest: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// Start starts a server with one bot on addr, which must be a loopback address;
// port 0 takes a free one.
func Start(addr string) (*Server, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("listen address %q: %w", addr, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("listen address %q: only this machine may reach a fake platform; use 127.0.0.1:PORT", addr)
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s := newServer()
	s.listener = listener
	s.http = &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return s.ctx },
		ConnState:         s.track,
	}
	s.wg.Go(func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.stop() // the listener broke; nobody will be served any more
		}
	})
	return s, nil
}

func newServer() *Server {
	s := &Server{
		changed: make(chan struct{}), now: time.Now,
		users: map[int64]*User{}, chats: map[chatKey]*chat{}, files: map[string]*file{}, remote: map[string]File{}, conns: map[net.Conn]bool{},
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	// Numbers depend on the time, so that a bot that kept its memory of an earlier
	// server takes nothing for something old.
	begin := time.Now().Unix()
	s.ids.update = begin
	s.ids.message = begin - 1_750_000_000
	s.ids.user = 500_000_000
	s.ids.group = 4_000_000_000
	s.AddBot("switchboard_dev_bot")
	return s
}

// Close ends all connections and waits until everything has stopped.
func (s *Server) Close() {
	s.change(func() { s.closed = true })
	s.stop()
	_ = s.http.Close()
	s.wg.Wait()
}

// track keeps the open connections.
func (s *Server) track(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.conns[c] = true
	case http.StateClosed, http.StateHijacked:
		delete(s.conns, c)
	}
}

// Drop cuts all connections there are, as when a network fails; new ones are taken.
func (s *Server) Drop() {
	s.change(func() {
		for c := range s.conns {
			_ = c.Close()
		}
	})
}

// URL is where the Bot API is: "http://127.0.0.1:PORT".
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Token is the first bot's. It is the same in every server, until SetToken.
func (s *Server) Token() string { return s.Bot().Token }

// handler sends the calls of bots, downloads and the page their ways.
func (s *Server) handler() http.Handler {
	page := s.page()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.enter() {
			panic(http.ErrAbortHandler)
		}
		defer s.wg.Done()
		api := strings.HasPrefix(r.URL.Path, "/bot") || strings.HasPrefix(r.URL.Path, "/file/bot")
		switch {
		case api && foreign(r):
			http.Error(w, "programs on this machine may call, pages in a browser may not", http.StatusForbidden)
		case strings.HasPrefix(r.URL.Path, "/bot"):
			s.serveCall(w, r)
		case strings.HasPrefix(r.URL.Path, "/file/bot"):
			s.serveFile(w, r)
		default:
			page.ServeHTTP(w, r)
		}
	})
}

// foreign says that r was made by a page in a browser, or under another name for this
// address, as such a page may give it.
func foreign(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return !here(r) || r.Header.Get("Origin") != "" || site != "" && site != "none" && site != "same-origin"
}

// here says whether r was made under this machine's own names.
func here(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	return loopback(strings.Trim(host, "[]"))
}

// enter counts a request, that Close may wait for it; false: it comes too late.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.wg.Add(1)
	}
	return !s.closed
}

// change runs f under the lock and wakes everybody who waits.
func (s *Server) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.wake()
}

// wake is called under the lock.
func (s *Server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Await waits until cond holds; it is asked after every change and may call the
// server's methods. The error is ctx's.
func (s *Server) Await(ctx context.Context, cond func() bool) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if cond() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// SetClock makes the platform's time what now says: dates of messages, the age of
// updates, rates.
func (s *Server) SetClock(now func() time.Time) { s.change(func() { s.now = now }) }

// id makes a number for something that only needs to be unique.
func (s *Server) id() string {
	s.ids.other++
	return strconv.FormatInt(s.ids.update+s.ids.other*7919, 36)
}

// time is the platform's.
func (s *Server) time() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now()
}

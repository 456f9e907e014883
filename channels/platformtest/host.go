package platformtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A Host is the machine that a fake platform runs on. Its lock guards the whole
// platform, also what the fake keeps besides. Its methods may be called from several
// goroutines at once; those that say so are called under the lock.
type Host struct {
	sync.Mutex
	listener net.Listener
	http     *http.Server
	ctx      context.Context // ends at Close; what waits, waits on it too
	stop     context.CancelFunc
	work     sync.WaitGroup

	closed  bool
	conns   map[net.Conn]bool
	changed chan struct{} // closed and replaced at every change
	now     func() time.Time
	calls   []Call
	faults  []*Fault
	deaf    bool
}

// TB is what Begin needs of a *testing.T.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Begin starts a fake by its start on a free port of 127.0.0.1, for as long as the test
// takes.
func Begin[S interface{ Close() }](t TB, start func(addr string) (S, error)) S {
	t.Helper()
	s, err := start("127.0.0.1:0")
	if err != nil {
		t.Fatalf("start a fake platform: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// Token is a bot's token that begins with prefix: had if it does, as settings of an earlier
// server have it; else one that nobody can guess.
func Token(had, prefix string) string {
	if strings.HasPrefix(had, prefix) {
		return had
	}
	return prefix + rand.Text()
}

// NewHost makes a host that does not serve yet.
func NewHost() *Host {
	h := &Host{changed: make(chan struct{}), now: time.Now, conns: map[net.Conn]bool{}}
	h.ctx, h.stop = context.WithCancel(context.Background())
	return h
}

// Serve takes requests on addr, which must be a loopback address; port 0 takes a free
// one, and an empty addr serves in memory, for Dial. Paths that isAPI knows go to api, which programs
// may call and pages in a browser may not; all others to page.
func (h *Host) Serve(addr string, isAPI func(path string) bool, api http.HandlerFunc, page Page) error {
	if err := h.listen(addr); err != nil {
		return err
	}
	people := h.page(page)
	h.http = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !h.enter() {
				panic(http.ErrAbortHandler)
			}
			defer h.work.Done()
			switch {
			case !isAPI(r.URL.Path):
				people.ServeHTTP(w, r)
			case foreign(r):
				http.Error(w, "programs on this machine may call, pages in a browser may not", http.StatusForbidden)
			default:
				api(w, r)
			}
		}),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return h.ctx },
		ConnState:         h.track,
	}
	h.work.Go(func() {
		if err := h.http.Serve(h.listener); !errors.Is(err, http.ErrServerClosed) {
			h.stop() // the listener broke; nobody will be served any more
		}
	})
	return nil
}

func (h *Host) listen(addr string) error {
	if addr == "" {
		h.listener = newPipes()
		return nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen address %q: %w", addr, err)
	}
	if !Loopback(host) {
		return fmt.Errorf("listen address %q: only this machine may reach a fake platform; use 127.0.0.1:PORT", addr)
	}
	if h.listener, err = net.Listen("tcp", addr); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	return nil
}

// Close ends all connections and waits until everything has stopped.
func (h *Host) Close() {
	h.Change(func() { h.closed = true })
	h.stop()
	_ = h.http.Close()
	h.work.Wait()
}

// Context ends at Close.
func (h *Host) Context() context.Context { return h.ctx }

// Go runs f, which ends when Context does; Close waits for it.
func (h *Host) Go(f func()) { h.work.Go(f) }

// track keeps the open connections.
func (h *Host) track(c net.Conn, state http.ConnState) {
	h.Lock()
	defer h.Unlock()
	switch state {
	case http.StateNew:
		h.conns[c] = true
	case http.StateClosed, http.StateHijacked:
		delete(h.conns, c)
	}
}

// Drop cuts all connections there are, as when a network fails; new ones are taken.
func (h *Host) Drop() {
	h.Change(func() {
		for c := range h.conns {
			_ = c.Close()
		}
	})
}

// URL is where the platform is: "http://127.0.0.1:PORT".
func (h *Host) URL() string { return "http://" + h.listener.Addr().String() }

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
	return Loopback(strings.Trim(host, "[]"))
}

// Loopback says whether host is a name or address of this machine.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// enter counts a request, that Close may wait for it; false: it comes too late.
func (h *Host) enter() bool {
	h.Lock()
	defer h.Unlock()
	if !h.closed {
		h.work.Add(1)
	}
	return !h.closed
}

// Change runs f under the lock and wakes everybody who waits.
func (h *Host) Change(f func()) {
	h.Lock()
	defer h.Unlock()
	f()
	h.Wake()
}

// Wake wakes everybody who waits. It is called under the lock.
func (h *Host) Wake() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// Changed is closed at the next change. It is called under the lock.
func (h *Host) Changed() <-chan struct{} { return h.changed }

// Await waits until cond holds; it is asked after every change and may call the
// platform's methods. The error is ctx's.
func (h *Host) Await(ctx context.Context, cond func() bool) error {
	for {
		h.Lock()
		changed := h.changed
		h.Unlock()
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
// events, rates.
func (h *Host) SetClock(now func() time.Time) { h.Change(func() { h.now = now }) }

// Now is the platform's time. It is called under the lock.
func (h *Host) Now() time.Time { return h.now() }

// Deaf makes the platform tell no events any more while everything else works and
// sockets stay open, as when a connection died on the way unseen. When it ends, what
// hangs goes on hanging; new connections are well.
func (h *Host) Deaf(deaf bool) { h.Change(func() { h.deaf = deaf }) }

// IsDeaf says whether Deaf holds. It is called under the lock.
func (h *Host) IsDeaf() bool { return h.deaf }

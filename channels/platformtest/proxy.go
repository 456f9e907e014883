package platformtest

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Proxy stands between a channel and its platform, so that connections can be cut, refused
// and made mute. Its methods may be called from several goroutines at once.
type Proxy struct {
	to, addr, marker string

	mu       sync.Mutex
	listener net.Listener // nil: down
	pipes    map[*pipe]bool
	most     int
	wg       sync.WaitGroup
}

// A pipe is one connection through the proxy.
type pipe struct {
	p         *Proxy
	near, far net.Conn
	marked    bool          // the marker went over it
	muted     bool          // what comes on it goes nowhere
	over      chan struct{} // closed at its end
}

// NewProxy starts a proxy for the server at to, "http://HOST:PORT", for as long as the test
// takes. Connections on which a request holds marker are counted; empty: none are.
func NewProxy(t TB, to, marker string) *Proxy {
	t.Helper()
	p := &Proxy{to: strings.TrimPrefix(to, "http://"), addr: "127.0.0.1:0", marker: marker, pipes: map[*pipe]bool{}}
	p.Up(t)
	t.Cleanup(func() {
		p.Down()
		p.wg.Wait()
	})
	return p
}

// URL is the proxy's address, "http://HOST:PORT". It stays the same.
func (p *Proxy) URL() string { return "http://" + p.addr }

// Up takes connections, after Down again.
func (p *Proxy) Up(t TB) {
	t.Helper()
	listener, err := net.Listen("tcp", p.addr)
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	p.change(func() { p.listener, p.addr = listener, listener.Addr().String() })
	p.wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.carry(listener, conn) })
		}
	})
}

func (p *Proxy) carry(listener net.Listener, near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer far.Close()
	c := &pipe{p: p, near: near, far: far, over: make(chan struct{})}
	up := false
	p.change(func() {
		if up = p.listener == listener; up { // else it was taken just before Down
			p.pipes[c] = true
		}
	})
	if !up {
		return
	}
	defer close(c.over)
	defer p.change(func() { delete(p.pipes, c) })
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = io.Copy(end{c, near}, far)
		_ = near.(*net.TCPConn).CloseWrite() //nolint:errcheck // it was taken on TCP; who sees this closes it
	})
	wg.Go(func() {
		_, _ = io.Copy(end{c, far}, near)
		_ = near.Close()
		_ = far.Close()
	})
	wg.Wait()
}

func (p *Proxy) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// An end is where one way of a pipe goes.
type end struct {
	*pipe
	to net.Conn
}

func (e end) Write(data []byte) (int, error) {
	marks := e.to == e.far && e.p.marker != "" && bytes.Contains(data, []byte(e.p.marker))
	if marks {
		e.p.others(e.pipe)
	}
	muted := false
	e.p.change(func() {
		muted = e.muted
		if !muted && marks {
			e.marked = true
			e.p.most = max(e.p.most, e.p.count(func(c *pipe) bool { return c.marked }))
		}
	})
	if muted {
		return len(data), nil
	}
	return e.to.Write(data)
}

// others waits a moment for the end of the other connections that the marker went over: who closed one and
// opened the next had one at once, and this proxy may not have seen the end yet.
func (p *Proxy) others(c *pipe) {
	var others []*pipe
	p.change(func() {
		for o := range p.pipes {
			if o != c && o.marked {
				others = append(others, o)
			}
		}
	})
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	for _, o := range others {
		select {
		case <-o.over:
		case <-ctx.Done():
		}
	}
}

// count is called under the lock.
func (p *Proxy) count(which func(*pipe) bool) (n int) {
	for c := range p.pipes {
		if which(c) {
			n++
		}
	}
	return n
}

// Cut ends all connections.
func (p *Proxy) Cut() {
	p.change(func() {
		for c := range p.pipes {
			_ = c.near.Close()
			_ = c.far.Close()
		}
	})
}

// Mute lets nothing through any more on the connections that are open.
func (p *Proxy) Mute() {
	p.change(func() {
		for c := range p.pipes {
			c.muted = true
		}
	})
}

// Down refuses connections and ends those that are open. Who had one has closed it then, and makes no call
// on one that was kept; who does not for ten seconds is not waited for.
func (p *Proxy) Down() {
	var open []*pipe
	p.change(func() {
		if p.listener != nil {
			_ = p.listener.Close()
		}
		p.listener, open = nil, slices.Collect(maps.Keys(p.pipes))
		for _, c := range open {
			_ = c.near.SetReadDeadline(time.Now().Add(10 * time.Second))
			_ = c.far.Close()
		}
	})
	for _, c := range open {
		<-c.over
	}
}

// Open counts the connections.
func (p *Proxy) Open() (n int) {
	p.change(func() { n = p.count(func(*pipe) bool { return true }) })
	return n
}

// MostMarked is over how many connections at once the marker went, at most.
func (p *Proxy) MostMarked() (n int) {
	p.change(func() { n = p.most })
	return n
}

package telegram

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// A proxy stands between a channel and its platform, so that connections can be cut,
// refused and made mute.
type proxy struct {
	to   string
	addr string

	mu       sync.Mutex
	listener net.Listener
	pipes    map[*pipe]bool
	most     int // connections that polls went over at once
	wg       sync.WaitGroup
}

// A pipe is one connection through the proxy.
type pipe struct {
	p         *proxy
	near, far net.Conn
	polls     bool // a poll went over it
	muted     bool // what comes on it goes nowhere
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	p := &proxy{to: strings.TrimPrefix(to, "http://"), addr: "127.0.0.1:0", pipes: map[*pipe]bool{}}
	p.up(t)
	t.Cleanup(func() {
		p.down()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) url() string { return "http://" + p.addr }

func (p *proxy) up(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", p.addr)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	p.listener, p.addr = listener, listener.Addr().String()
	p.mu.Unlock()
	p.wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.carry(conn) })
		}
	})
}

func (p *proxy) carry(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer far.Close()
	c := &pipe{p: p, near: near, far: far}
	p.change(func() { p.pipes[c] = true })
	defer p.change(func() { delete(p.pipes, c) })
	var wg sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		wg.Go(func() {
			_, _ = io.Copy(end{c, way[0]}, way[1])
			_ = near.Close()
			_ = far.Close()
		})
	}
	wg.Wait()
}

func (p *proxy) change(f func()) {
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
	muted := false
	e.p.change(func() {
		if muted = e.muted; !muted && e.to == e.far && bytes.Contains(data, []byte("/getUpdates ")) {
			e.polls = true
			e.p.most = max(e.p.most, e.p.count(func(c *pipe) bool { return c.polls }))
		}
	})
	if muted {
		return len(data), nil
	}
	return e.to.Write(data)
}

// count is called under the lock.
func (p *proxy) count(which func(*pipe) bool) (n int) {
	for c := range p.pipes {
		if which(c) {
			n++
		}
	}
	return n
}

// cut ends all connections.
func (p *proxy) cut() {
	p.change(func() {
		for c := range p.pipes {
			_ = c.near.Close()
			_ = c.far.Close()
		}
	})
}

// mute lets nothing through any more on the connections that are open.
func (p *proxy) mute() {
	p.change(func() {
		for c := range p.pipes {
			c.muted = true
		}
	})
}

func (p *proxy) down() {
	p.change(func() { _ = p.listener.Close() })
	p.cut()
	time.Sleep(5 * time.Millisecond) // a kept connection is known to be closed only then
}

// open counts the connections.
func (p *proxy) open() (n int) {
	p.change(func() { n = p.count(func(*pipe) bool { return true }) })
	return n
}

// mostPolls is over how many connections polls went at once, at most.
func (p *proxy) mostPolls() (n int) {
	p.change(func() { n = p.most })
	return n
}

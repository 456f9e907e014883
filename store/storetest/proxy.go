package storetest

import (
	"net"
	"sync"
	"testing"
	"time"
)

// A Proxy stands between engines and their database and can stall, as a network
// does whose packets are lost: nothing is refused and nothing arrives. Its methods
// may be called from several goroutines at once.
type Proxy struct {
	listener net.Listener
	target   string
	done     sync.WaitGroup

	mu     sync.Mutex
	open   map[net.Conn]bool
	gate   chan struct{} // closed while bytes flow
	strand chan struct{} // closed when present connections are to be held for good
	over   chan struct{} // closed at the end
}

// NewProxy makes a proxy on 127.0.0.1 that leads to target and ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{
		listener: l, target: target, open: map[net.Conn]bool{},
		gate: make(chan struct{}), strand: make(chan struct{}), over: make(chan struct{}),
	}
	close(p.gate)
	p.done.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// Addr is where it listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Stall holds back every byte, both ways, of present and new connections.
func (p *Proxy) Stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.gate:
		p.gate = make(chan struct{})
	default: // stalled already
	}
}

// Flow ends a stall; what was held back arrives.
func (p *Proxy) Flow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.gate:
	default:
		close(p.gate)
	}
}

// Strand holds back every byte of the present connections for good, while new ones
// flow: a peer that moved, or a firewall that forgot.
func (p *Proxy) Strand() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.strand)
	p.strand = make(chan struct{})
}

// Cut ends every present connection; new ones are taken.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		c.Close()
	}
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.done.Go(func() { p.carry(c) })
	}
}

// carry joins one client to the target.
func (p *Proxy) carry(client net.Conn) {
	defer client.Close()
	p.mu.Lock()
	strand := p.strand
	p.mu.Unlock()
	p.wait(strand)
	server, err := net.DialTimeout("tcp", p.target, 10*time.Second)
	if err != nil {
		return
	}
	defer server.Close()
	p.keep(true, client, server)
	defer p.keep(false, client, server)
	var both sync.WaitGroup
	both.Go(func() { p.copy(server, client, strand) })
	both.Go(func() { p.copy(client, server, strand) })
	both.Wait()
}

func (p *Proxy) keep(on bool, conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if on {
			p.open[c] = true
		} else {
			delete(p.open, c)
		}
	}
}

func (p *Proxy) copy(to, from net.Conn, strand <-chan struct{}) {
	defer to.Close()
	defer from.Close()
	for buffer := make([]byte, 32<<10); ; {
		n, err := from.Read(buffer)
		p.wait(strand)
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// wait returns when bytes flow, and for a stranded connection at the end only.
func (p *Proxy) wait(strand <-chan struct{}) {
	for {
		p.mu.Lock()
		gate := p.gate
		p.mu.Unlock()
		select {
		case <-strand:
			<-p.over
			return
		case <-gate:
		case <-p.over:
			return
		}
		select {
		case <-strand: // both were open
		default:
			return
		}
	}
}

func (p *Proxy) close() {
	close(p.over)
	p.listener.Close()
	for ended := false; !ended; { // one that is just being dialled is cut too
		p.Cut()
		done := make(chan struct{})
		go func() { p.done.Wait(); close(done) }()
		select {
		case <-done:
			ended = true
		case <-time.After(20 * time.Millisecond):
		}
	}
}

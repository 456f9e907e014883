package store_test

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/channels"
	"switchboard/router"
	"switchboard/store"
	"switchboard/store/storetest"
)

// countingDialer counts what is written to the server: lib/pq writes once before
// it waits for an answer.
type countingDialer struct {
	writes atomic.Int64
	mu     sync.Mutex
	conns  []net.Conn
}

// cut closes every connection made so far.
func (d *countingDialer) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.conns {
		_ = c.Close()
	}
	d.conns = nil
}

func (d *countingDialer) Dial(network, address string) (net.Conn, error) {
	return d.DialTimeout(network, address, 0)
}

func (d *countingDialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	c, err := net.DialTimeout(network, address, timeout)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.conns = append(d.conns, c)
	return countingConn{c, d}, nil
}

type countingConn struct {
	net.Conn
	d *countingDialer
}

func (c countingConn) Write(b []byte) (int, error) {
	c.d.writes.Add(1)
	return c.Conn.Write(b)
}

// counted is the empty database at url with the dialer that counts its round trips.
func counted(t *testing.T, url string) (*store.DB, *countingDialer) {
	t.Helper()
	d := &countingDialer{}
	db, err := store.OpenDialed(t.Context(), url, d, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db, d
}

func TestHotTransactionsAreOneRoundTrip(t *testing.T) {
	t.Parallel()
	db, d := counted(t, storetest.PostgresURL(t))
	h := newHouse(t, db)
	// One connection of each pool is open before anything is counted.
	ref := h.begun("warm", "0")
	h.commit(ref, agent.Step{})
	hold := h.hold()
	h.posts("w", "9", "warm")
	h.settle(hold, h.begin(hold, "w"), router.Settlement{State: router.DeliverySent})
	once := func(what string, want int64, do func()) {
		t.Helper()
		before := d.writes.Load()
		do()
		if got := d.writes.Load() - before; got != want {
			t.Errorf("%s: %d round trips, want %d", what, got, want)
		}
	}
	once("accept", 1, func() {
		first := claiming(entry("c", "1", "hello"))
		first.Turn().Choice = true // with no question open
		h.accept(first, entry("d", "2", "x"), control(entry("c", "3", "/help"), router.EffectNone, "help"))
	})
	ref = h.begun("e", "4")
	expect := "x"
	full := agent.Step{
		Calls: []agent.Call{{Step: "plan", Role: "planner", Answer: "{}", Exchange: llm.Exchange{Request: make([]byte, 100000)}}},
		Plan:  &agent.PlanRow{Goal: "g", Tasks: []agent.TaskRow{{Task: agent.Task{Type: agent.TaskExec, Expect: &expect}}}},
		Tasks: []agent.TaskChange{{Type: agent.TaskExec, State: agent.TaskRunning}},
	}
	once("commit, durable", 1, func() { h.commit(ref, full) })
	last := end("done", "answered")
	last.Say = []agent.Say{{Text: "there"}}
	once("commit, end", 1, func() {
		h.commit(ref, last, router.Reply{Text: "there", Parts: []channels.Body{{Text: "th"}, {Text: "ere"}}})
	})
	ref = h.begun("f", "5")
	once("commit, end, begun", 1, func() {
		if h.opens(ref, hold, "f", 0) == nil {
			t.Error("not begun")
		}
	})
	var out *router.Delivery
	once("begin", 1, func() { out = h.begin(hold, "e") })
	once("settle", 1, func() { h.settle(hold, out, router.Settlement{State: router.DeliverySent}) })
	once("begin with nothing to do", 1, func() { h.begin(hold, "nowhere") })
}

// Every connection is cut, as by a restart of the server: the next transactions go
// over new ones.
func TestLostConnectionsAreReplaced(t *testing.T) {
	t.Parallel()
	db, d := counted(t, storetest.PostgresURL(t))
	h := newHouse(t, db)
	ref := h.begun("c", "1")
	h.commit(ref, agent.Step{})
	d.cut()
	h.accept(entry("c", "2", "again"))
	d.cut()
	h.commit(ref, agent.Step{})
	d.cut()
	if _, err := h.r.Load(h.ctx, ref); err != nil {
		t.Errorf("load: %v", err)
	}
	d.cut()
	h.hold()
}

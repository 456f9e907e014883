package database_test

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/channels"
	"switchboard/router/intake"
	"switchboard/router/outbox"
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
	db := storetest.Opened(t, url, "", quiet)
	if err := db.Dial(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db, d
}

func TestHotTransactionsAreOneRoundTrip(t *testing.T) {
	t.Parallel()
	db, d := counted(t, storetest.PostgresURL(t))
	h := storetest.NewHouse(t, db)
	// One connection of each pool is open before anything is counted.
	ref := h.Begun("warm", "0")
	h.Commit(ref, agent.Step{})
	hold := h.Hold()
	h.Posts("w", "9", "warm")
	h.Settle(hold, h.Begin(hold, "w"), outbox.Settlement{State: outbox.DeliverySent})
	once := func(what string, want int64, do func()) {
		t.Helper()
		before := d.writes.Load()
		do()
		if got := d.writes.Load() - before; got != want {
			t.Errorf("%s: %d round trips, want %d", what, got, want)
		}
	}
	once("accept", 1, func() {
		first := storetest.Claiming(storetest.Entry("c", "1", "hello"))
		first.Turn().Choice = true // with no question open
		command := storetest.Entry("c", "3", "/help")
		command.Intent = &intake.ControlIntent{Effect: intake.EffectNone, Reply: &outbox.Reply{Text: "help", Parts: []channels.Body{{Text: "help"}}}}
		h.Accept(first, storetest.Entry("d", "2", "x"), command)
	})
	ref = h.Begun("e", "4")
	expect := "x"
	full := agent.Step{
		Calls: []agent.Call{{Step: "plan", Role: "planner", Answer: "{}", Exchange: llm.Exchange{Request: make([]byte, 100000)}}},
		Plan:  &agent.PlanRow{Goal: "g", Tasks: []agent.TaskRow{{Task: agent.Task{Type: agent.TaskExec, Expect: &expect}}}},
		Tasks: []agent.TaskChange{{Type: agent.TaskExec, State: agent.TaskRunning}},
	}
	once("commit, durable", 1, func() { h.Commit(ref, full) })
	last := storetest.End("done", "answered")
	last.Say = []agent.Say{{Text: "there"}}
	once("commit, end", 1, func() {
		h.Commit(ref, last, outbox.Reply{Text: "there", Parts: []channels.Body{{Text: "th"}, {Text: "ere"}}})
	})
	ref = h.Begun("f", "5")
	once("commit, end, begun", 1, func() {
		if opens(h, ref, hold, "f") == nil {
			t.Error("not begun")
		}
	})
	var out *outbox.Delivery
	once("begin", 1, func() { out = h.Begin(hold, "e") })
	once("settle", 1, func() { h.Settle(hold, out, outbox.Settlement{State: outbox.DeliverySent}) })
	once("begin with nothing to do", 1, func() { h.Begin(hold, "nowhere") })
}

// Every connection is cut, as by a restart of the server: the next transactions go
// over new ones.
func TestLostConnectionsAreReplaced(t *testing.T) {
	t.Parallel()
	db, d := counted(t, storetest.PostgresURL(t))
	h := storetest.NewHouse(t, db)
	ref := h.Begun("c", "1")
	h.Commit(ref, agent.Step{})
	d.cut()
	h.Accept(storetest.Entry("c", "2", "again"))
	d.cut()
	h.Commit(ref, agent.Step{})
	d.cut()
	if _, err := h.Router.Load(h.Ctx, ref); err != nil {
		t.Errorf("load: %v", err)
	}
	d.cut()
	h.Hold()
}

package store_test

import (
	"bytes"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/store/database"
	"switchboard/store/storetest"
)

// A cutter passes everything on, and, once armed, swallows the answer to the statement
// whose texts come in this order on one connection, and closes that connection in good
// order: as a server does whose backend is killed, or a proxy that is restarted.
type cutter struct {
	l      net.Listener
	target string
	mu     sync.Mutex
	want   []string
	cuts   int
}

func newCutter(t *testing.T, target string) *cutter {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{l: l, target: target}
	var all sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				client.Close()
				continue
			}
			mu.Lock()
			open = append(open, client, server)
			mu.Unlock()
			all.Go(func() { c.carry(client, server, &all) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, x := range open {
			x.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return c
}

func (c *cutter) arm(texts ...string) { c.mu.Lock(); defer c.mu.Unlock(); c.want = texts }

// cut is how many answers were swallowed since it was asked before.
func (c *cutter) cut() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, c.cuts = c.cuts, 0
	return n
}

func (c *cutter) carry(client, server net.Conn, all *sync.WaitGroup) {
	defer client.Close()
	defer server.Close()
	var swallow sync.Mutex
	swallowing := false
	all.Go(func() {
		defer client.Close()
		b := make([]byte, 64<<10)
		for {
			n, err := server.Read(b)
			swallow.Lock()
			s := swallowing
			swallow.Unlock()
			if n > 0 && s {
				time.Sleep(20 * time.Millisecond)
				return // the answer is there, so it is committed
			}
			if n > 0 {
				client.Write(b[:n])
			}
			if err != nil {
				return
			}
		}
	})
	b := make([]byte, 64<<10)
	at := 0
	for {
		n, err := client.Read(b)
		if n > 0 {
			c.mu.Lock()
			for at < len(c.want) && bytes.Contains(b[:n], []byte(c.want[at])) {
				at++
			}
			if len(c.want) > 0 && at == len(c.want) {
				c.want, c.cuts = nil, c.cuts+1
				swallow.Lock()
				swallowing = true
				swallow.Unlock()
			}
			if len(c.want) == 0 {
				at = 0
			}
			c.mu.Unlock()
			server.Write(b[:n])
		}
		if err != nil {
			return
		}
	}
}

// What was committed, and whose answer was lost with a connection that ended in good
// order, is told of as unknown, and not done again in silence: whoever is told it a
// second time would take it for somebody else's work.
func TestLostAnswerIsReportedAsUnknown(t *testing.T) {
	t.Parallel()
	s := storetest.NewServer(t)
	c := newCutter(t, s.Addr())
	h := newHouse(t, storetest.Opened(t, s.URLAt(c.l.Addr().String()), t.TempDir(), quiet))
	lost := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, database.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
		if n := c.cut(); n != 1 {
			t.Fatalf("%s: %d answers were swallowed", what, n)
		}
	}

	c.arm("sb_accept")
	batch := []intake.Entry{storetest.Claiming(storetest.Entry("a", "1", "hello"))}
	_, err := h.Router.Accept(h.Ctx, h.Owner(), batch)
	lost("accept", err)
	if a := h.Accept(batch...)[0]; !a.Duplicate {
		t.Errorf("accepted twice: %+v", a)
	}

	ref := h.Begun("b", "2")
	c.arm("sb_steps")
	_, err = h.Router.Commit(h.Ctx, ref, agent.Step{Plan: &agent.PlanRow{Goal: "g", Tasks: []agent.TaskRow{{Task: agent.Task{Type: agent.TaskMsg}}}}}, nil)
	lost("commit", err)
	if d := h.Load(ref); len(d.State.Plans) != 1 {
		t.Errorf("%+v", d)
	}

	steer := storetest.Entry("b", "3", "no, do the other thing")
	steer.Turn().Mode = "steer"
	h.Accept(steer)
	c.arm("'absorbed'", "COMMIT")
	list, err := h.Router.Absorb(h.Ctx, ref, 0)
	lost("absorb", err)
	if d, err := h.Router.Load(h.Ctx, ref); len(list) != 0 || err != nil || len(d.State.Added) != 1 {
		t.Errorf("absorbed %+v, and %+v, %v", list, d, err)
	}

	h.Posts("d", "4", "part")
	hold := h.Hold()
	c.arm("sb_begin")
	_, _, err = h.Router.Begin(h.Ctx, hold, channels.Conversation{ID: "d"})
	lost("begin", err)

	h.Posts("e", "5", "part")
	d := h.Begin(hold, "e")
	c.arm("sb_settles")
	sent := outbox.Settlement{State: outbox.DeliverySent, PlatformID: "x"}
	_, err = h.Router.Settle(h.Ctx, hold, d, sent)
	lost("settle", err)
	h.Settle(hold, d, sent)
}

// A connection that ended while nobody used it is no reason to tell anybody anything.
func TestEndedConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	s := storetest.NewServer(t)
	h := newHouse(t, storetest.Opened(t, s.URLAt(s.Addr()), t.TempDir(), quiet))
	for round := range 3 {
		var all sync.WaitGroup
		for i := range 8 { // several connections of each pool
			all.Go(func() {
				key := string(rune('a'+i)) + string(rune('0'+round))
				if _, err := h.Router.Accept(h.Ctx, h.Owner(), []intake.Entry{storetest.Entry(key, key, "hello")}); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
				if _, err := h.Router.Deliveries(h.Ctx, storetest.All, "", 10); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		all.Wait()
		s.Do("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name LIKE 'switchboard%'") // waits for their end
	}
	if !slices.ContainsFunc(h.Accept(storetest.Entry("z", "z", "hello")), func(a intake.Accepted) bool { return a.TurnID != 0 }) {
		t.Error("not accepted")
	}
}

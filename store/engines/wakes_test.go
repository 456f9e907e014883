package engines_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/internal/testkit"
	"switchboard/router/core"
	"switchboard/store"
	"switchboard/store/engines"
	"switchboard/store/storetest"
)

// sink keeps what an engine received.
type sink struct {
	core.Wakes
	mu       sync.Mutex
	received []core.Wake
	stop     func()
}

func listening(t *testing.T, db *store.DB, owner int64) *sink {
	t.Helper()
	e := &sink{Wakes: engines.NewWakes(db.DB, owner)}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		e.Listen(ctx, func(w core.Wake) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.received = append(e.received, w)
		})
	})
	e.stop = sync.OnceFunc(func() { cancel(); done.Wait() })
	t.Cleanup(e.stop)
	// What was missed before comes first.
	wait(t, "it listens", func() bool { return slices.Contains(e.all(), core.Wake{Kind: core.WakeAll}) })
	e.forget()
	return e
}

func (e *sink) all() []core.Wake {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.received)
}

func (e *sink) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.received = nil
}

func TestEnginesWakeEachOther(t *testing.T) {
	t.Parallel()
	url, quiet := storetest.PostgresURL(t), slog.New(slog.DiscardHandler)
	db := storetest.Opened(t, url, "", quiet)
	run(t, db, "CREATE SCHEMA other")
	other := storetest.Opened(t, url+"&search_path=other", "", quiet)
	for _, d := range []*store.DB{db, other} {
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	a, b := listening(t, db, 1), listening(t, db, 2)
	mute := listening(t, other, 3) // in another schema of the same database
	want := []core.Wake{
		{Kind: core.WakeTurn, Channel: "tg"},
		{Kind: core.WakeStop, Turn: 7},
		{Kind: core.WakeDelivery, Channel: "tg", Conversation: `c "1"`, Among: channels.Group, Place: "p"},
	}
	for _, w := range want {
		a.Wake(w)
		a.Wake(w)
	}
	received := func() []core.Wake { return slices.Compact(b.all()) } // the second may have gone alone
	wait(t, "b received", func() bool { return len(received()) >= len(want) })
	for range 50 { // coalesced: thousands are few
		for turn := range int64(20) {
			a.Wake(core.Wake{Kind: core.WakeStop, Turn: 100 + turn})
		}
	}
	a.Wake(core.Wake{Kind: core.WakeTurn, Channel: "last"})
	wait(t, "b received the last", func() bool { return slices.Contains(b.all(), core.Wake{Kind: core.WakeTurn, Channel: "last"}) })
	if got := received(); !slices.Equal(got[:len(want)], want) || len(got) > 500 {
		t.Errorf("b received %d: %+v", len(got), got)
	}
	if got := append(a.all(), mute.all()...); len(got) != 0 {
		t.Errorf("received by those it is not for: %+v", got)
	}
}

func TestLostWakesAreMadeUpFor(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	a, b := listening(t, db, 1), listening(t, db, 2)
	run(t, db, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'switchboard listen' AND datname = current_database()")
	for _, e := range []*sink{a, b} {
		wait(t, "everything is looked at", func() bool { return slices.Contains(e.all(), core.Wake{Kind: core.WakeAll}) })
		e.forget()
	}
	a.Wake(core.Wake{Kind: core.WakeTurn, Channel: "tg"})
	wait(t, "it listens again", func() bool { return slices.Equal(b.all(), []core.Wake{{Kind: core.WakeTurn, Channel: "tg"}}) })
	b.forget()
	// More than a payload holds is told as everything.
	for i := range 200 {
		a.Wake(core.Wake{Kind: core.WakeDelivery, Channel: "tg", Conversation: channels.ConversationID(strings.Repeat("x", 400) + fmt.Sprint(i))})
	}
	wait(t, "too much is everything", func() bool { return slices.Contains(b.all(), core.Wake{Kind: core.WakeAll}) })
}

// What is to be told at the end still goes out.
func TestWakesAreSentBeforeTheEnd(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	a, b := listening(t, db, 1), listening(t, db, 2)
	for range 100 {
		a.Wake(core.Wake{Kind: core.WakeTurn, Channel: "tg"})
	}
	a.Wake(core.Wake{Kind: core.WakeStop, Turn: 9})
	a.stop()
	// Where the end broke off what was being sent, that is everything.
	wait(t, "the last is received", func() bool {
		return slices.ContainsFunc(b.all(), func(w core.Wake) bool {
			return w == core.Wake{Kind: core.WakeStop, Turn: 9} || w.Kind == core.WakeAll
		})
	})
	if w := engines.NewWakes(storetest.SQLite(t).DB, 1); w != nil {
		t.Errorf("%v on SQLite", w)
	}
}

// An engine that stops frees what it has and tells the others at once.
func TestCloseWakesTheOthers(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	a := doomed(t, db)
	b := newHouse(t, db)
	ref := a.Begun("c", "1")
	a.Hold()
	e := listening(t, db, b.owner())
	if err := a.Engine.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait(t, "the others look", func() bool { return slices.Contains(e.all(), core.Wake{Kind: core.WakeAll}) })
	if !b.taken(ref) {
		t.Error("its leases are not free")
	}
	if d := b.load(core.TurnRef{TurnID: ref.TurnID, SessionID: ref.SessionID, Fence: ref.Fence + 1}); d.Resumed != 0 {
		t.Errorf("resumed %d times from an engine that stopped", d.Resumed)
	}
}

// A spoiler makes the server refuse the first LISTEN.
type spoiler struct{ refused int }

type spoiled struct {
	net.Conn
	s *spoiler
}

func (s *spoiler) Dial(network, address string) (net.Conn, error) {
	return s.DialTimeout(network, address, 5*time.Second)
}

func (s *spoiler) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	c, err := net.DialTimeout(network, address, timeout)
	if err != nil {
		return nil, err
	}
	return &spoiled{c, s}, nil
}

func (c *spoiled) Write(b []byte) (int, error) {
	if c.s.refused == 0 && bytes.Contains(b, []byte("LISTEN ")) {
		c.s.refused++
		b = bytes.Replace(b, []byte("LISTEN "), []byte("HARKEN "), 1)
	}
	return c.Conn.Write(b)
}

func TestRefusedListenIsTriedAgain(t *testing.T) {
	t.Parallel()
	var log testkit.Log
	url := storetest.PostgresURL(t)
	db := opened(t, url, "", slog.New(slog.NewTextHandler(&log, nil)))
	h := newHouse(t, db)
	var s spoiler
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if ok, err := engines.ListenOn(ctx, db.DB, h.owner(), url, &s); !ok || err != nil || s.refused != 1 {
		t.Errorf("listens: %v, %v; refused %d times", ok, err, s.refused)
	}
	if log.Count("it is tried again") != 1 {
		t.Errorf("log:\n%s", log.String())
	}
}

func TestNotifiedMeasuresPostgresAlone(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		took, err := engines.Notified(t.Context(), db.DB)
		if err != nil || (took > 0) != (db.Kind() == "postgres") {
			t.Errorf("%s, %v", took, err)
		}
	})
}

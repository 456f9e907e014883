package engines_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/internal/testkit"
	"switchboard/router/core"
	"switchboard/store"
	"switchboard/store/storetest"
)

// inTime makes it seem that all engines have renewed in time for long.
func inTime(t *testing.T, db *store.DB) {
	t.Helper()
	run(t, db, "UPDATE owners SET in_time_since = 0")
}

// two are two engines on one database, with a folder in common.
func two(t *testing.T) (a, b *house, dir string) {
	t.Helper()
	url, dir := storetest.PostgresURL(t), t.TempDir()
	a = newHouse(t, opened(t, url, dir, quiet))
	oldServer(t, a.DB)
	b = newHouse(t, opened(t, url, dir, quiet))
	return a, b, dir
}

// taken says whether the engine gets the session of ref and the channel "tg".
func (h *house) taken(ref core.TurnRef) bool {
	h.Helper()
	list := h.Claim(5)
	_, ok, err := h.Router.TakeChannel(h.Ctx, h.owner(), "tg")
	if err != nil {
		h.Fatal(err)
	}
	if got := len(list) == 1 && list[0].TurnID == ref.TurnID; got != ok || len(list) == 1 != ok {
		h.Fatalf("session %v, channel %v", list, ok)
	}
	return ok
}

func (h *house) look() {
	h.Helper()
	if err := h.Engine.Look(h.Ctx); err != nil {
		h.Fatal(err)
	}
}

// A server that was just started is to blame itself, and so is an engine that was
// cut off as long as the other one.
func TestNobodyIsDeclaredDeadAfterAnOutage(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	ref := a.Begun("c", "1")
	a.Hold()
	a.Expire()
	b.Expire()
	inTime(t, b.DB)
	b.renew() // the first to come back
	if b.taken(ref) {
		t.Error("an engine that was late itself took over")
	}
	run(t, b.DB, "UPDATE owners SET in_time_since = in_time_since - 10000000")
	run(t, b.DB, "CREATE OR REPLACE FUNCTION sb_started() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT sb_clock() - 14000000'")
	if b.taken(ref) {
		t.Error("taken over on a server that was just started")
	}
	oldServer(t, b.DB)
	if !b.taken(ref) {
		t.Fatal("an engine in time got nothing from one that expired")
	}
	// It was late, not dead: nothing is held against its turn, and it goes on.
	d := b.load(core.TurnRef{TurnID: ref.TurnID, SessionID: ref.SessionID, Fence: ref.Fence + 1})
	if d.Resumed != 0 {
		t.Errorf("resumed %d times from an engine that was late", d.Resumed)
	}
	a.renew()
	if got := a.Begun("d", "3"); got.Fence != 1 {
		t.Errorf("%+v", got)
	}
	if _, err := a.Router.Commit(t.Context(), ref, agent.Step{}, nil); !errors.Is(err, core.ErrFenced) {
		t.Errorf("an old fence: %v", err)
	}
}

// The lock of a dead engine is free at two looks 6 s apart, and it has not renewed.
func TestDeadEngineIsFoundByItsLock(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t) // and no data folder
	a, b := newHouse(t, db), newHouse(t, db)
	oldServer(t, db)
	ref := a.Begun("c", "1")
	a.Hold()
	b.look()
	b.Engine.Looked(time.Minute)
	b.look()
	if b.taken(ref) {
		t.Fatal("taken from an engine with its lock")
	}
	if err := a.Engine.Abandon(); err != nil {
		t.Fatal(err)
	}
	b.look()
	b.Engine.Looked(time.Minute)
	b.look()
	if b.taken(ref) {
		t.Fatal("found dead by an engine that may have been cut off itself")
	}
	inTime(t, db)
	b.look()
	b.Engine.Looked(5 * time.Second)
	b.look()
	if b.taken(ref) {
		t.Fatal("found dead after 5 s")
	}
	run(t, db, "UPDATE owners SET renewed_at = renewed_at + 1 WHERE id = "+nameOf(a.owner()))
	b.Engine.Looked(time.Second)
	b.look()
	if b.taken(ref) {
		t.Fatal("found dead though it renewed between the looks")
	}
	b.Engine.Looked(6 * time.Second)
	b.look()
	if !b.taken(ref) {
		t.Fatal("its lock was free for 6 s")
	}
	if d := b.load(core.TurnRef{TurnID: ref.TurnID, SessionID: ref.SessionID, Fence: ref.Fence + 1}); d.Resumed != 1 {
		t.Errorf("resumed %d times from a dead engine", d.Resumed)
	}
}

// Whoever was found dead and is not goes on with what was not taken over.
func TestEngineDeclaredDeadWhileAliveGoesOn(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	lost, kept := a.Begun("c", "1"), a.Begun("d", "2")
	run(t, a.DB, "UPDATE owners SET declared_at = 1 WHERE id = "+nameOf(a.owner()))
	if list := b.Claim(1); len(list) != 1 || list[0].TurnID != lost.TurnID {
		t.Fatalf("%+v", list)
	}
	if e := a.Accept(claiming(entry("e", "3", "")))[0]; e.Claimed != nil {
		t.Error("a dead engine claimed")
	}
	a.renew()
	if list := b.Claim(5); len(list) != 1 || list[0].TurnID == kept.TurnID {
		t.Errorf("after it came back: %+v", list)
	}
	a.Commit(kept, agent.Step{})
	if _, err := a.Router.Commit(t.Context(), lost, agent.Step{}, nil); !errors.Is(err, core.ErrFenced) {
		t.Errorf("what was taken over: %v", err)
	}
	held, err := a.Router.Held(t.Context(), a.owner())
	if err != nil || len(held) != 1 || held[0].TurnRef != kept {
		t.Errorf("held %+v, %v", held, err)
	}
}

// A process that is gone for sure is dead at once, be the server new and the
// finder new; what it left in the data folder goes.
func TestGoneProcessIsFoundAtOnce(t *testing.T) {
	t.Parallel()
	url, dir := storetest.PostgresURL(t), t.TempDir()
	db := opened(t, url, dir, quiet)
	a := doomed(t, db)
	ref := a.Begun("c", "1")
	a.Hold()
	socket := filepath.Join(dir, "run", nameOf(a.owner())+".sock")
	if err := os.WriteFile(socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// A process that only lost its connection is there.
	if err := a.Engine.CutLock(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait(t, "the lock is gone", func() bool { return !a.Engine.Safe() })
	b := newHouse(t, opened(t, url, dir, quiet))
	if b.taken(ref) {
		t.Fatal("a process that lives was found dead")
	}
	if _, err := os.Stat(socket); err != nil {
		t.Errorf("the socket of a living process: %v", err)
	}
	if err := a.Engine.Abandon(); err != nil {
		t.Fatal(err)
	}
	c := newHouse(t, opened(t, url, dir, quiet))
	if !c.taken(ref) {
		t.Error("a start waits for its former leases")
	}
	left, err := filepath.Glob(filepath.Join(dir, "run", nameOf(a.owner())+".*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// runs runs the house's engine until the test or stop ends it.
func (h *house) runs() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		if err := h.Engine.Run(ctx); err != nil {
			h.Errorf("run: %v", err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); done.Wait() })
	h.Cleanup(stop)
	return stop
}

func TestEngineIsUnsafeWhileItsLockIsLost(t *testing.T) {
	t.Parallel()
	var log testkit.Log
	h := newHouse(t, opened(t, storetest.PostgresURL(t), t.TempDir(), slog.New(slog.NewTextHandler(&log, nil))))
	guarded, done := h.Engine.Guard(t.Context())
	defer done()
	if err := h.Engine.CutLock(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait(t, "the lock is missed", func() bool { return !h.Engine.Safe() })
	// Neither a renewal without the lock nor the lock without a renewal is enough.
	h.renew()
	if h.Engine.Safe() {
		t.Error("safe without the lock")
	}
	late, over := h.Engine.Guard(t.Context())
	defer over()
	if late.Err() == nil {
		t.Error("something was begun without the lock")
	}
	h.runs()
	wait(t, "the lock is back", h.Engine.Safe)
	if guarded.Err() != nil {
		t.Error("what was under way was ended by a moment without the lock")
	}
	if n, err := count(t.Context(), h.DB, "SELECT count(*) FROM sb_lockers(?)", h.owner()); n != 1 || err != nil {
		t.Errorf("%d hold the lock, %v", n, err)
	}
	if log.Count("WARN") != 1 || log.Count("has its lock again") != 1 {
		t.Errorf("log:\n%s", log.String())
	}
}

package store_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router"
	"switchboard/store"
	"switchboard/store/storetest"
)

// promise: L.one-engine
func TestOneEngineOnSQLite(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	e, err := db.StartEngine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.StartEngine(t.Context())
	running, ok := errors.AsType[*store.EngineRunningError](err)
	if !ok || !errors.Is(err, store.ErrEngineRunning) || running.PID != os.Getpid() || running.Owner != e.ID() {
		t.Errorf("second engine: %v", err)
	}
	if !e.Safe() {
		t.Error("the engine is not safe")
	}
	e.Aged(time.Hour)
	if !e.Safe() {
		t.Error("SQLite's owner does not expire")
	}
	if err := e.Close(t.Context()); err != nil || e.Safe() {
		t.Errorf("close: %v, safe %v", err, e.Safe())
	}
	e, err = db.StartEngine(t.Context())
	if err != nil {
		t.Fatalf("after the first was closed: %v", err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// promise: L.start-voids-owners
func TestStartVoidsOlderOwners(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	old, err := db.StartEngine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h := housed(&storetest.House{T: t, DB: db, Router: db.Router(), Engine: old, Ctx: t.Context()})
	ref, hold := h.Begun("c", "1"), h.Hold()
	if err := old.Abandon(); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	h = newHouse(t, db)
	if _, err := h.r.Commit(h.ctx, ref, agent.Step{}, nil); !errors.Is(err, router.ErrFenced) {
		t.Errorf("the old engine commits: %v", err)
	}
	if _, _, err := h.r.Begin(h.ctx, hold, channels.Conversation{ID: "c"}); !errors.Is(err, router.ErrFenced) {
		t.Errorf("the old engine sends: %v", err)
	}
	list := h.Claim(5)
	if len(list) != 1 || list[0].TurnID != ref.TurnID || list[0].Fence <= ref.Fence || h.Hold().Fence <= hold.Fence {
		t.Errorf("claimed %+v", list)
	}
	storetest.Soon(t, time.Since(begun), 5*time.Second)
}

// promise: L.owner-expires
func TestExpiredOwnerOnPostgres(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	old, now := newHouse(t, db), newHouse(t, db)
	oldServer(t, db)
	steady(t, db)
	ref, hold := old.Begun("c", "1"), old.Hold()
	if list := now.Claim(5); len(list) != 0 {
		t.Fatalf("a living owner's session was claimed: %+v", list)
	}
	if _, ok, err := now.r.TakeChannel(now.ctx, now.owner(), "tg"); ok || err != nil {
		t.Fatalf("a living owner's channel was taken: %v", err)
	}
	expire := func() {
		if err := db.Write(t.Context(), true, "UPDATE owners SET expires_at = 1 WHERE id = (SELECT min(id) FROM owners)"); err != nil {
			t.Fatal(err)
		}
	}
	expire()
	// Late but not replaced: it goes on, but takes nothing new.
	old.Commit(ref, agent.Step{})
	if a := old.Accept(claiming(entry("d", "2", "")))[0]; a.Claimed != nil {
		t.Errorf("an expired owner claimed: %+v", a)
	}
	if err := old.engine.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list := now.Claim(5); len(list) != 1 || list[0].SessionID == ref.SessionID {
		t.Errorf("after a renewal: %+v", list)
	}
	expire()
	if list := now.Claim(5); len(list) != 1 || list[0].TurnID != ref.TurnID || list[0].Fence != ref.Fence+1 {
		t.Errorf("from an expired owner: %+v", list)
	}
	if h := now.Hold(); h.Fence != hold.Fence+1 {
		t.Errorf("channel: %+v after %+v", h, hold)
	}
	if _, err := old.r.Commit(t.Context(), ref, agent.Step{}, nil); !errors.Is(err, router.ErrFenced) {
		t.Errorf("a replaced engine commits: %v", err)
	}
}

func TestSafetyDeadlineOnPostgres(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	h := newHouse(t, db)
	if !h.engine.Safe() {
		t.Error("not safe after the start")
	}
	h.engine.Aged(11 * time.Second)
	if !h.engine.Safe() {
		t.Error("not safe 4 s before expiry")
	}
	h.engine.Aged(time.Second)
	if h.engine.Safe() {
		t.Error("safe 3 s before expiry")
	}
	if err := h.engine.Renew(t.Context()); err != nil || !h.engine.Safe() {
		t.Errorf("after a renewal: %v", err)
	}
	if err := db.Write(t.Context(), true, "UPDATE owners SET state = 'voided'"); err != nil {
		t.Fatal(err)
	}
	if err := h.engine.Renew(t.Context()); !errors.Is(err, store.ErrEngineLost) || h.engine.Safe() {
		t.Errorf("a voided owner: %v", err)
	}
}

func TestClocksThatLeap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		ran, wall time.Duration
		want      bool
	}{
		{"as it should be", 5 * time.Second, 5 * time.Second, true},
		{"late", 12 * time.Second, 12 * time.Second, false},
		{"the machine slept", time.Second, time.Hour, false},
		{"set forward, a little", time.Second, 3 * time.Second, true},
		{"set back a little", time.Second, -500 * time.Millisecond, true},
		{"set back", time.Second, -time.Hour, false},
		{"set back just so far that nothing seems to have passed", 13 * time.Second, 0, false},
	} {
		if got := store.SafeAfter(c.ran, c.wall); got != c.want {
			t.Errorf("%s: safe is %v", c.name, got)
		}
	}
}

func TestCloseGivesLeasesBack(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		e, err := db.StartEngine(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		h := housed(&storetest.House{T: t, DB: db, Router: db.Router(), Engine: e, Ctx: t.Context()})
		ref := h.Begun("c", "1")
		h.Hold()
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		h = newHouse(t, db)
		if list := h.Claim(1); len(list) != 1 || list[0].TurnID != ref.TurnID {
			t.Errorf("%+v", list)
		}
		h.Hold()
	})
}

func TestSweepAndRun(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	h := newHouse(t, db)
	ref := h.Begun("c", "1")
	h.Commit(ref, agent.Step{Calls: []agent.Call{{Step: "open", Answer: "a"}}})
	done := h.Begun("d", "2")
	step := end("done", "answered")
	step.Calls = []agent.Call{{Step: "closed", Answer: "b"}}
	h.Commit(done, step)
	db.SetNow(func() time.Time { return time.Now().Add(8 * 24 * time.Hour) })
	week := store.Retention{Turns: 100 * 24 * time.Hour, Strangers: time.Hour, Prompts: 7 * 24 * time.Hour, Audit: time.Hour}
	if _, err := h.engine.Sweep(t.Context(), week); err != nil {
		t.Fatal(err)
	}
	if n, err := db.Count(t.Context(), "SELECT count(*) FROM llm_bodies"); n != 1 || err != nil {
		t.Errorf("%d bodies after 8 days, %v", n, err)
	}
	if a := h.Accept(entry("c", "1", "again"))[0]; !a.Duplicate {
		t.Errorf("key forgotten after 8 days: %+v", a)
	}
	db.SetNow(func() time.Time { return time.Now().Add(31 * 24 * time.Hour) })
	again := entry("c", "1", "again")
	if a := h.Accept(again)[0]; !a.Duplicate {
		t.Errorf("the message is there still, by the platform's ID: %+v", a)
	}
	db.SetNow(func() time.Time { return time.Now().Add(62 * 24 * time.Hour) })
	again.Event.Message.ID = ""
	if a := h.Accept(again)[0]; a.Duplicate {
		t.Errorf("key kept for 31 days: %+v", a)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := h.engine.Run(ctx); err != nil {
		t.Errorf("run: %v", err)
	}
}

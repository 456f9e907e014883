package engines_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/store"
	"switchboard/store/engines"
	"switchboard/store/storetest"
)

func TestSecondEngineOnSQLiteIsRefused(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	e, err := engines.Start(t.Context(), db.DB, false)
	if err != nil {
		t.Fatal(err)
	}
	_, err = engines.Start(t.Context(), db.DB, false)
	running, ok := errors.AsType[*engines.RunningError](err)
	if !ok || !errors.Is(err, engines.ErrRunning) || running.PID != os.Getpid() || running.Owner != e.ID() {
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
	e, err = engines.Start(t.Context(), db.DB, false)
	if err != nil {
		t.Fatalf("after the first was closed: %v", err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestStartVoidsOlderOwners(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	old, err := engines.Start(t.Context(), db.DB, false)
	if err != nil {
		t.Fatal(err)
	}
	h := &house{&storetest.House{TB: t, DB: db, Router: db.Router(), Engine: old, Ctx: t.Context()}}
	ref, hold := h.Begun("c", "1"), h.Hold()
	if err := old.Abandon(); err != nil {
		t.Fatal(err)
	}
	h = newHouse(t, db)
	if _, err := h.Router.Commit(h.Ctx, ref, agent.Step{}, nil); !errors.Is(err, core.ErrFenced) {
		t.Errorf("the old engine commits: %v", err)
	}
	if _, _, err := h.Router.Begin(h.Ctx, hold, channels.Conversation{ID: "c"}); !errors.Is(err, core.ErrFenced) {
		t.Errorf("the old engine sends: %v", err)
	}
	list := h.Claim(5)
	if len(list) != 1 || list[0].TurnID != ref.TurnID || list[0].Fence <= ref.Fence || h.Hold().Fence <= hold.Fence {
		t.Errorf("claimed %+v", list)
	}
}

func TestExpiredOwnerOnPostgresIsTakenOver(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	old, now := newHouse(t, db), newHouse(t, db)
	oldServer(t, db)
	inTime(t, db)
	ref, hold := old.Begun("c", "1"), old.Hold()
	if list := now.Claim(5); len(list) != 0 {
		t.Fatalf("a living owner's session was claimed: %+v", list)
	}
	if _, ok, err := now.Router.TakeChannel(now.Ctx, now.owner(), "tg"); ok || err != nil {
		t.Fatalf("a living owner's channel was taken: %v", err)
	}
	expire := func() {
		run(t, db, "UPDATE owners SET expires_at = 1 WHERE id = (SELECT min(id) FROM owners)")
	}
	expire()
	// Late but not replaced: it goes on, but takes nothing new.
	old.Commit(ref, agent.Step{})
	if a := old.Accept(claiming(entry("d", "2", "")))[0]; a.Claimed != nil {
		t.Errorf("an expired owner claimed: %+v", a)
	}
	if err := old.Engine.Renew(t.Context()); err != nil {
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
	if _, err := old.Router.Commit(t.Context(), ref, agent.Step{}, nil); !errors.Is(err, core.ErrFenced) {
		t.Errorf("a replaced engine commits: %v", err)
	}
}

func TestEngineOnPostgresIsUnsafeWhenNotRenewed(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	h := newHouse(t, db)
	if !h.Engine.Safe() {
		t.Error("not safe after the start")
	}
	h.Engine.Aged(11 * time.Second)
	if !h.Engine.Safe() {
		t.Error("not safe 4 s before expiry")
	}
	h.Engine.Aged(time.Second)
	if h.Engine.Safe() {
		t.Error("safe 3 s before expiry")
	}
	if err := h.Engine.Renew(t.Context()); err != nil || !h.Engine.Safe() {
		t.Errorf("after a renewal: %v", err)
	}
	run(t, db, "UPDATE owners SET state = 'voided'")
	if err := h.Engine.Renew(t.Context()); !errors.Is(err, engines.ErrLost) || h.Engine.Safe() {
		t.Errorf("a voided owner: %v", err)
	}
}

func TestRenewalIsUnsafeWhenTheClockLeapt(t *testing.T) {
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
		if got := engines.SafeAfter(c.ran, c.wall); got != c.want {
			t.Errorf("%s: safe is %v", c.name, got)
		}
	}
}

func TestCloseGivesLeasesBack(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		e, err := engines.Start(t.Context(), db.DB, false)
		if err != nil {
			t.Fatal(err)
		}
		h := &house{&storetest.House{TB: t, DB: db, Router: db.Router(), Engine: e, Ctx: t.Context()}}
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

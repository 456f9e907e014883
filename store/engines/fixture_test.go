package engines_test

import (
	"log/slog"
	"strconv"
	"testing"
	"time"

	"switchboard/internal/testkit"
	"switchboard/router/core"
	"switchboard/store"
	"switchboard/store/engines"
	"switchboard/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

var quiet = slog.New(slog.DiscardHandler)

type house struct{ *storetest.House }

// newHouse is a house whose engine expires as soon as the program's does.
func newHouse(t testing.TB, db *store.DB) *house {
	t.Helper()
	h := storetest.NewOwn[house](t, db)
	h.renew()
	return h
}

// doomed is a house whose engine is never closed.
func doomed(t testing.TB, db *store.DB) *house {
	t.Helper()
	e, err := engines.Start(t.Context(), db.DB, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Abandon() }) // once more, for most
	return &house{&storetest.House{TB: t, DB: db, Router: db.Router(), Engine: e, Ctx: t.Context()}}
}

func (h *house) owner() int64 { return h.Engine.ID() }

func (h *house) renew() {
	h.Helper()
	if err := h.Engine.Renew(h.Ctx); err != nil {
		h.Fatal(err)
	}
}

func (h *house) load(ref core.TurnRef) *core.TurnData {
	h.Helper()
	d, err := h.Router.Load(h.Ctx, ref)
	if err != nil {
		h.Fatalf("load: %v", err)
	}
	return d
}

func nameOf(id int64) string { return strconv.FormatInt(id, 10) }

var (
	entry       = storetest.Entry
	claiming    = storetest.Claiming
	opened      = storetest.Opened
	end         = storetest.End
	count       = storetest.Count
	run         = storetest.Exec
	oldServer   = storetest.OldServer
	serverClock = storetest.ServerClock
)

func wait(t testing.TB, what string, done func() bool) {
	t.Helper()
	testkit.Await(t, what, 10*time.Second, done)
}

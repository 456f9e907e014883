package engines_test

import (
	"context"
	"log/slog"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"switchboard/router/ledger"
	"switchboard/store"
	"switchboard/store/database"
	"switchboard/store/engines"
	"switchboard/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.AtOnce(8) // they wait for owners to expire, and for servers that are away
	goleak.VerifyTestMain(m)
}

var quiet = slog.New(slog.DiscardHandler)

// house is a storetest.House with short names.
type house struct {
	*storetest.House
	db     *store.DB
	r      *store.Router
	engine *engines.Engine
	ctx    context.Context
}

func newHouse(t testing.TB, db *store.DB) *house {
	t.Helper()
	return housed(storetest.NewHouse(t, db))
}

func housed(h *storetest.House) *house { return &house{h, h.DB, h.Router, h.Engine, h.Ctx} }

// doomed is a house whose engine is never closed.
func doomed(t testing.TB, db *store.DB) *house {
	t.Helper()
	e, err := engines.Start(t.Context(), db.DB, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Abandon() }) // once more, for most
	return housed(&storetest.House{TB: t, DB: db, Router: db.Router(), Engine: e, Ctx: t.Context()})
}

func (h *house) owner() int64 { return h.engine.ID() }

func (h *house) renew() {
	h.Helper()
	if err := h.engine.Renew(h.ctx); err != nil {
		h.Fatal(err)
	}
}

func (h *house) load(ref ledger.TurnRef) *ledger.TurnData {
	h.Helper()
	d, err := h.r.Load(h.ctx, ref)
	if err != nil {
		h.Fatalf("load: %v", err)
	}
	return d
}

func nameOf(id int64) string { return strconv.FormatInt(id, 10) }

// count runs a query that gives one number.
func count(db *store.DB, ctx context.Context, query string, args ...any) (n int64, err error) { //nolint:revive // as a method of db
	err = db.Read(ctx, "count", func(t *database.Tx) error {
		_, err := t.Row(query, args, &n)
		return err
	})
	return n, err
}

var (
	entry       = storetest.Entry
	claiming    = storetest.Claiming
	opened      = storetest.Opened
	end         = storetest.End
	run         = storetest.Exec
	wait        = storetest.Wait
	oldServer   = storetest.OldServer
	serverClock = storetest.ServerClock
)

type notes = storetest.Notes

package store_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"switchboard/channels"
	"switchboard/internal/testkit"
	"switchboard/router/ledger"
	"switchboard/store"
	"switchboard/store/storetest"
)

func TestMain(m *testing.M) {
	testkit.Main(m, 8) // they wait for owners to expire, and for servers that are away
}

type house struct{ *storetest.House }

func newHouse(t testing.TB, db *store.DB) *house {
	t.Helper()
	return &house{storetest.NewHouse(t, db)}
}

// each runs a test on both databases, in parallel with others.
func each(t *testing.T, test func(t *testing.T, h *house)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) { test(t, newHouse(t, db)) })
}

func (h *house) owner() int64 { return h.Engine.ID() }

// wantCount wants the query to count so many rows.
func (h *house) wantCount(want int, query string) {
	h.Helper()
	if n, err := storetest.Count(h.Ctx, h.DB, query); err != nil || n != int64(want) {
		h.Errorf("%s: %d, %v; want %d", query, n, err, want)
	}
}

func (h *house) giveBack(ref ledger.TurnRef) {
	h.Helper()
	if err := h.Router.GiveBack(h.Ctx, ref); err != nil {
		h.Fatalf("give back: %v", err)
	}
}

func (h *house) cancel(turn int64) {
	h.Helper()
	if _, err := h.Router.Cancel(h.Ctx, turn, ledger.LocalActor("owner")); err != nil {
		h.Fatalf("cancel: %v", err)
	}
}

var (
	entry    = storetest.Entry
	claiming = storetest.Claiming
	opened   = storetest.Opened
	end      = storetest.End
	run      = storetest.Exec
)

func control(e ledger.Entry, effect ledger.Effect, reply string) ledger.Entry {
	as := &ledger.ControlIntent{Effect: effect}
	if e.Intent = as; effect == ledger.EffectCancel {
		e.Say = says(map[ledger.Outcome]*ledger.Reply{ledger.OutcomeIdle: text(reply), ledger.OutcomeDropped: text("dropped")})
	} else {
		as.Reply = text(reply)
	}
	return e
}

// limited is e where so many turns may wait.
func limited(e ledger.Entry, turns int) ledger.Entry {
	e.Turn().QueueLimit = turns
	e.Say = says(map[ledger.Outcome]*ledger.Reply{ledger.OutcomeBusy: text("full")})
	return e
}

// says are the replies of an entry, by what became of it.
func says(replies map[ledger.Outcome]*ledger.Reply) func(*ledger.Accepted) *ledger.Reply {
	return func(a *ledger.Accepted) *ledger.Reply { return replies[a.Outcome] }
}

func text(s string) *ledger.Reply {
	return &ledger.Reply{Text: s, Parts: []channels.Body{{Text: s}}, Notice: true}
}

// random is a text that does not compress.
func random(n int) string {
	var b strings.Builder
	for x := uint64(1); b.Len() < n; {
		x = x*6364136223846793005 + 1442695040888963407
		fmt.Fprintf(&b, "%x", x)
	}
	return b.String()
}

func nameOf(id int64) string { return strconv.FormatInt(id, 10) }

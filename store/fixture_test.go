package store_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"switchboard/channels"
	"switchboard/internal/testkit"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/router/people"
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

func (h *house) giveBack(ref core.TurnRef) {
	h.Helper()
	if err := h.Router.GiveBack(h.Ctx, ref); err != nil {
		h.Fatalf("give back: %v", err)
	}
}

func (h *house) cancel(turn int64) {
	h.Helper()
	if _, err := h.Router.Cancel(h.Ctx, turn, people.LocalActor("owner")); err != nil {
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

func control(e intake.Entry, effect intake.Effect, reply string) intake.Entry {
	as := &intake.ControlIntent{Effect: effect}
	if e.Intent = as; effect == intake.EffectCancel {
		e.Say = says(map[intake.Outcome]*outbox.Reply{intake.OutcomeIdle: text(reply), intake.OutcomeDropped: text("dropped")})
	} else {
		as.Reply = text(reply)
	}
	return e
}

// limited is e where so many turns may wait.
func limited(e intake.Entry, turns int) intake.Entry {
	e.Turn().QueueLimit = turns
	e.Say = says(map[intake.Outcome]*outbox.Reply{intake.OutcomeBusy: text("full")})
	return e
}

// says are the replies of an entry, by what became of it.
func says(replies map[intake.Outcome]*outbox.Reply) func(*intake.Accepted) *outbox.Reply {
	return func(a *intake.Accepted) *outbox.Reply { return replies[a.Outcome] }
}

func text(s string) *outbox.Reply {
	return &outbox.Reply{Text: s, Parts: []channels.Body{{Text: s}}, Notice: true}
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

package store_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"switchboard/channels"
	"switchboard/router/ledger"
	"switchboard/store"
	"switchboard/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.AtOnce(8) // they wait for owners to expire, and for servers that are away
	goleak.VerifyTestMain(m)
}

type house struct{ *storetest.House }

func newHouse(t testing.TB, db *store.DB) *house {
	t.Helper()
	return &house{storetest.NewHouse(t, db)}
}

func (h *house) owner() int64 { return h.Engine.ID() }

var (
	entry    = storetest.Entry
	claiming = storetest.Claiming
	opened   = storetest.Opened
	end      = storetest.End
	run      = storetest.Exec
	wait     = storetest.Wait
)

func control(e ledger.Entry, effect ledger.Effect, reply string) ledger.Entry {
	as := &ledger.AsControl{Effect: effect}
	if e.As = as; effect == ledger.EffectCancel {
		e.Replies = map[ledger.Situation]*ledger.Reply{ledger.SituationIdle: text(reply), ledger.SituationDropped: text("dropped")}
	} else {
		as.Reply = text(reply)
	}
	return e
}

// limited is e where so many turns may wait.
func limited(e ledger.Entry, turns int) ledger.Entry {
	e.Turn().QueueLimit = turns
	e.Replies = map[ledger.Situation]*ledger.Reply{ledger.SituationBusy: text("full")}
	return e
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

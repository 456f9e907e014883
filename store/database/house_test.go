package database_test

import (
	"log/slog"
	"testing"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/internal/testkit"
	"switchboard/router/ledger"
	"switchboard/store/storetest"
)

func TestMain(m *testing.M) {
	testkit.Main(m, 8)
}

var (
	quiet = slog.New(slog.DiscardHandler)
	run   = storetest.Exec
)

// opening is an answer of two parts that is to begin at once.
func opening(hold ledger.Lease, conv channels.ConversationID) (agent.Step, ledger.Reply) {
	step := storetest.End("done", "answered")
	step.Say = []agent.Say{{Text: "found", Position: -1}}
	return step, ledger.Reply{
		Text: "found", Parts: []channels.Body{{Text: "found1"}, {Text: "found2"}},
		Open: &ledger.Opening{Lease: hold, Conversation: channels.Conversation{ID: conv}},
	}
}

// opens commits one, and returns what was begun.
func opens(h *storetest.House, ref ledger.TurnRef, hold ledger.Lease, conv channels.ConversationID) *ledger.Delivery {
	step, reply := opening(hold, conv)
	h.Commit(ref, step, reply)
	return reply.Open.Begun
}

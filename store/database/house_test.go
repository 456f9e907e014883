package database_test

import (
	"log/slog"
	"testing"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/internal/testkit"
	"switchboard/router/core"
	"switchboard/router/outbox"
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
func opening(hold outbox.Lease, conv channels.ConversationID) (agent.Step, outbox.Reply) {
	step := storetest.End("done", "answered")
	step.Say = []agent.Say{{Text: "found", Position: -1}}
	return step, outbox.Reply{
		Text: "found", Parts: []channels.Body{{Text: "found1"}, {Text: "found2"}},
		Open: &outbox.Opening{Lease: hold, Conversation: channels.Conversation{ID: conv}},
	}
}

// opens commits one, and returns what was begun.
func opens(h *storetest.House, ref core.TurnRef, hold outbox.Lease, conv channels.ConversationID) *outbox.Delivery {
	step, reply := opening(hold, conv)
	h.Commit(ref, step, reply)
	return reply.Open.Begun
}

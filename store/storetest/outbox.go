package storetest

import (
	"slices"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/router/sessions"
)

// All is everybody of whom something is listed.
var All = sessions.Whose{All: true}

// Asks says questions in a turn of the conversation, which then ends.
func (h *House) Asks(conv, key string, questions ...outbox.Reply) {
	h.Helper()
	step := End("done", "asked")
	for _, q := range questions {
		step.Say = append(step.Say, agent.Say{Text: q.Text, Position: -1, Taint: q.Taint})
	}
	h.Commit(h.Begun(conv, key), step, questions...)
}

// Tomorrow is in 24 hours.
func Tomorrow() time.Time { return time.Now().Add(24 * time.Hour) }

// Parts are the states of a conversation's deliveries, oldest first.
func (h *House) Parts() (states []string) {
	h.Helper()
	list, err := h.Router.Deliveries(h.Ctx, All, "", 100)
	if err != nil {
		h.Fatal(err)
	}
	for _, d := range slices.Backward(list) {
		states = append(states, d.State+" "+d.Outcome)
	}
	return states
}

// Says lets a turn of conversation c1 say a message in so many parts, and ends it.
func (h *House) Says(key string, parts ...string) int64 {
	h.Helper()
	ref := h.Begun("c1", key)
	reply := outbox.Reply{Text: key}
	for _, p := range parts {
		reply.Parts = append(reply.Parts, channels.Body{Text: p})
	}
	h.Commit(ref, agent.Step{Say: []agent.Say{{Position: -1, Text: key}}, End: &agent.End{State: "done", Outcome: "answered"}}, reply)
	return ref.TurnID
}

// SettleNext begins the next delivery of conversation c1 and settles it.
func (h *House) SettleNext(hold outbox.Lease, s outbox.Settlement) *outbox.Delivery {
	h.Helper()
	d := h.Begin(hold, "c1")
	if d == nil {
		h.Fatal("nothing to send")
	}
	h.Settle(hold, d, s)
	return d
}

// What may become of a delivery.
var (
	Dead      = outbox.Settlement{State: outbox.DeliveryDead, Outcome: "refused"}
	Sent      = outbox.Settlement{State: outbox.DeliverySent, PlatformID: "p"}
	Uncertain = outbox.Settlement{State: outbox.DeliveryUnknown, Outcome: "no_answer"}
	Lost      = outbox.Settlement{State: outbox.DeliveryUnknown, Outcome: "cannot_ask", Final: true}
	Repeat    = outbox.Settlement{State: outbox.DeliveryPending, Outcome: "repeat", Repeated: true, Body: &channels.Body{Text: "(repeated) a"}}
)

// SaidIn is a step that says one text in two parts, and ends the turn if it is so.
func SaidIn(text string, draft int64, ends bool) (agent.Step, outbox.Reply) {
	step := agent.Step{Say: []agent.Say{{Text: text, Position: -1}}}
	if ends {
		step.End = &agent.End{State: "done", Outcome: "answered"}
	}
	return step, outbox.Reply{Text: text, Draft: draft, Parts: []channels.Body{
		{Text: text + "1", Rich: []byte(`{"b":1}`), Buttons: []channels.Button{{Label: "ok", Code: "x"}}}, {Text: text + "2"},
	}}
}

// Gone records that a conversation is closed; it is true the first time.
func (h *House) Gone(hold outbox.Lease, conv channels.ConversationID) bool {
	h.Helper()
	first, err := h.Router.Gone(h.Ctx, hold, channels.Conversation{ID: conv})
	if err != nil {
		h.Fatalf("gone: %v", err)
	}
	return first
}

// Opens commits an answer that is to begin at once, and returns what was begun.
func (h *House) Opens(ref core.TurnRef, hold outbox.Lease, conv channels.ConversationID, draft int64) *outbox.Delivery {
	h.Helper()
	step, reply := SaidIn("found", draft, true)
	reply.Open = &outbox.Opening{Lease: hold, Conversation: channels.Conversation{ID: conv}}
	h.Commit(ref, step, reply)
	return reply.Open.Begun
}

package router

import (
	"switchboard/agent"
	"switchboard/router/ledger"
)

// retryTakes answers a /retry with something behind it.
const retryTakes = "/retry takes nothing behind it, so I did nothing: alone it tries your latest message again, as a reply to a message that one. What you want otherwise, just write to me."

// retry makes the entry of /retry: a turn that takes its place in the queue.
func (s *sorting) retry(entry sorted, line *channel, person *ledger.Person, args string) sorted {
	if reason, refused := s.refuseFast(&entry, person, 1); refused {
		return line.noticed(entry, reason)
	}
	if args != "" {
		return line.noticed(entry, retryTakes)
	}
	m := &entry.Event.Message
	// What is replied to only says which turn is meant.
	m.Quote = ""
	entry.Taint = taintOf(*m)
	turn := s.turn(entry.Event, line)
	turn.Retry = &ledger.Retry{Of: m.ReplyTo}
	entry.As = &turn
	return entry
}

// lost says that a retry has nothing to do again.
func lost(d *ledger.TurnData) bool {
	m := &d.Turn.Message
	return d.Retry && blank(m.Text) && blank(m.Quote) && len(m.Passed)+len(m.Attachments) == 0
}

// lostEnd ends a retry whose message was taken back, or is kept no more.
func lostEnd() agent.Step {
	return agent.Step{
		Say: []agent.Say{{Position: -1, Notice: true, Text: situationTexts[ledger.RetryForgotten]}},
		End: &agent.End{State: "failed", Outcome: "nothing_to_retry"},
	}
}

package router

import (
	"fmt"

	"switchboard/agent"
	"switchboard/router/ledger"
)

var situationTexts = map[ledger.Situation]string{
	ledger.SituationIdle:    "There is nothing of yours to cancel here.",
	ledger.SituationDropped: "Cancelled before it began.",
	ledger.RetryNone:        "There is nothing of yours that I could try again here. Just write to me what you would like.",
	ledger.RetryUnclear:     "I do not know what to try again. Reply with /retry to a message of yours, or to my answer to it; without a reply it means your latest.",
	ledger.RetryOpen:        "I am still on it; /status shows where I am. To begin anew, first /cancel and then /retry.",
	ledger.RetryNotYours:    "Somebody else asked for that, so only they can have it tried again.",
	ledger.RetryForgotten:   "I no longer have that message. Please write it again.",
	ledger.ChoiceLeft:       "All right, I leave it.",
	ledger.EditTooLate:      "I had answered that before you changed it. Write it anew, or reply /retry to it, if you want another answer.",
}

// situationText is what is said in a situation.
func (r *Router) situationText(s ledger.Situation) string {
	if s == ledger.SituationBusy {
		return fmt.Sprintf("I am still busy with %d earlier messages of yours, so I did not take this one. "+
			"Please send it again later; /status shows where I am and /cancel stops the one I am on.", r.Config.QueuePerSession)
	}
	return situationTexts[s]
}

// retryTakes says how /retry is told what it means, to who wrote something behind it.
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

package router

import (
	"cmp"
	"fmt"

	"switchboard/channels/render"
	"switchboard/router/approvals"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/router/people"
	"switchboard/router/turns"
)

// outcomeTexts are what is said in outcomes that only a transaction knows.
var outcomeTexts = map[intake.Outcome]string{
	intake.OutcomeIdle:    "There is nothing of yours to cancel here.",
	intake.OutcomeDropped: "Cancelled.",
	intake.ResetAsked:     "Forgotten; what /memory lists stays. I drop what was waiting for a permission. If I am at other work here, I go on; /cancel stops that.",
	intake.RetryNone:      "There is nothing of yours that I could try again here. Just write to me what you would like.",
	intake.RetryUnknown:   "I do not know what to try again. Reply with /retry to a message of yours, or to my answer to it; without a reply it means your latest.",
	intake.RetryOpen:      "I am still on it; /status shows where I am. To start again, write /cancel, then /retry.",
	intake.RetryNotYours:  "Somebody else asked for that, so only they can have it tried again.",
	intake.RetryForgotten: turns.Forgotten,
	intake.ChoiceLeft:     "All right, I'll leave it.",
	intake.EditAsked:      "I asked for permission to do what you had written before, so your change has no effect. If you want something else, write /cancel, then write your message again.",
	intake.EditTooLate:    "I had answered that before you changed it. If you want another answer, write it again, or reply /retry to it.",
}

// say renders what is said of what became of an entry; nil: nothing is. It is called in the transaction.
func (r *Router) say(e *classified, a *intake.Accepted) *outbox.Reply {
	switch {
	case a.Outcome == "", a.Outcome == e.unsaid, a.Outcome == people.LinkAsked: // the questions say it
		return nil
	case a.Outcome == people.PairingAsked:
		return e.asked
	case a.Outcome == intake.ChangeRefused:
		return e.line.Notice(e.Event, render.Escape(a.Refusal))
	}
	return e.line.Notice(e.Event, r.saidOf(a))
}

// saidOf is what is said of what became of an entry.
func (r *Router) saidOf(a *intake.Accepted) string {
	if a.Outcome == people.PairingDone {
		return admitted(render.Escape(a.Admitted))
	}
	return r.outcomeText(a.Outcome)
}

func admitted(name string) string { return name + " can write to me now, as a user. I tell them so." }

// outcomeText is what is said in an outcome.
func (r *Router) outcomeText(s intake.Outcome) string {
	if s == intake.OutcomeBusy {
		return fmt.Sprintf("I am still busy with %d earlier messages here, so I did not take this one. "+
			"Please send it again later; /status shows where I am and /cancel stops the one I am on.", r.settings().Config.QueuePerSession)
	}
	return cmp.Or(outcomeTexts[s], people.Texts[s], approvals.Texts[s])
}

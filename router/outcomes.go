package router

import (
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
	intake.OutcomeIdle:     "There is nothing of yours to cancel here.",
	intake.OutcomeDropped:  "Cancelled.",
	intake.ResetAsked:      "Forgotten. I drop what was waiting for a permission. If I am at other work here, I go on; /cancel stops that.",
	intake.RetryNone:       "There is nothing of yours that I could try again here. Just write to me what you would like.",
	intake.RetryUnknown:    "I do not know what to try again. Reply with /retry to a message of yours, or to my answer to it; without a reply it means your latest.",
	intake.RetryOpen:       "I am still on it; /status shows where I am. To start again, write /cancel, then /retry.",
	intake.RetryNotYours:   "Somebody else asked for that, so only they can have it tried again.",
	intake.RetryForgotten:  turns.Forgotten,
	intake.ChoiceLeft:      "All right, I'll leave it.",
	people.ClaimDone:       "Welcome! You are an admin here from now on, and the code is used up. Just write to me; /whoami says what you may do, and /help what I can.",
	people.ClaimWrong:      "There is no such code. \"switchboard person claim\", on the machine that I run on, prints one.",
	people.ClaimUsed:       "That code is no longer valid: it, or a newer one, has been used. \"switchboard person claim\", on the machine that I run on, prints another.",
	people.ClaimExpired:    "That code is too old. \"switchboard person claim\", on the machine that I run on, prints another.",
	people.ClaimNeedless:   "You are an admin already, so I did not use up the code: it still works for somebody else.",
	people.ClaimByFile:     "My settings file lists you, so only it says what you may do: write role = \"admin\" beside your name in [[people]].",
	people.PairingRefused:  "Refused. I won't tell them. They get no new code for a day.",
	people.LinkWrong:       "That code is not valid. Write /link on your other account for a new one. A code works once, for ten minutes, and a newer one replaces it.",
	people.LinkSame:        "That code was made by you, and is for your other account: send it to me from there.",
	people.LinkByFile:      "My settings file lists you here, so I cannot link from this side. Write /link here, and send me the code from your other account.",
	people.LinkAdmin:       "You are an admin here, and this would end that. Write /link here, and send me the code from your other account.",
	people.LinkDone:        linkDone,
	people.LinkHalf:        "Confirmed here. Please confirm it on your other account too. After that I know you on both.",
	people.LinkAllowed:     linkJoined,
	people.LinkDenied:      "Denied, so I did nothing.",
	approvals.Allowed:      "Allowed. I'll do it now.",
	approvals.Denied:       "Denied. I won't do it, and I'll say so in the chat that asked.",
	approvals.ByButton:     "A yes or no in words is not enough for this: please press the button, or write the command with the code that stands in the question.",
	approvals.Unknown:      "There is no question with that code in this chat. Write the code in the chat where I asked.",
	approvals.NotYours:     "Only admins may decide that.",
	approvals.Over:         "That question is not open any more: it was decided, nobody answered in time, or the work it was about was cancelled.",
	approvals.OnceOnly:     "That can be allowed once only, as the question says: write nothing after the code.",
	approvals.GrantRevoked: "Taken back: from now on I ask again.",
	approvals.GrantUnknown: "None of your permissions has that number. /grants lists them.",
	intake.EditAsked:       "I asked for permission to do what you had written before, so your change has no effect. If you want something else, write /cancel, then write your message again.",
	intake.EditTooLate:     "I had answered that before you changed it. If you want another answer, write it again, or reply /retry to it.",
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
	return outcomeTexts[s]
}

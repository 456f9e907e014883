package router

import (
	"switchboard/agent"
	"switchboard/channels"
)

// A Retry asks for the work of an ended turn to be done again.
type Retry struct {
	// Of is the message of the turn that is meant, theirs or ours; empty: the person's
	// newest turn in the session.
	Of channels.MessageID
	// Turn is the turn itself, where a choice names it; 0: none does.
	Turn int64
}

// A Does is what a choice does besides saying its text.
type Does string

const (
	DoesSay   Does = ""      // its text becomes a turn
	DoesRetry Does = "retry" // it becomes a turn that does again the work of the turn that asked
	DoesLeave Does = "leave" // it is answered by ChoiceLeft
)

// A Situation is something that is known in a transaction alone, and said by
// Entry.Tell.
type Situation string

const (
	RetryNone      Situation = "retry_none"      // the person has no turn here
	RetryUnclear   Situation = "retry_unclear"   // the message replied to is of no turn
	RetryOpen      Situation = "retry_open"      // the turn has not ended yet
	RetryNotYours  Situation = "retry_not_yours" // it is another person's
	RetryForgotten Situation = "retry_forgotten" // the conversation was reset since, or the message is kept no more
	ChoiceLeft     Situation = "choice_left"     // the person wants nothing to be done
	EditTooLate    Situation = "edit_too_late"   // the edited message was answered before
)

var situationTexts = map[Situation]string{
	RetryNone:      "There is nothing of yours that I could try again here. Just write to me what you would like.",
	RetryUnclear:   "I do not know what to try again. Reply with /retry to a message of yours, or to my answer to it; without a reply it means your latest.",
	RetryOpen:      "I am still on it; /status shows where I am. To begin anew, first /cancel and then /retry.",
	RetryNotYours:  "Somebody else asked for that, so only they can have it tried again.",
	RetryForgotten: "I no longer have that message. Please write it again.",
	ChoiceLeft:     "All right, I leave it.",
	EditTooLate:    "I had answered that before you changed it. Write it anew, or reply /retry to it, if you want another answer.",
}

// tell is Entry.Tell.
func (l *line) tell(event channels.Event, s Situation) *Reply {
	return l.notice(event, situationTexts[s])
}

// retryTakes says how /retry is told what it means, to who wrote something behind it.
const retryTakes = "/retry takes nothing behind it, so I did nothing: alone it tries your latest message again, as a reply to a message that one. What you want otherwise, just write to me."

// retry makes the entry of /retry: a turn that takes its place in the queue.
func (s *sorting) retry(entry Entry, line *line, person *Person, args string) Entry {
	if reason, refused := s.hurried(&entry, person, 1); refused {
		return line.noticed(entry, reason)
	}
	if args != "" {
		return line.noticed(entry, retryTakes)
	}
	m := &entry.Event.Message
	entry.Class, entry.Retry = ClassTurn, &Retry{Of: m.ReplyTo}
	// What is replied to only says which turn is meant.
	m.Quote = ""
	entry.Taint = taintOf(*m)
	s.queue(&entry, line)
	return entry
}

// lost says that a retry has nothing to do again.
func (d *TurnData) lost() bool {
	m := &d.Turn.Message
	return d.Retry && blank(m.Text) && blank(m.Quote) && len(m.Passed)+len(m.Attachments) == 0
}

// lostEnd ends a retry whose message was taken back, or is kept no more.
func lostEnd() agent.Step {
	return agent.Step{
		Say: []agent.Say{{Position: -1, Notice: true, Text: situationTexts[RetryForgotten]}},
		End: &agent.End{State: "failed", Outcome: "nothing_to_retry"},
	}
}

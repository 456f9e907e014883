package router

import (
	"switchboard/channels"
	"switchboard/router/ledger"
)

// ownText says that a message is what the person typed and nothing else, so that it
// may be a command, a stop word or a choice. Whether there is a question it answers is
// known in the transaction.
func ownText(m channels.Message) bool { return len(m.Attachments) == 0 && !m.Outside() }

// press makes the entry of a button that a known person pressed.
func (s *sorting) press(entry sorted, line *channel, person *ledger.Person) sorted {
	// The message is ours, and the person wrote none.
	entry.Event.Message = channels.Message{}
	if tooFast, tell := s.tooFast(&entry, person.Name, 1); tooFast {
		text := ""
		if tell {
			text = "You are faster than I am: I take " + s.Config.RatePerson + " messages of one person. Please wait a little and press again."
		}
		return line.noticed(entry, text)
	}
	entry.As = &ledger.AsAction{Code: ledger.HashCode(entry.Event.Action.Code), Turn: s.turn(entry.Event, line)}
	return entry
}

// Toasts: what whoever pressed a button is shown.
const (
	toastAnswered = "That question was answered already."
	toastNotYours = "This is not for you."
	toastExpired  = "This choice has expired."
	toastUnknown  = "This button does not work any more."
	toastBusy     = "I am busy. Please press again later."
	toastTooFast  = "Slow down a little, please, and press again."
)

// pressed says what to show whoever pressed a button, and takes the buttons away
// that can do nothing any more.
func (l *channel) pressed(entry *sorted, acc *ledger.Accepted) (toast string) {
	_, taken := entry.As.(*ledger.AsAction)
	switch {
	case entry.kept(ledger.AuditRejected):
		return toastUnknown
	case acc.NotYours:
		return toastNotYours
	case !taken:
		return toastTooFast
	case acc.Situation == ledger.SituationBusy:
		return toastBusy
	case acc.TurnID != 0 || acc.Situation != "":
		toast = ""
	case acc.Action == "":
		toast = toastUnknown
	case acc.Action == ledger.ActionExpired:
		toast = toastExpired
	default:
		toast = toastAnswered
	}
	// What the press says can be made up, so that only buttons known to be used up go.
	l.Unbutton(entry.Event.Conversation, acc.Question)
	return toast
}

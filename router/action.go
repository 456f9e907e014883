package router

import (
	"cmp"
	"context"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/router/outbox/delivery"
	"switchboard/router/people"
	"switchboard/scheduler"
)

// press makes the entry of a button that a known person pressed.
func (s *classifier) press(entry classified, line *channel, person *core.Person) classified {
	// The message is ours, and the person wrote none.
	entry.Event.Message = channels.Message{ID: entry.Event.Message.ID, Metadata: entry.Event.Message.Metadata}
	if tooFast, notify := s.tooFast(&entry, person.Name, 1); tooFast {
		text := ""
		if notify {
			text = "That was too fast: I read " + delivery.RateWords(s.Config.RatePerson) + ". Please press again in a moment."
		}
		return line.noticed(entry, text)
	}
	entry.Intent = &intake.ActionIntent{Code: outbox.HashCode(entry.Event.Action.Code), Turn: s.turn(entry.Event)}
	entry.typed = func(ctx context.Context, entry classified, text string) (classified, error) {
		return s.give(ctx, entry, line, person, text)
	}
	return entry
}

// answers has what was typed give the command that it is known to answer. Where a time was asked for, and it is none
// or a wish of its own, it is a message like any other.
func (s *classifier) answers(entry *classified, line *channel, person *core.Person, turn intake.TurnIntent) {
	said := strings.TrimSpace(entry.Event.Message.Text)
	entry.typed = func(ctx context.Context, entry classified, text string) (classified, error) {
		if strings.HasSuffix(text, " ") {
			if when, _ := scheduler.Find(said, time.Now(), "UTC"); !when.Timed || !when.Leading || when.Spoken {
				turn.Choice = false
				entry.Intent, entry.Button = &turn, nil
				return entry, nil
			}
			text += said
		}
		return s.give(ctx, entry, line, person, text)
	}
}

// give makes the entry of a command that a button gives, as if whoever pressed it had typed
// it there. The press was counted.
func (s *classifier) give(ctx context.Context, entry classified, line *channel, person *core.Person, text string) (classified, error) {
	entry.Event.Message.Text = "/" + text
	name, args, _ := commands.In(entry.Event.Message.Text)
	return caught(entry, func() (classified, error) { return s.order(ctx, entry, line, person, name, args) })
}

// decisionToasts say what became of an approval by a press.
var decisionToasts = map[outbox.ActionState]string{
	outbox.ActionAccepted:  "Allowed. I'll do it now.",
	outbox.ActionRejected:  "Denied.",
	outbox.ActionExpired:   "That took too long, so it is denied.",
	outbox.ActionCancelled: "That question is not open any more.",
	"":                     "That can be allowed once only.",
}

// pressed says what to show who pressed a button, and takes the buttons away
// that can do nothing any more.
func (l *channel) pressed(entry *classified, acc *intake.Accepted) (toast string) {
	const unknown = "This button does not work any more."
	control, _ := entry.Intent.(*intake.ControlIntent)
	_, code := entry.Intent.(*people.CodeIntent)
	command := acc.Command != ""
	switch {
	case entry.kept(intake.AuditRejected):
		return unknown
	case acc.NotYours && acc.Approval != 0:
		return "Only admins may decide that."
	case acc.NotYours:
		return "This is not for you."
	case command && acc.Action == outbox.ActionAccepted, code: // of a stranger, who is answered in the chat
	case control != nil && control.Refused:
		return "Slow down a little, please, and press again."
	case control != nil:
		return ""
	case acc.Outcome == intake.OutcomeBusy:
		return "I am busy. Please press again later."
	case acc.TurnID != 0 || acc.Outcome != "":
	case acc.Approval != 0:
		toast = cmp.Or(l.router.outcomeText(acc.Decision), decisionToasts[acc.Action])
		if acc.Decision == people.PairingDone {
			toast = admitted(acc.Admitted)
		}
	case acc.Action == "":
		toast = unknown
	case acc.Action == outbox.ActionExpired && command:
		toast = "This button has expired. Please give the command again."
	case command:
		toast = "This button was used already."
	case acc.Action == outbox.ActionExpired:
		toast = "This choice has expired."
	default:
		toast = "That question was answered already."
	}
	// What the press says can be made up, so that only buttons known to be used up go.
	if acc.Approval == 0 || acc.Action == "" { // else its questions are shown again
		l.Unbutton(entry.Event.Conversation, acc.Question)
	}
	return toast
}

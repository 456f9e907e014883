package store

import (
	"errors"
	"fmt"
	"slices"

	"switchboard/channels"
	"switchboard/router/approvals"
	"switchboard/router/intake"
	routeroutbox "switchboard/router/outbox"
	"switchboard/router/people"
	"switchboard/store/outbox"
	"switchboard/store/turns"
)

// acceptable says what the router did wrong.
func acceptable(e *intake.Entry) error {
	if len(e.Key) == 0 {
		return errors.New("it has no key")
	}
	switch as := e.Intent.(type) {
	case *intake.TurnIntent, *intake.ControlIntent:
	case *intake.EditIntent:
		if e.Event.Message.ID == "" {
			return errors.New("it does not say which message it is about")
		}
		if !slices.Contains([]string{"", turns.OnEditSteer, turns.OnEditRestart, turns.OnEditIgnore}, as.OnEdit) {
			return fmt.Errorf("on_edit is %q, which is not known", as.OnEdit)
		}
	case *intake.ActionIntent:
		if len(as.Code) == 0 {
			return errors.New("it has no code of an action")
		}
	case *people.CodeIntent:
		if len(as.Code) == 0 || as.Identity == "" || !slices.Contains([]string{"", people.ActionClaim, people.ActionLink, routeroutbox.ActionApproval}, as.Kind) {
			return errors.New("it has no code of a kind that is known, or nobody for whom it is")
		}
	case *people.PairingIntent:
		if as.Identity == "" || e.Sender.Person != "" {
			return errors.New("it is from nobody who could be let in")
		}
	case *approvals.DecisionIntent:
		if len(as.Code) == 0 || !slices.Contains([]routeroutbox.Does{routeroutbox.DoesOnce, routeroutbox.DoesSession, routeroutbox.DoesAlways, routeroutbox.DoesDeny}, as.Does) {
			return errors.New("it has no code, or no decision")
		}
	case *approvals.RevokeIntent:
	case *intake.AuditIntent:
		if !slices.Contains([]intake.Audit{intake.AuditStranger, intake.AuditOverheard, intake.AuditRejected, intake.AuditNote}, as.Why) {
			return fmt.Errorf("unknown audit %q", as.Why)
		}
	case *intake.NewsIntent:
		return acceptableNews(&e.Event)
	default:
		return errors.New("it does not say what it is taken as")
	}
	if turn := e.Turn(); turn != nil && !slices.Contains([]string{"", turns.ModeQueue, turns.ModeSteer, turns.ModeInterrupt, turns.ModeCollect}, turn.Mode) {
		return fmt.Errorf("unknown mode %q", turn.Mode)
	}
	return nil
}

func acceptableNews(event *channels.Event) error {
	switch event.Kind {
	case channels.EventDeleted:
		if event.Message.ID == "" {
			return errors.New("it does not say which message it is about")
		}
	case channels.EventMember:
		if m := event.Member; m != channels.Joined && m != channels.Left {
			return fmt.Errorf("unknown membership %q", m)
		}
	case channels.EventMoved:
		if event.Former == "" || event.Conversation.ID == "" {
			return errors.New("it does not say which conversation moved where")
		}
	default:
		return fmt.Errorf("an event of kind %q is no news", event.Kind)
	}
	return nil
}

// unusual entries take a transaction of several round trips on PostgreSQL; the
// others one.
func unusual(e intake.Entry) bool {
	if m := &e.Event.Message; len(m.Metadata) > 0 || slices.ContainsFunc(m.Attachments, func(a channels.Attachment) bool { return a.Upload != 0 }) {
		return true
	}
	if e.Sender.New || len(e.Button) > 0 || special(&e) { // a new person: once a day
		return true
	}
	switch as := e.Intent.(type) {
	case *intake.TurnIntent:
		return as.Retry != nil || as.Ordered || as.Says != "" || as.Mode != "" && as.Mode != turns.ModeQueue
	case *intake.ControlIntent:
		return as.Effect != intake.EffectNone || as.Change != nil
	case *intake.AuditIntent:
		return false
	}
	return true
}

// special says that the answer of an entry has to be stored by several statements.
func special(e *intake.Entry) bool {
	as, ok := e.Intent.(*intake.ControlIntent)
	return ok && as.Reply != nil && outbox.Special(*as.Reply)
}

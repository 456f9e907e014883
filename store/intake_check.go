package store

import (
	"errors"
	"fmt"
	"slices"

	"switchboard/channels"
	"switchboard/router"
)

// acceptable says what the router did wrong.
func acceptable(e *router.Entry) error {
	if len(e.Key) == 0 {
		return errors.New("it has no key")
	}
	switch as := e.As.(type) {
	case *router.AsTurn, *router.AsControl:
	case *router.AsEdit:
		if e.Event.Message.ID == "" {
			return errors.New("it does not say which message it is about")
		}
		if !slices.Contains([]string{"", onEditSteer, onEditRestart, onEditIgnore}, as.OnEdit) {
			return fmt.Errorf("on_edit is %q, which is not known", as.OnEdit)
		}
	case *router.AsAction:
		if len(as.Code) == 0 {
			return errors.New("it has no code of an action")
		}
	case *router.AsAudit:
		if !slices.Contains([]router.Audit{router.AuditStranger, router.AuditOverheard, router.AuditRejected, router.AuditNote}, as.Why) {
			return fmt.Errorf("unknown audit %q", as.Why)
		}
	case *router.AsNews:
		return acceptableNews(&e.Event)
	default:
		return errors.New("it does not say what it is taken as")
	}
	if turn := e.Turn(); turn != nil && !slices.Contains([]string{"", modeQueue, modeSteer, modeInterrupt, modeCollect}, turn.Mode) {
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
func unusual(e router.Entry) bool {
	if e.Sender.New { // once a day
		return true
	}
	for _, reply := range e.Replies {
		if reply != nil && special(*reply) {
			return true
		}
	}
	switch as := e.As.(type) {
	case *router.AsTurn:
		return as.Retry != nil || as.Mode != "" && as.Mode != modeQueue
	case *router.AsControl:
		return as.Reply != nil && special(*as.Reply)
	case *router.AsAudit:
		return false
	}
	return true
}

// special says that a reply has more than text in parts.
func special(r router.Reply) bool { return r.Draft != 0 || len(r.Actions) > 0 }

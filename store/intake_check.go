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
	switch e.Class {
	case router.ClassTurn, router.ClassControl, router.ClassNotice, router.ClassStranger, router.ClassOverheard, router.ClassRejected,
		router.ClassNote:
	case router.ClassEdited, router.ClassDeleted:
		if e.Event.Message.ID == "" {
			return errors.New("it does not say which message it is about")
		}
	case router.ClassAction:
		if (len(e.Action) > 0) == e.ActionNumber {
			return errors.New("it must have the code of an action, or a number in its text")
		}
	case router.ClassMember:
		if m := e.Event.Member; m != channels.Joined && m != channels.Left {
			return fmt.Errorf("unknown membership %q", m)
		}
	case router.ClassMoved:
		if e.Event.Former == "" || e.Event.Conversation.ID == "" {
			return errors.New("it does not say which conversation moved where")
		}
	default:
		return fmt.Errorf("unknown class %q", e.Class)
	}
	if !slices.Contains([]string{"", modeQueue, modeSteer, modeInterrupt, modeCollect}, e.Mode) {
		return fmt.Errorf("unknown mode %q", e.Mode)
	}
	if e.Retry != nil && e.Tell == nil {
		return errors.New("a retry with nothing to say where there is none")
	}
	if !slices.Contains([]string{"", onEditSteer, onEditRestart, onEditIgnore}, e.OnEdit) {
		return fmt.Errorf("on_edit is %q, which is not known", e.OnEdit)
	}
	return nil
}

// unusual entries take a transaction of several round trips on PostgreSQL; the
// others one.
func unusual(e router.Entry) bool {
	if e.NewPerson { // once a day
		return true
	}
	switch e.Class {
	case router.ClassTurn:
		return e.Retry != nil || e.Mode != "" && e.Mode != modeQueue || e.Busy != nil && special(*e.Busy)
	case router.ClassControl, router.ClassNotice, router.ClassStranger, router.ClassOverheard, router.ClassRejected, router.ClassNote:
		return e.Reply != nil && special(*e.Reply) || e.Dropped != nil && special(*e.Dropped)
	}
	return true
}

// special says that a reply has more than text in parts.
func special(r router.Reply) bool { return r.Draft != 0 || len(r.Actions) > 0 }

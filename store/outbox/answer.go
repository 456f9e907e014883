package outbox

import (
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/store/database"
	"switchboard/store/sessions"
)

// Say answers an entry with what it says in an outcome.
func Say(t *database.Tx, e *intake.Entry, a *intake.Accepted, conversation int64, class string, s intake.Outcome) error {
	a.Outcome = s
	_, err := Answer(t, e, a, conversation, class, e.Said(a))
	return err
}

// Answer stores the message of an entry and a reply to it, which may be nil, and
// returns the newest of the two.
func Answer(t *database.Tx, e *intake.Entry, a *intake.Accepted, conversation int64, class string, reply *outbox.Reply) (newest int64, err error) {
	if a.MessageID, err = sessions.Incoming(t, e, class, conversation, a.SessionID); err != nil {
		return 0, err
	}
	newest = a.MessageID
	events := []sessions.Event{{Kind: "message", Message: a.MessageID}}
	if reply != nil {
		if newest, err = Outgoing(t, conversation, a.SessionID, 0, reply, nil); err != nil {
			return 0, err
		}
		events = append(events, sessions.Event{Kind: "message", Message: newest})
	}
	a.Event, err = sessions.Emit(t, a.SessionID, events...)
	return newest, err
}

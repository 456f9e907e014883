package scripted

import (
	"fmt"

	"switchboard/channels"
)

// eventKey names what a message tells, m by its update u. The lengths keep two
// different pairs apart.
func eventKey(account string, u Update, m Message) channels.EventKey {
	kind, id := m.Event, m.ID
	switch m.Event {
	case "", channels.EventMessage:
		kind = channels.EventMessage
	case channels.EventDeleted:
	case channels.EventEdited:
		id = fmt.Sprintf("%s:%d", m.ID, m.Revision)
	case channels.EventAction:
		id = m.Callback
	default:
		id = fmt.Sprint(u.Event)
	}
	return channels.EventKey(fmt.Sprintf("%s:%s:%d:%s:%s", account, kind, len(m.Conversation), m.Conversation, id))
}

// updateKey names an event that could not be read.
func updateKey(account string, event int64) channels.EventKey {
	return channels.EventKey(fmt.Sprintf("%s:update:%d", account, event))
}

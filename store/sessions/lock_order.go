package sessions

import (
	"fmt"
	"slices"

	"switchboard/channels"
	"switchboard/store/database"
)

const (
	sessionsByKey = `SELECT id FROM sessions WHERE key IN (%s)`
	// sessionsByCode are those of turns that wait, and both sides of links.
	sessionsByCode = `
		SELECT coalesce(p.session_id, o.session_id) AS id FROM actions a JOIN approvals p ON p.id = a.approval_id JOIN actions o ON o.approval_id = p.id
		WHERE p.kind <> 'pairing' AND coalesce(p.session_id, o.session_id) IS NOT NULL AND a.code IN (%s)`
	sessionsInRow = `SELECT id FROM sessions WHERE id IN (%s) ORDER BY id`
)

// LockInOrder locks the sessions of conversations, and those in which is waited for what
// the codes decide, by their IDs. Who asks in a chat for a turn of another, and who decides there,
// would else lock the two in turn, and wait for each other again and again.
func LockInOrder(t *database.Tx, conversations []channels.Conversation, codes [][]byte) error {
	if !t.PG {
		return nil
	}
	keys := make([]string, len(conversations))
	for i, c := range conversations {
		c = CleanConversation(c)
		keys[i] = SessionKey(c.Channel, c.ID)
	}
	marks, args := database.In(keys)
	ids, err := t.IDs(fmt.Sprintf(sessionsByKey, marks), args...)
	if err != nil {
		return err
	}
	if len(codes) > 0 {
		marks, args = database.In(codes)
		waiting, err := t.IDs(fmt.Sprintf(sessionsByCode, marks), args...)
		if err != nil {
			return err
		}
		ids = append(ids, waiting...)
	}
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) < 2 {
		return nil
	}
	marks, args = database.In(ids)
	_, err = t.IDs(t.Locked(fmt.Sprintf(sessionsInRow, marks)), args...)
	return err
}

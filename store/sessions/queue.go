package sessions

import (
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/store/database"
	"switchboard/store/engines"
)

const (
	turnRuns = `SELECT 1 FROM turns WHERE id = ? AND session_id = ? AND state = 'running'`
	// holdsTurn is a session's conversation if its lease is held and its turn runs:
	// lockSession, holdsLease and turnRuns in one, where nothing has to be locked.
	holdsTurn = `
		SELECT s.conversation_id FROM sessions s JOIN leases l ON l.kind = 'session' AND l.name = ? AND l.fence = ?
		JOIN owners o ON o.id = l.owner AND o.state = 'alive'
		JOIN turns t ON t.id = ? AND t.session_id = s.id AND t.state = 'running' WHERE s.id = ?`
)

// Holding locks the session and returns its conversation; ErrFenced unless ref's
// lease is current and its turn runs.
func Holding(t *database.Tx, ref core.TurnRef) (conversation int64, err error) {
	if !t.PG {
		err = t.Must(core.ErrFenced, holdsTurn, []any{database.Digits(ref.SessionID), ref.Fence, ref.TurnID, ref.SessionID}, &conversation)
		return conversation, err
	}
	conversation, found, err := Lock(t, ref.SessionID)
	if err != nil {
		return 0, err
	}
	if !found {
		return 0, core.ErrFenced
	}
	if err := engines.Fenced(t, engines.Session, database.Digits(ref.SessionID), ref.Fence); err != nil {
		return 0, err
	}
	// It may have ended already: a lease goes on from turn to turn.
	return conversation, t.Must(core.ErrFenced, turnRuns, []any{ref.TurnID, ref.SessionID})
}

const (
	// QueueAhead puts a turn that is in the state ? before all that are queued in its session.
	QueueAhead = `
		UPDATE turns SET state = 'queued', waited = waited + CASE state WHEN 'waiting' THEN ? - parked_at ELSE 0 END,
			resumed_at = CASE state WHEN 'waiting' THEN ? ELSE resumed_at END, ahead = (
			SELECT coalesce(min(q.rank), 0) - 1 FROM turns q WHERE q.session_id = turns.session_id AND q.rank < 0 AND q.state = 'queued')
		WHERE id = ? AND state = ?`
	whereTurn = `
		SELECT t.session_id, c.channel, c.conversation, c.kind, c.place, c.title FROM turns t
		JOIN sessions s ON s.id = t.session_id JOIN conversations c ON c.id = s.conversation_id WHERE t.id = ?`
)

// LockedBy locks the session of a turn.
func LockedBy(t *database.Tx, turn int64) (session int64, c channels.Conversation, err error) {
	err = t.Must(core.ErrNotFound, whereTurn, []any{turn}, &session, &c.Channel, &c.ID, &c.Kind, &c.Place, &c.Title)
	if err == nil {
		_, _, err = Lock(t, session)
	}
	return session, c, err
}

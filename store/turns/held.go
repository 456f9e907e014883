package turns

import (
	"context"
	"time"

	"switchboard/router/turns"
	"switchboard/store/database"
	"switchboard/store/sessions"
)

// heldSessions goes through the turns that run, which are few, and through the longest
// waiting: a queued one whose session is leased and not run becomes one of these.
// CROSS, so that SQLite does not go through all leases.
const (
	heldSessions = `
		SELECT t.session_id, l.fence, t.id AS turn_id, t.cancel_requested AS stop
		FROM (
			SELECT * FROM (SELECT id, session_id, rank, cancel_requested FROM turns
				WHERE rank IS NOT NULL AND state = 'running' ORDER BY created_at, id LIMIT ?) AS r
			UNION ALL SELECT * FROM (SELECT id, session_id, rank, cancel_requested FROM turns
				WHERE rank IS NOT NULL AND state = 'queued' ORDER BY created_at, id LIMIT ?) AS q
		) AS t CROSS JOIN leases l
		WHERE l.kind = 'session' AND l.name = CAST(t.session_id AS text) AND l.owner = ?
		AND NOT EXISTS (SELECT 1 FROM turns b WHERE b.session_id = t.session_id AND b.rank < t.rank)
		ORDER BY t.id`
	heldRunning = 10000 // more than all engines have workers
	heldQueued  = 500
)

// Held lists the sessions that owner has the lease of and that have open turns.
func (r *Store) Held(ctx context.Context, owner int64) ([]turns.Held, error) {
	return database.List[turns.Held](ctx, r.DB, "list held sessions", heldSessions, heldRunning, heldQueued, owner)
}

const (
	newestEvent = `SELECT kind, created_at FROM events WHERE session_id = ? ORDER BY n DESC LIMIT 1`
	// HasOpenTurn looks for a turn of a session that has not ended.
	HasOpenTurn = `SELECT 1 FROM turns WHERE session_id = ? AND rank IS NOT NULL LIMIT 1`
	hasWaiting  = `SELECT 1 FROM turns WHERE session_id = ? AND parked_at IS NOT NULL AND state = 'waiting' LIMIT 1`
)

const eventSession = "session"

type sessionData struct {
	State string `json:"state"`
}

// Idle notes, by an event of kind session, that nothing happened in the session for so long and that it has no
// open turn, nor one that waits for a decision.
func (r *Store) Idle(ctx context.Context, session int64, after time.Duration) (again time.Time, err error) {
	err = r.Write(ctx, database.Async, "note an idle session", func(t *database.Tx) error {
		again = time.Time{}
		if _, found, err := sessions.Lock(t, session); err != nil || !found {
			return err
		}
		if open, err := t.Has(HasOpenTurn, session); err != nil || open {
			return err // whoever runs it notes it afterwards
		}
		if waits, err := t.Has(hasWaiting, session); err != nil || waits {
			again = database.Instant(t.Now + after.Microseconds()) // cancelled it is run by nobody
			return err
		}
		var kind string
		var at int64
		found, err := t.Row(newestEvent, []any{session}, &kind, &at)
		if err != nil || !found || kind == eventSession {
			return err
		}
		if due := at + after.Microseconds(); due > t.Now {
			again = database.Instant(due)
			return nil
		}
		_, err = sessions.EmitRest(t, session, sessions.Event{Kind: eventSession, Data: database.JSONText(sessionData{"idle"})})
		return err
	})
	return again, err
}

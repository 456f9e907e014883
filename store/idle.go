package store

import (
	"context"
	"time"
)

const (
	newestEvent = `SELECT kind, created_at FROM events WHERE session_id = ? ORDER BY n DESC LIMIT 1`
	hasOpenTurn = `SELECT 1 FROM turns WHERE session_id = ? AND id > 0 AND state IN ('queued', 'running') LIMIT 1`
)

const eventSession = "session"

type sessionData struct {
	State string `json:"state"`
}

// Idle implements router.Turns.
func (r *Router) Idle(ctx context.Context, session int64, after time.Duration) (again time.Time, err error) {
	err = r.db.write(ctx, rides, "note an idle session", func(t *tx) error {
		again = time.Time{}
		if _, found, err := t.lock(session); err != nil || !found {
			return err
		}
		var one int
		if open, err := t.row(hasOpenTurn, []any{session}, &one); err != nil || open {
			return err // whoever runs it notes it afterwards
		}
		var kind string
		var at int64
		found, err := t.row(newestEvent, []any{session}, &kind, &at)
		if err != nil || !found || kind == eventSession {
			return err
		}
		if due := at + after.Microseconds(); due > t.now {
			again = instant(due)
			return nil
		}
		_, err = t.emit(session, event{Kind: eventSession, Data: jsonText(sessionData{"idle"})})
		return err
	})
	return again, err
}

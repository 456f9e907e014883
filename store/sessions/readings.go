package sessions

import (
	"context"
	"fmt"

	"switchboard/router/core"
	"switchboard/router/sessions"
	"switchboard/store/database"
)

const (
	setSeen = `
		INSERT INTO readings (person, session_id, event) SELECT ?, id, ? FROM sessions WHERE key = ?
		ON CONFLICT (person, session_id) DO UPDATE SET event = excluded.event WHERE readings.event < excluded.event`
	setPinned = `
		INSERT INTO readings (person, session_id, pinned) SELECT ?, id, ? FROM sessions WHERE key = ?
		ON CONFLICT (person, session_id) DO UPDATE SET pinned = excluded.pinned`
	readings = `SELECT s.key, r.event, r.pinned FROM readings r JOIN sessions s ON s.id = r.session_id WHERE r.person = ? AND s.key IN (%s)`
	wroteAs  = `SELECT m.platform_id, coalesce(t.state, '') FROM messages m JOIN sessions s ON s.id = m.session_id LEFT JOIN turns t ON t.id = m.turn_id WHERE s.key = ? AND m.id = ? AND m.direction = 'in' AND m.platform_id <> ''`
)

// Seen notes how far a person has read a session. A lower event than one before changes nothing.
func (r *Store) Seen(ctx context.Context, person, session string, event int64) error {
	return r.Write(ctx, database.Async, "note how far a session was read", func(t *database.Tx) error {
		return t.Do(setSeen, database.Clean(person), event, database.Clean(session))
	})
}

// Pin notes whether a person keeps a session on top.
func (r *Store) Pin(ctx context.Context, person, session string, pinned bool) error {
	return r.Write(ctx, database.Async, "pin a session", func(t *database.Tx) error {
		return t.Do(setPinned, database.Clean(person), pinned, database.Clean(session))
	})
}

// Readings say how far a person has read sessions, by key; of one that they never opened nothing.
func (r *Store) Readings(ctx context.Context, person string, list []string) (found map[string]sessions.Reading, err error) {
	found = map[string]sessions.Reading{}
	if len(list) == 0 {
		return found, nil
	}
	type row struct {
		Key string
		sessions.Reading
	}
	marks, args := database.In(list)
	rows, err := database.List[row](ctx, r.DB, "list what was read", fmt.Sprintf(readings, marks), append([]any{database.Clean(person)}, args...)...)
	for _, r := range rows {
		found[r.Key] = r.Reading
	}
	return found, err
}

// WroteAs is how a message of a person came into a session. core.ErrNotFound.
func (r *Store) WroteAs(ctx context.Context, session string, message int64) (wrote sessions.Wrote, err error) {
	err = r.Read(ctx, "look for a message", func(t *database.Tx) error {
		return t.Must(core.ErrNotFound, wroteAs, []any{database.Clean(session), message}, (*string)(&wrote.ID), &wrote.State)
	})
	return wrote, err
}

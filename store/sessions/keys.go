package sessions

import (
	"time"

	"switchboard/router/intake"
)

const (
	// InsertKey: a key that has expired is as good as unknown.
	InsertKey = `
		INSERT INTO event_keys (key, expires_at) VALUES (?, ?)
		ON CONFLICT (key) DO UPDATE SET expires_at = excluded.expires_at WHERE event_keys.expires_at <= ?
		RETURNING 1`
	// DropKey forgets an event of which nothing was kept.
	DropKey = `DELETE FROM event_keys WHERE key = ?`
	// PersonOf is whose turn it is.
	PersonOf = `SELECT person FROM turns WHERE id = ?`

	// KeysLive is how long the key of an event is known.
	KeysLive = 30 * 24 * time.Hour
	// tokenKeysLive is the same for an event of an API token, whose Idempotency-Key it is.
	tokenKeysLive = 24 * time.Hour
)

// KeyLives is how long the key of an entry is known.
func KeyLives(e *intake.Entry) time.Duration {
	if e.Event.Sender.Token != "" {
		return tokenKeysLive
	}
	return KeysLive
}

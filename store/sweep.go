package store

import (
	"context"
	"time"
)

const (
	keysLive   = 30 * 24 * time.Hour
	bodiesLive = 7 * 24 * time.Hour
)

const (
	sweepKeys = `DELETE FROM event_keys WHERE expires_at <= ?`
	// A turn that is not finished still needs its answers.
	sweepBodies = `
		DELETE FROM llm_bodies WHERE expires_at <= ? AND EXISTS (
			SELECT 1 FROM turns t WHERE t.id = llm_bodies.turn_id AND t.state IN ('done', 'failed', 'cancelled', 'merged'))`
)

// Sweep deletes event keys after 30 days and the bodies of model calls after 7.
func (db *DB) Sweep(ctx context.Context) error {
	return db.write(ctx, rides, "sweep", func(t *tx) error {
		if _, err := t.exec(sweepKeys, t.now); err != nil {
			return err
		}
		_, err := t.exec(sweepBodies, t.now)
		return err
	})
}

package store

import (
	"context"
	"time"
)

const (
	keysLive   = 30 * 24 * time.Hour
	bodiesLive = 7 * 24 * time.Hour
	ownersLive = 90 * 24 * time.Hour
)

const (
	sweepKeys = `DELETE FROM event_keys WHERE expires_at <= ?`
	// A turn that is not finished still needs its answers.
	sweepBodies = `
		DELETE FROM llm_bodies WHERE expires_at <= ? AND EXISTS (
			SELECT 1 FROM turns t WHERE t.id = llm_bodies.turn_id AND t.state IN ('done', 'failed', 'cancelled', 'merged'))`
	// An owner that died may be named by leases that nobody wanted since.
	ownersOver  = `SELECT id FROM owners WHERE coalesce(ended_at, expires_at) <= ?`
	sweepLeases = `UPDATE leases SET owner = NULL WHERE owner IN (` + ownersOver + `)`
	sweepOwners = `DELETE FROM owners WHERE id IN (` + ownersOver + `)`
)

// Sweep deletes event keys after 30 days, the bodies of model calls after 7, and
// what is known of engines that ended or died 90 days ago.
func (db *DB) Sweep(ctx context.Context) error {
	return db.write(ctx, rides, "sweep", func(t *tx) error {
		if _, err := t.exec(sweepKeys, t.now); err != nil {
			return err
		}
		if _, err := t.exec(sweepBodies, t.now); err != nil {
			return err
		}
		before := t.now - ownersLive.Microseconds()
		if _, err := t.exec(sweepLeases, before); err != nil {
			return err
		}
		_, err := t.exec(sweepOwners, before)
		return err
	})
}

package store

import (
	"context"
	"encoding/hex"
	"time"

	"switchboard/internal/retry"
	"switchboard/router/core"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/engines"
)

const (
	sealing = "audit" // the name of the lease, so that one engine alone does it

	markPruned   = `UPDATE audit_segments SET pruned = TRUE WHERE id = ?`
	dropSegments = `DELETE FROM audit_segments WHERE id < ?`
)

// Audit takes what ended into the audit log, shortly after it did, until ctx ends.
func (db *DB) Audit(ctx context.Context) {
	for pause := audit.TakeEvery; retry.Sleep(ctx, pause); {
		began := time.Now()
		if err := db.takeIntoAudit(ctx); err != nil && ctx.Err() == nil {
			db.Log.WarnContext(ctx, "the audit log is not up to date, it is tried again", "error", err)
		}
		pause = max(audit.TakeEvery, 20*time.Since(began))
	}
}

// SealAudit seals the hours of the audit log that are over, if that is due, and returns how many rows
// it sealed. Of several engines one does.
func (db *DB) SealAudit(ctx context.Context, owner int64) (rows int64, err error) {
	if err := db.takeIntoAudit(ctx); err != nil {
		return 0, err
	}
	due, err := db.SealDue(ctx)
	if err != nil || !due {
		return 0, err
	}
	ok, err := db.knowsTheTime(ctx)
	if err != nil || !ok {
		return 0, err
	}
	fence, ok, err := db.lease(ctx, sealing, owner)
	if err != nil || !ok {
		return 0, err
	}
	defer db.endLease(ctx, sealing, fence)
	return db.sealHour(ctx, fence)
}

// sealHour seals all that was written since the last seal. Rows up to the highest number
// stay as they are from then on; a row that comes later has a higher one, and belongs to
// the next segment. Nothing is written before the segment is whole, so that an engine may
// die anywhere.
func (db *DB) sealHour(ctx context.Context, fence int64) (rows int64, err error) {
	next := audit.Segment{}
	err = db.Write(ctx, database.Async, "find what to seal", func(t *database.Tx) error {
		if err := t.Shut(audit.Briefly, audit.LockAudit); err != nil {
			return err
		}
		last, err := audit.FindSegment(t, audit.LastSegment)
		if err != nil {
			return err
		}
		next = audit.Segment{ID: last.ID + 1, Hour: audit.ThisHour(t) - time.Hour.Microseconds(), FirstID: last.LastID + 1, Previous: append([]byte{}, last.Hash...)}
		_, err = t.Row(audit.LastAudit, []any{last.LastID}, &next.LastID)
		return err
	})
	if err != nil || next.LastID < next.FirstID {
		return 0, err
	}
	if err := db.step("found"); err != nil {
		return 0, err
	}
	if next.RowCount, next.Digest, err = db.Digest(ctx, next.FirstID, next.LastID); err != nil {
		return 0, err
	}
	if err := db.step("hashed"); err != nil {
		return 0, err
	}
	err = db.Write(ctx, database.Durable, "seal", func(t *database.Tx) error {
		if err := engines.Fenced(t, leaseRun, sealing, fence); err != nil {
			return err
		}
		next.SealedAt = t.Now
		next.Hash = next.Seal()
		return t.Do(audit.InsertSegment, next.ID, next.Hour, next.FirstID, next.LastID, next.RowCount, next.Digest, next.Previous, next.Hash, next.SealedAt)
	})
	if err == nil {
		db.Log.InfoContext(ctx, "an hour of the audit log was sealed", "segment", next.ID, "rows", next.RowCount, "hash", hex.EncodeToString(next.Hash))
		err = db.step("sealed")
	}
	return next.RowCount, err
}

// step is where a test may kill the sealer.
func (db *DB) step(name string) error {
	if db.sealStep == nil {
		return nil
	}
	return db.sealStep(name)
}

// audit clears away whole segments. The last of them is kept without its rows, so that
// what follows is proven still, and a row says that it was.
func (s *sweeper) audit(ctx context.Context) error {
	_, err := s.batch(ctx, func(t *database.Tx) (int64, error) {
		last, err := audit.FindSegment(t, audit.Prunable, s.before(s.keep.Audit)-time.Hour.Microseconds())
		if err != nil || last.ID == 0 {
			return 0, err
		}
		if err := t.Run(database.Do(markPruned, last.ID), database.Do(dropSegments, last.ID)); err != nil {
			return 0, err
		}
		return 0, audit.Write(t, core.Actor{Rule: "retention.audit"}, audit.Entry{
			Action: audit.ActionPrune, Target: audit.PrunedTarget(&last), Outcome: "done", Data: map[string]any{"hour": database.Instant(last.Hour)},
		})
	})
	if err != nil {
		return err
	}
	if err := s.db.step("pruned"); err != nil {
		return err
	}
	last, err := database.Read(ctx, s.db.DB, "look for cleared segments", func(t *database.Tx) (audit.Segment, error) {
		return audit.FindSegment(t, audit.PrunedSegment)
	})
	if err != nil || last.ID == 0 {
		return err
	}
	return s.until(ctx, audit.DropAudit, last.LastID)
}

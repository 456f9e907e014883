package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"time"

	"switchboard/internal/retry"
	"switchboard/router/ledger"
)

const (
	takeEvery   = 30 * time.Second
	sealing     = "audit" // the name of the lease, so that one engine alone does it
	auditPage   = 1000
	actionPrune = "audit.prune"
)

const (
	segmentColumns = `SELECT id, hour, first_id, last_id, row_count, digest, previous, hash, sealed_at, pruned FROM audit_segments`
	lastSegment    = segmentColumns + ` ORDER BY id DESC LIMIT 1`
	someSegments   = segmentColumns + ` WHERE id > ? ORDER BY id LIMIT 1000`
	insertSegment  = `
		INSERT INTO audit_segments (id, hour, first_id, last_id, row_count, digest, previous, hash, sealed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
	// lockAudit waits for all who wrote rows, and keeps others from it: numbers up to the
	// highest are then all committed, or never will be. An INSERT takes its lock before its
	// row gets a number: https://www.postgresql.org/docs/current/explicit-locking.html
	lockAudit  = `LOCK TABLE audit IN SHARE MODE`
	briefly    = `SET LOCAL lock_timeout = '300ms'`
	olderAudit = `SELECT id FROM audit WHERE id > ? AND created_at < ? LIMIT 1`
	lastAudit  = `SELECT coalesce(max(id), 0) FROM audit WHERE id > ?`
	auditRows  = `
		SELECT id, person, action, target, rule, outcome, why, cost, data, coalesce(session_id, 0) AS session_id, coalesce(turn_id, 0) AS turn_id, created_at
		FROM audit WHERE id > ? AND id <= ? ORDER BY id LIMIT 1000`
	prunable      = segmentColumns + ` WHERE hour < ? AND pruned = FALSE ORDER BY id DESC LIMIT 1`
	markPruned    = `UPDATE audit_segments SET pruned = TRUE WHERE id = ?`
	dropSegments  = `DELETE FROM audit_segments WHERE id < ?`
	prunedSegment = segmentColumns + ` WHERE pruned = TRUE ORDER BY id DESC LIMIT 1`
	dropAudit     = `DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE id <= ? ORDER BY id LIMIT 500)`
)

// A segment is a stretch of the audit log by its numbers, sealed by hash.
type segment struct {
	ID       int64
	Hour     int64
	FirstID  int64 `db:"first_id"`
	LastID   int64 `db:"last_id"`
	RowCount int64 `db:"row_count"`
	Digest   []byte
	Previous []byte
	Hash     []byte
	SealedAt int64 `db:"sealed_at"`
	Pruned   bool
}

// seal is what the hash of a segment has to be.
func (s *segment) seal() []byte {
	h := sha256.New()
	for _, n := range []int64{s.ID, s.Hour, s.FirstID, s.LastID, s.RowCount, s.SealedAt} {
		field(h, strconv.FormatInt(n, 10))
	}
	field(h, string(s.Digest))
	field(h, string(s.Previous))
	return h.Sum(nil)
}

// field adds a field to a hash so that no other fields make the same.
func field(h hash.Hash, text string) { fmt.Fprintf(h, "%d:%s", len(text), text) }

// An auditEntry is a row of the audit log, whole.
type auditEntry struct {
	ID                                         int64
	Person, Action, Target, Rule, Outcome, Why string
	Cost                                       float64
	Data                                       string
	SessionID                                  int64 `db:"session_id"`
	TurnID                                     int64 `db:"turn_id"`
	CreatedAt                                  int64 `db:"created_at"`
}

// add adds the row to a segment's digest: every column in the order of auditRows, numbers
// in decimals, so that both databases give the same.
func (e *auditEntry) add(h hash.Hash) {
	field(h, strconv.FormatInt(e.ID, 10))
	for _, text := range []string{e.Person, e.Action, e.Target, e.Rule, e.Outcome, e.Why, strconv.FormatFloat(e.Cost, 'g', -1, 64), e.Data} {
		field(h, text)
	}
	for _, n := range []int64{e.SessionID, e.TurnID, e.CreatedAt} {
		field(h, strconv.FormatInt(n, 10))
	}
}

// Audit takes what ended into the audit log, shortly after it did, until ctx ends.
func (db *DB) Audit(ctx context.Context) {
	for pause := takeEvery; retry.Sleep(ctx, pause); {
		began := time.Now()
		if err := db.takeIntoAudit(ctx); err != nil && ctx.Err() == nil {
			db.Log().WarnContext(ctx, "the audit log is not up to date, it is tried again", "error", err)
		}
		pause = max(takeEvery, 20*time.Since(began))
	}
}

// SealAudit seals the hours of the audit log that are over, if that is due, and returns how many rows
// it sealed. Of several engines one does.
func (db *DB) SealAudit(ctx context.Context, owner int64) (rows int64, err error) {
	if err := db.takeIntoAudit(ctx); err != nil {
		return 0, err
	}
	_, due, err := db.sealDue(ctx)
	if err != nil || !due {
		return 0, err
	}
	ok, err := db.knowsTheTime(ctx)
	if err != nil || !ok {
		return 0, err
	}
	var fence int64
	err = db.write(ctx, db.forLeases(), "begin to seal", func(t *tx) (err error) {
		fence, ok, err = t.Take(leaseRun, sealing, owner, t.now)
		return err
	})
	if err != nil || !ok {
		return 0, err
	}
	defer db.endLease(ctx, sealing, fence)
	return db.sealHour(ctx, fence)
}

// endLease gives a lease back, whatever ctx is.
func (db *DB) endLease(ctx context.Context, name string, fence int64) {
	giving, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := db.write(giving, db.forLeases(), "give back "+name, func(t *tx) error {
		return t.Release(leaseRun, name, fence)
	}); err != nil {
		db.Log().WarnContext(ctx, "a lease was not given back", "lease", name, "error", err)
	}
}

// thisHour is the beginning of the hour by our clock.
func (t *tx) thisHour() int64 { return instant(t.now).Truncate(time.Hour).UnixMicro() }

// sealDue says whether there are rows of an hour that is over and was not sealed, and
// which segment is the last.
func (db *DB) sealDue(ctx context.Context) (last segment, due bool, err error) {
	err = db.read(ctx, "look whether to seal", func(t *tx) error {
		if last, err = t.segment(lastSegment); err != nil || last.Hour == t.thisHour()-time.Hour.Microseconds() {
			return err
		}
		var one int64
		due, err = t.Row(olderAudit, []any{last.LastID, t.thisHour()}, &one)
		return err
	})
	return last, due && err == nil, err
}

// segment reads one; ID 0: there is none.
func (t *tx) segment(query string, args ...any) (s segment, err error) {
	var rows []segment
	if err = t.All(&rows, query, args...); err == nil && len(rows) > 0 {
		s = rows[0]
	}
	return s, err
}

// sealHour seals all that was written since the last seal. Rows up to the highest number
// stay as they are from then on; a row that comes later has a higher one, and belongs to
// the next segment. Nothing is written before the segment is whole, so that an engine may
// die anywhere.
func (db *DB) sealHour(ctx context.Context, fence int64) (rows int64, err error) {
	next := segment{}
	err = db.write(ctx, rides, "find what to seal", func(t *tx) error {
		if t.PG {
			if _, err := t.Exec(briefly); err != nil {
				return err
			}
			if _, err := t.Exec(lockAudit); err != nil {
				return err
			}
		}
		last, err := t.segment(lastSegment)
		if err != nil {
			return err
		}
		next = segment{ID: last.ID + 1, Hour: t.thisHour() - time.Hour.Microseconds(), FirstID: last.LastID + 1, Previous: append([]byte{}, last.Hash...)}
		_, err = t.Row(lastAudit, []any{last.LastID}, &next.LastID)
		return err
	})
	if err != nil || next.LastID < next.FirstID {
		return 0, err
	}
	if err := db.step("found"); err != nil {
		return 0, err
	}
	if next.RowCount, next.Digest, err = db.digest(ctx, next.FirstID, next.LastID); err != nil {
		return 0, err
	}
	if err := db.step("hashed"); err != nil {
		return 0, err
	}
	err = db.write(ctx, full, "seal", func(t *tx) error {
		if err := t.Fenced(leaseRun, sealing, fence); err != nil {
			return err
		}
		next.SealedAt = t.now
		next.Hash = next.seal()
		_, err := t.Exec(insertSegment, next.ID, next.Hour, next.FirstID, next.LastID, next.RowCount, next.Digest, next.Previous, next.Hash, next.SealedAt)
		return err
	})
	if err == nil {
		db.Log().InfoContext(ctx, "an hour of the audit log was sealed", "segment", next.ID, "rows", next.RowCount, "hash", hex.EncodeToString(next.Hash))
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

// digest hashes the rows of a stretch of the audit log.
func (db *DB) digest(ctx context.Context, first, last int64) (n int64, sum []byte, err error) {
	h := sha256.New()
	err = db.auditRows(ctx, first-1, last, func(e *auditEntry) error {
		n++
		e.add(h)
		return nil
	})
	return n, h.Sum(nil), err
}

// auditRows goes through rows by their numbers, after one and up to another.
func (db *DB) auditRows(ctx context.Context, after, last int64, do func(*auditEntry) error) error {
	for {
		var rows []auditEntry
		err := db.read(ctx, "read the audit log", func(t *tx) error {
			rows = nil
			return t.All(&rows, auditRows, after, last)
		})
		if err != nil {
			return err
		}
		for i := range rows {
			if err := do(&rows[i]); err != nil {
				return err
			}
			after = rows[i].ID
		}
		if len(rows) < auditPage {
			return ctx.Err()
		}
	}
}

// audit clears away whole segments. The last of them is kept without its rows, so that
// what follows is proven still, and a row says that it was.
func (s *sweeper) audit(ctx context.Context) error {
	_, err := s.batch(ctx, func(t *tx) (int64, error) {
		last, err := t.segment(prunable, s.before(s.keep.Audit)-time.Hour.Microseconds())
		if err != nil || last.ID == 0 {
			return 0, err
		}
		if err := t.run(statement{markPruned, []any{last.ID}}, statement{dropSegments, []any{last.ID}}); err != nil {
			return 0, err
		}
		return 0, t.audit(ledger.Hand{Rule: "retention.audit"}, audited{
			action: actionPrune, target: prunedTarget(&last), outcome: "done", data: map[string]any{"hour": instant(last.Hour)},
		})
	})
	if err != nil {
		return err
	}
	if err := s.db.step("pruned"); err != nil {
		return err
	}
	var last segment
	if err := s.db.read(ctx, "look for cleared segments", func(t *tx) (err error) {
		last, err = t.segment(prunedSegment)
		return err
	}); err != nil || last.ID == 0 {
		return err
	}
	return s.until(ctx, dropAudit, last.LastID)
}

// prunedTarget names a segment with its hash.
func prunedTarget(s *segment) string {
	return fmt.Sprintf("segment %d %s", s.ID, hex.EncodeToString(s.Hash))
}

// fits says what is wrong with a segment after the one before it; empty: nothing.
func (s *segment) fits(before *segment) string {
	switch {
	case s.ID != before.ID+1:
		return fmt.Sprintf("segment %d is missing", before.ID+1)
	case !bytes.Equal(s.Hash, s.seal()):
		return "its own row was changed"
	case !bytes.Equal(s.Previous, before.Hash):
		return "it does not follow from the segment before it"
	case s.FirstID != before.LastID+1:
		return "it does not begin where the one before it ends"
	}
	return ""
}

package audit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"time"

	"switchboard/store/database"
)

const (
	// TakeEvery is how often ended turns are taken into the log.
	TakeEvery = 30 * time.Second
	auditPage = 1000
	// ActionPrune is the action of the row that says what was cleared away.
	ActionPrune = "audit.prune"

	segmentColumns = `SELECT id, hour, first_id, last_id, row_count, digest, previous, hash, sealed_at, pruned FROM audit_segments`
	// LastSegment is the newest segment.
	LastSegment  = segmentColumns + ` ORDER BY id DESC LIMIT 1`
	someSegments = segmentColumns + ` WHERE id > ? ORDER BY id LIMIT 1000`
	// InsertSegment stores a segment with its seal.
	InsertSegment = `
		INSERT INTO audit_segments (id, hour, first_id, last_id, row_count, digest, previous, hash, sealed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
	// LockAudit waits for all who wrote rows, and keeps others from it: numbers up to the
	// highest are then all committed, or never will be. An INSERT takes its lock before its
	// row gets a number: https://www.postgresql.org/docs/current/explicit-locking.html
	LockAudit = `LOCK TABLE audit IN SHARE MODE`
	// Briefly gives up soon where somebody holds a lock.
	Briefly    = `SET LOCAL lock_timeout = '300ms'`
	olderAudit = `SELECT id FROM audit WHERE id > ? AND created_at < ? LIMIT 1`
	// LastAudit is the newest row after one.
	LastAudit    = `SELECT coalesce(max(id), 0) FROM audit WHERE id > ?`
	auditColumns = `
		SELECT id, person, action, target, rule, outcome, why, cost, data, coalesce(session_id, 0) AS session_id, coalesce(turn_id, 0) AS turn_id, created_at
		FROM audit `
	auditRows = auditColumns + `WHERE id > ? AND id <= ? ORDER BY id LIMIT 1000`
	// Prunable is the newest segment before an hour whose rows are there.
	Prunable = segmentColumns + ` WHERE hour < ? AND pruned = FALSE ORDER BY id DESC LIMIT 1`
	// PrunedSegment is the newest segment whose rows were cleared away.
	PrunedSegment = segmentColumns + ` WHERE pruned = TRUE ORDER BY id DESC LIMIT 1`
	// DropAudit deletes rows up to one, some at a time.
	DropAudit = `DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE id <= ? ORDER BY id LIMIT 500)`
)

// A Segment is a stretch of the audit log by its numbers, sealed by hash.
type Segment struct {
	ID, Hour, FirstID, LastID, RowCount, SealedAt int64
	Digest, Previous, Hash                        []byte
	Pruned                                        bool
}

// Seal is what the hash of a segment has to be.
func (s *Segment) Seal() []byte {
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
	ID, SessionID, TurnID, CreatedAt                 int64
	Person, Action, Target, Rule, Outcome, Why, Data string
	Cost                                             float64
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

// ThisHour is the beginning of the hour by our clock.
func ThisHour(t *database.Tx) int64 { return database.Instant(t.Now).Truncate(time.Hour).UnixMicro() }

// SealDue says whether there are rows of an hour that is over and was not sealed.
func (db *Store) SealDue(ctx context.Context) (bool, error) {
	return database.Read(ctx, db.DB, "look whether to seal", func(t *database.Tx) (bool, error) {
		last, err := FindSegment(t, LastSegment)
		if err != nil || last.Hour == ThisHour(t)-time.Hour.Microseconds() {
			return false, err
		}
		return t.Has(olderAudit, last.LastID, ThisHour(t))
	})
}

// FindSegment reads one; ID 0: there is none.
func FindSegment(t *database.Tx, query string, args ...any) (Segment, error) {
	s, err := database.First[Segment](t, query, args...)
	return *cmp.Or(s, &Segment{}), err
}

// segments lists those after one.
func (db *Store) segments(ctx context.Context, after int64) (list []Segment, err error) {
	for {
		some, err := database.List[Segment](ctx, db.DB, "read segments", someSegments, after)
		if list = append(list, some...); len(some) < auditPage {
			return list, err
		}
		after = some[len(some)-1].ID
	}
}

// Digest hashes the rows of a stretch of the audit log.
func (db *Store) Digest(ctx context.Context, first, last int64) (n int64, sum []byte, err error) {
	h := sha256.New()
	err = db.auditRows(ctx, first-1, last, func(e *auditEntry) error {
		n++
		e.add(h)
		return nil
	})
	return n, h.Sum(nil), err
}

// auditRows goes through rows by their numbers, after one and up to another.
func (db *Store) auditRows(ctx context.Context, after, last int64, do func(*auditEntry) error) error {
	for {
		rows, err := database.List[auditEntry](ctx, db.DB, "read the audit log", auditRows, after, last)
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

// PrunedTarget names a segment with its hash.
func PrunedTarget(s *Segment) string {
	return fmt.Sprintf("segment %d %s", s.ID, hex.EncodeToString(s.Hash))
}

// fits says what is wrong with a segment after the one before it; empty: nothing.
func (s *Segment) fits(before *Segment) string {
	switch {
	case s.ID != before.ID+1:
		return fmt.Sprintf("segment %d is missing", before.ID+1)
	case !bytes.Equal(s.Hash, s.Seal()):
		return "its own row was changed"
	case !bytes.Equal(s.Previous, before.Hash):
		return "it does not follow from the segment before it"
	case s.FirstID != before.LastID+1:
		return "it does not begin where the one before it ends"
	}
	return ""
}

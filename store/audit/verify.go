package audit

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"switchboard/internal/words"
	"switchboard/router/audit"
	"switchboard/store/database"
)

// A Verified says how far the audit log proves itself.
type Verified struct {
	Segments int       `json:"segments"`
	Rows     int64     `json:"rows"`
	From     time.Time `json:"from"` // the hour of the first segment; zero: there is none
	To       time.Time `json:"to"`   // the end of the hour of the last
	Hash     []byte    `json:"-"`    // of the last
	// Pruned is the last segment that was cleared away; 0: none was.
	Pruned int64 `json:"pruned,omitempty"`
	// Erased are the segments from which somebody was erased, as rows of the log say.
	Erased int `json:"erased,omitempty"`
	// Open are the rows that are not sealed yet, the oldest written then.
	Open   int64     `json:"open"`
	OpenAt time.Time `json:"open_at,omitzero"`
}

// Words says so for people.
func (v *Verified) Words() string {
	text := "nothing is sealed yet\n"
	if v.Segments > 0 {
		text = fmt.Sprintf("ok: %s with %s, from %s to %s\nthe last hash is %s\n",
			words.Count(v.Segments, "segment"), words.Count(int(v.Rows), "row"), words.At(v.From), words.At(v.To), hex.EncodeToString(v.Hash))
	}
	if v.Pruned != 0 {
		text += fmt.Sprintf("segments up to %d were cleared away by [retention] audit\n", v.Pruned)
	}
	if v.Erased > 0 {
		text += fmt.Sprintf("%s changed since, to erase somebody, as the log says\n", words.Count(v.Erased, "segment"))
	}
	if v.Open > 0 {
		text += fmt.Sprintf("%s since %s not sealed yet\n", words.Count(int(v.Open), "row"), words.At(v.OpenAt))
	}
	return text
}

// A TamperedError says where the audit log is not what was sealed.
type TamperedError struct {
	Segment int64
	Hour    time.Time
	What    string
}

func (e *TamperedError) Error() string {
	return fmt.Sprintf("segment %d of the audit log, of %s, does not fit: %s", e.Segment, e.Hour.Format("2006-01-02 15:04Z"), e.What)
}

const (
	prunedRow = `SELECT 1 FROM audit WHERE action = 'audit.prune' AND target = ? AND id > ? LIMIT 1`
	strayRow  = `SELECT 1 FROM audit WHERE id < ? LIMIT 1`
	openRows  = `SELECT count(*), coalesce(min(created_at), 0) FROM audit WHERE id > ?`
)

// LastSeal is the hash of the last segment; nil: nothing is sealed yet.
func (db *Store) LastSeal(ctx context.Context) ([]byte, error) {
	s, err := db.segment(ctx, LastSegment)
	return s.Hash, err
}

// VerifyAudit reads the whole audit log and holds it to its seals, and to the hash of a segment that was
// kept elsewhere; since nil: to none. *TamperedError: it is not as it was sealed. What is cleared away or erased
// meanwhile is no fault.
func (db *Store) VerifyAudit(ctx context.Context, since []byte) (v Verified, err error) {
	for again := false; ; {
		var tampered *TamperedError
		before, err := db.anchor(ctx)
		if err != nil {
			return v, err
		}
		if v, tampered, err = db.verifyFrom(ctx, before, since); err != nil || tampered == nil {
			return v, err
		}
		now, err := db.anchor(ctx)
		if err != nil {
			return v, err
		}
		if now.ID == before.ID && again { // nothing was cleared away meanwhile, nor was anybody erased
			return v, tampered
		}
		again = now.ID == before.ID
	}
}

// anchor is the last segment that was cleared away.
func (db *Store) anchor(ctx context.Context) (Segment, error) { return db.segment(ctx, PrunedSegment) }

func (db *Store) segment(ctx context.Context, query string) (Segment, error) {
	return database.Read(ctx, db.DB, "read a segment of the audit log", func(t *database.Tx) (Segment, error) { return FindSegment(t, query) })
}

func (db *Store) verifyFrom(ctx context.Context, before Segment, since []byte) (v Verified, tampered *TamperedError, err error) {
	bad := func(s *Segment, what string) (Verified, *TamperedError, error) {
		return v, &TamperedError{Segment: s.ID, Hour: database.Instant(s.Hour), What: what}, nil
	}
	v.Pruned = before.ID
	if before.ID != 0 {
		told, err := db.ReadRow(ctx, "look who cleared away", prunedRow, []any{PrunedTarget(&before), before.LastID})
		if err != nil {
			return v, nil, err
		}
		if !bytes.Equal(before.Hash, before.Seal()) {
			return bad(&before, "its own row was changed")
		} else if !told {
			return bad(&before, "no row says that its rows were cleared away")
		}
	}
	var known erasedDigests
	last, met := before, since == nil || bytes.Equal(before.Hash, since)
	list, err := db.segments(ctx, before.ID)
	if err != nil {
		return v, nil, err
	}
	for i := range list {
		s := &list[i]
		if what := s.fits(&last); what != "" {
			return bad(s, what)
		}
		n, sum, err := db.Digest(ctx, s.FirstID, s.LastID)
		if err != nil {
			return v, nil, err
		} else if n != s.RowCount {
			return bad(s, fmt.Sprintf("it had %d rows as it was sealed, and has %d", s.RowCount, n))
		}
		if !bytes.Equal(sum, s.Digest) {
			if err := db.Read(ctx, "look who was erased", known.read); err != nil {
				return v, nil, err
			}
		}
		fits, erased := known.fits(s, sum)
		if !fits {
			return bad(s, "a row of it was changed")
		} else if erased {
			v.Erased++
		}
		if v.Segments == 0 {
			v.From = database.Instant(s.Hour)
		}
		v.Segments, v.Rows, v.To, v.Hash = v.Segments+1, v.Rows+n, database.Instant(s.Hour).Add(time.Hour), s.Hash
		last, met = *s, met || bytes.Equal(s.Hash, since)
	}
	if !met {
		return bad(&last, fmt.Sprintf("neither it nor one before it has the hash %s. The end of the log was cut off or written again, "+
			"unless that hash is older than what [retention] audit keeps", hex.EncodeToString(since)))
	}
	var found bool
	err = db.Read(ctx, "look beside the segments", func(t *database.Tx) error {
		if before.ID == 0 { // else they are about to be cleared away
			if found, err = t.Has(strayRow, int64(1)); err != nil {
				return err
			}
		}
		_, err = t.Row(openRows, []any{last.LastID}, &v.Open, &v.OpenAt)
		return err
	})
	if err == nil && found {
		return bad(&Segment{ID: 1}, "there are rows before it")
	}
	return v, nil, err
}

// ExportAudit hands every row of the audit log to do, the oldest first.
func (db *Store) ExportAudit(ctx context.Context, f audit.Filter, do func(*audit.Record) error) error {
	before, err := db.anchor(ctx)
	if err != nil {
		return err
	}
	return db.auditRows(ctx, before.LastID, math.MaxInt64, func(e *auditEntry) error {
		if r := e.record(); f.Has(r) {
			return do(r)
		}
		return nil
	})
}

func (e *auditEntry) record() *audit.Record {
	return &audit.Record{
		ID: e.ID, At: database.Instant(e.CreatedAt), Person: e.Person, Action: e.Action, Target: e.Target, Rule: e.Rule, Outcome: e.Outcome, Why: e.Why,
		Cost: e.Cost, Session: e.SessionID, Turn: e.TurnID, Data: database.AsJSON([]byte(e.Data)),
	}
}

// latestAudit reads from the newest row.
const latestAudit = auditColumns + `
	WHERE id > ? AND (? = 0 OR id < ?) AND (? = '' OR person = ?) AND (? = 0 OR turn_id = ?)
		AND (? = '' OR action = ? OR substr(action, 1, ?) = ?) AND created_at >= ? AND created_at < ?
	ORDER BY id DESC LIMIT ?`

// Audit lists the newest rows of the audit log before a number; 0: from the newest of all.
func (r *Store) Audit(ctx context.Context, f audit.Filter, before int64, limit int) ([]audit.Record, error) {
	return database.Read(ctx, r.DB, "list the audit log", func(t *database.Tx) ([]audit.Record, error) {
		cleared, err := FindSegment(t, PrunedSegment)
		if err != nil {
			return nil, err
		}
		person, kind := database.Clean(f.Person), database.Clean(f.Kind)
		since, until := int64(0), int64(math.MaxInt64)
		if !f.Since.IsZero() {
			since = database.Micros(f.Since)
		}
		if !f.Until.IsZero() {
			until = database.Micros(f.Until)
		}
		return database.Views(t, func(e *auditEntry) audit.Record { return *e.record() },
			latestAudit, cleared.LastID, before, before, person, person, f.Turn, f.Turn, kind, kind, utf8.RuneCountInString(kind)+1, kind+".", since, until, limit)
	})
}

// Unsealed is when the oldest row was written that is not sealed yet; zero: all are.
func (db *Store) Unsealed(ctx context.Context) (oldest time.Time, sealed time.Time, err error) {
	err = db.Read(ctx, "look what is not sealed", func(t *database.Tx) error {
		last, err := FindSegment(t, LastSegment)
		if err != nil {
			return err
		}
		sealed = database.Instant(last.SealedAt)
		_, err = t.Row(openRows, []any{last.LastID}, new(int64), &oldest)
		return err
	})
	return oldest, sealed, err
}

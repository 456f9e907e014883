package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"switchboard/router/core"
	"switchboard/store/database"
)

// ActionErase is the action of the row that says which segment somebody was erased from, and what the digest of its rows is since.
const ActionErase = "audit.erase"

const (
	erasedSegments = `SELECT id, target FROM audit WHERE action = 'audit.erase' AND id > ? ORDER BY id`
	// erasable also says that a row is of a turn of the person: the log knows it for longer than turns are kept. With EXISTS, PostgreSQL
	// would read all turns for each page.
	erasable = `
		SELECT id, person, action, target, rule, outcome, why, cost, data, coalesce(session_id, 0) AS session_id, coalesce(turn_id, 0) AS turn_id, created_at,
			turn_id IS NOT NULL AND ((SELECT count(*) FROM turns t WHERE t.id = audit.turn_id AND t.person IN (%[1]s)) > 0
				OR (SELECT count(*) FROM audit y WHERE y.turn_id = audit.turn_id AND y.action IN ('turn', 'tool.ask') AND y.person IN (?, %[1]s)) > 0) AS theirs
		FROM audit WHERE id > ? AND id <= ? ORDER BY id LIMIT 1000`
	eraseRow = `UPDATE audit SET person = ?, target = ?, why = ?, data = ? WHERE id = ?`
)

// An Erasure takes a person out of the log: their name, where they are, and what was said. Known are the digests of segments
// that were erased from before.
type Erasure struct {
	Names      []string // that the person has, or wrote under; at least one
	Hash       string   // stands for each
	Identities []string // of the person
	By         core.Actor

	known erasedDigests
}

// ErasedName is what stands for the name of somebody who was erased.
func ErasedName(name string) string {
	sum := sha256.Sum256([]byte(name))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// erasedDigests are the digests that segments have since somebody was erased from them.
type erasedDigests struct {
	after    int64 // the last row that was read
	segments map[string]string
}

// read reads those that were written since it did last.
func (d *erasedDigests) read(t *database.Tx) error {
	rows, err := database.Select[struct {
		ID     int64
		Target string
	}](t, erasedSegments, d.after)
	if d.segments == nil {
		d.segments = map[string]string{}
	}
	for _, r := range rows {
		d.after = r.ID
		if i := strings.LastIndex(r.Target, " "); i > 0 {
			d.segments[r.Target[:i]] = r.Target[i+1:]
		}
	}
	return err
}

// fits says that sum is the digest of a segment, as it was sealed or since somebody was erased from it.
func (d *erasedDigests) fits(s *Segment, sum []byte) (ok, erased bool) {
	erased = d.segments[segmentName(s)] == hex.EncodeToString(sum)
	return erased || bytes.Equal(sum, s.Digest), erased
}

func segmentName(s *Segment) string { return fmt.Sprintf("segment %d", s.ID) }

type erasableRow struct {
	auditEntry
	Theirs bool
}

// erase blanks the row. Where they are stands in rows of others too, who may be there since.
func (x *Erasure) erase(r *erasableRow) {
	own := slices.Contains(x.Names, r.Person)
	about := own || r.Person == ""
	if own || r.Theirs {
		r.Why, r.Data = "", "{}"
	}
	if own {
		r.Person = x.Hash
	}
	for _, name := range x.Names {
		if r.Target == "person "+name {
			r.Target, about = "person "+x.Hash, true
		}
		r.Target = strings.Replace(r.Target, "console:"+name+"/", "console:"+x.Hash+"/", 1)
	}
	for _, id := range x.Identities {
		if r.Target == id {
			r.Target, about = x.Hash, true
		}
	}
	var data any
	if json.Unmarshal([]byte(r.Data), &data) == nil && x.stand(data, "", about) {
		r.Data = "{}"
	}
}

// peopleIn are the keys of data whose values are people's names.
var peopleIn = []string{"person", "people", "owner", "was"}

// stand says that they stand in what is under a key of data; identities says that these count.
func (x *Erasure) stand(data any, key string, identities bool) bool {
	switch v := data.(type) {
	case map[string]any:
		for key, value := range v {
			if x.stand(value, key, identities) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(value any) bool { return x.stand(value, key, identities) })
	case string:
		return identities && slices.Contains(x.Identities, v) || slices.ContainsFunc(x.Names, func(name string) bool {
			return v == "person "+name || v == "person:"+name || v == name && slices.Contains(peopleIn, key) || strings.Contains(v, "console:"+name+"/")
		})
	}
	return false
}

// through goes through rows after one and up to another, each as it is to be.
func (x *Erasure) through(t *database.Tx, after, last int64, do func(was, now *auditEntry)) error {
	marks, names := database.In(x.Names)
	for {
		rows, err := database.Select[erasableRow](t, fmt.Sprintf(erasable, marks), slices.Concat(names, []any{x.Hash}, names, []any{after, last})...)
		if err != nil {
			return err
		}
		for i := range rows {
			was := rows[i].auditEntry
			x.erase(&rows[i])
			do(&was, &rows[i].auditEntry)
			after = was.ID
		}
		if len(rows) < auditPage {
			return nil
		}
	}
}

// Segments lists those of which rows are there.
func (db *Store) Segments(ctx context.Context) ([]Segment, error) {
	before, err := db.anchor(ctx)
	if err != nil {
		return nil, err
	}
	return db.segments(ctx, before.ID)
}

// Found are rows from which a person is to be erased, as they are to be, and the digests of all rows that were gone through.
type Found struct {
	rows          []auditEntry
	sealed, since []byte
}

// Rows is how many they are; of nil none.
func (f *Found) Rows() int64 {
	if f == nil {
		return 0
	}
	return int64(len(f.rows))
}

// Find goes through rows after one and up to another, which nobody else changes until they are erased; nil: the person is in none.
func (x *Erasure) Find(t *database.Tx, after, last int64) (*Found, error) {
	found, sealed, since := &Found{}, sha256.New(), sha256.New()
	err := x.through(t, after, last, func(was, now *auditEntry) {
		was.add(sealed)
		now.add(since)
		if *was != *now {
			found.rows = append(found.rows, *now)
		}
	})
	if err != nil || len(found.rows) == 0 {
		return nil, err
	}
	found.sealed, found.since = sealed.Sum(nil), since.Sum(nil)
	return found, nil
}

// Erase takes the person out of rows, and says of how many. A row of the log names the digest that their segment has since: so it still
// verifies, unless somebody changed it before. nil: no seal covers them, and the lease of the sealer is held.
func (x *Erasure) Erase(t *database.Tx, found *Found, s *Segment) (n int64, err error) {
	n = found.Rows()
	for _, r := range found.rows {
		if err := t.Do(eraseRow, r.Person, r.Target, r.Why, r.Data, r.ID); err != nil {
			return 0, err
		}
	}
	if s == nil {
		return n, nil
	}
	if err := x.known.read(t); err != nil {
		return 0, err
	}
	if ok, _ := x.known.fits(s, found.sealed); !ok {
		return n, nil // it stays as false as it was
	}
	return n, Write(t, x.By, Entry{
		Action: ActionErase, Target: segmentName(s) + " " + hex.EncodeToString(found.since), Outcome: "done", Data: map[string]any{"rows": n, "person": x.Hash},
	})
}

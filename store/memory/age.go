package memory

import (
	"context"

	"switchboard/agent/memory"
	"switchboard/router/core"
	routermemory "switchboard/router/memory"
	"switchboard/store/database"
)

// A fact that nobody asked for and nobody uses loses a tenth of its confidence for each unusedDays after the first freshDays.
const (
	freshDays, unusedDays = 30, 7
	agedMost              = 500 // rows of one transaction
)

const (
	agesFrom = `CASE WHEN aged_at > CASE WHEN used_at > created_at THEN used_at ELSE created_at END + ? THEN aged_at
		ELSE CASE WHEN used_at > created_at THEN used_at ELSE created_at END + ? END`
	ages  = `kind = 'fact' AND state = 'active' AND kept = FALSE AND confidence >= 0.295 AND ` + notCopied + ` AND ` + agesFrom + ` <= ?`
	aging = `SELECT id FROM memories WHERE id > ? AND ` + ages + ` ORDER BY id LIMIT ?`
	age   = `UPDATE memories SET confidence = confidence - 0.1, aged_at = ` + agesFrom + ` + ? WHERE ` + ages + ` AND id IN `
	// archive leaves room for what tenths do not add up to.
	archive = `
		UPDATE memories SET state = 'archived', outcome = 'unused', updated_at = ? WHERE id IN (
			SELECT id FROM memories WHERE kind = 'fact' AND state = 'active' AND kept = FALSE AND confidence < 0.295 AND ` + notCopied + ` ORDER BY id LIMIT ?)`
	overdue = `SELECT id FROM memories WHERE expires_at > 0 AND expires_at <= ? AND state IN ('active', 'archived') AND ` + notCopied + ` ORDER BY id LIMIT ?`
	expire  = `UPDATE memories SET state = 'forgotten', outcome = 'expired', updated_at = ? WHERE id IN `
	oldDays = `DELETE FROM memory_days WHERE day < ?`

	mergedFact = `SELECT id FROM memories m WHERE m.id = ? AND m.source = 'merge' AND m.state = 'active' AND m.created_at > ?`
	mergedOf   = `SELECT id FROM memories WHERE superseded_by = ? AND state = 'superseded' ORDER BY id`
	unmerge    = `UPDATE memories SET state = 'active', superseded_by = NULL, updated_at = ? WHERE id = ?`

	// madeOf are the merges in which something of a session stands, directly or in others of them.
	madeOf = `
		WITH RECURSIVE up (id) AS (
			SELECT superseded_by FROM memories WHERE session_id = ? AND superseded_by IS NOT NULL
			UNION SELECT m.superseded_by FROM memories m JOIN up ON up.id = m.id WHERE m.superseded_by IS NOT NULL
		) SELECT m.id FROM memories m JOIN up ON up.id = m.id WHERE m.source = 'merge' ORDER BY m.id`
	isMerge = `SELECT id FROM memories WHERE id = ? AND source = 'merge' AND state IN ('active', 'archived')`
	dropOne = `DELETE FROM memories WHERE id = ?`
)

// Age has what nobody uses lose confidence and be archived, and what expires be forgotten, some at a time. It may be done at any time and
// twice: what a fact lost for some days it does not lose again. n is how many were archived or forgotten.
func (s *Store) Age(ctx context.Context) (n int64, err error) {
	const op = "let memories age"
	for after, more := int64(0), true; more; {
		ids, err := database.Write(ctx, s.DB, database.Async, op, func(t *database.Tx) ([]int64, error) { return ageSome(t, after) })
		if err != nil {
			return n, err
		}
		if more = len(ids) == agedMost; more {
			after = ids[len(ids)-1]
		}
	}
	for _, some := range []func(*database.Tx) (int64, error){
		func(t *database.Tx) (int64, error) { return t.Exec(archive, t.Now, agedMost) }, expireSome,
	} {
		for done := int64(agedMost); done == agedMost; n += done {
			if done, err = database.Write(ctx, s.DB, database.Async, op, some); err != nil {
				return n, err
			}
		}
	}
	return n, s.Write(ctx, database.Async, op, func(t *database.Tx) error {
		return t.Do(oldDays, database.Instant(t.Now-2*dayMicros).Format("2006-01-02"))
	})
}

// ageSome has the first facts behind one lose what they have to.
func ageSome(t *database.Tx, after int64) ([]int64, error) {
	fresh, step := freshDays*dayMicros, unusedDays*dayMicros
	until := t.Now - int64(step)
	ids, err := t.IDs(aging, after, fresh, fresh, until, agedMost)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	marks, list := database.In(ids)
	for aged := int64(1); aged > 0; { // a week at a time
		if aged, err = t.Exec(age+`(`+marks+`)`, append([]any{fresh, fresh, step, fresh, fresh, until}, list...)...); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func expireSome(t *database.Tx) (int64, error) {
	ids, err := t.IDs(overdue, t.Now, agedMost)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	marks, args := database.In(ids)
	if err := t.Do(expire+`(`+marks+`)`, append([]any{t.Now}, args...)...); err != nil {
		return 0, err
	}
	return int64(len(ids)), Unindex(t, memory.OfMemory, ids...)
}

// Unmerge takes a consolidation back: the fact that was made goes, and those in whose place it stood are there again. core.ErrNotFound: it is
// none, or older than routermemory.UndoFor.
func Unmerge(t *database.Tx, id int64) error {
	if err := t.Must(core.ErrNotFound, t.Locked(mergedFact), []any{id, t.Now - routermemory.UndoFor.Microseconds()}, &id); err != nil {
		return err
	}
	return takeApart(t, id)
}

func takeApart(t *database.Tx, id int64) error {
	former, err := t.IDs(mergedOf, id)
	if err != nil {
		return err
	}
	if err := t.Do(forget, "undone", t.Now, id); err != nil {
		return err
	}
	if err := Unindex(t, memory.OfMemory, id); err != nil {
		return err
	}
	for _, of := range former {
		if err := t.Do(unmerge, t.Now, of); err != nil {
			return err
		}
		if err := index(t, of); err != nil {
			return err
		}
	}
	return nil
}

// TakeBack deletes all consolidations of which something in a session is a part; the parts of those that hold are there again.
func TakeBack(t *database.Tx, session int64) error {
	made, err := t.IDs(madeOf, session)
	if err != nil {
		return err
	}
	return Delete(t, made)
}

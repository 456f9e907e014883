package memory

import (
	"fmt"
	"strings"

	"switchboard/agent/memory"
	"switchboard/router/core"
	routermemory "switchboard/router/memory"
	"switchboard/store/audit"
	"switchboard/store/database"
)

const (
	copyNow  = `SELECT log, n, come_to FROM memory_copy WHERE id = 1`
	copySet  = `INSERT INTO memory_copy (id, log, n, come_to) VALUES (1, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET log = excluded.log, n = excluded.n, come_to = excluded.come_to`
	copyEnds = `DELETE FROM memory_copy`
	// ownAgain: nobody knows here what was used elsewhere, so that age counts from now on.
	ownAgain   = `UPDATE memories SET aged_at = ? WHERE kind = 'fact' AND state = 'active' AND kept = FALSE`
	ownNumbers = `SELECT setval(pg_get_serial_sequence('memories', 'id'), (SELECT coalesce(max(id), 0) + 1 FROM memories), FALSE)`
	anyMemory  = `SELECT id FROM memories LIMIT 1`
	knownNames = `SELECT name FROM people UNION SELECT name FROM people_away UNION SELECT person FROM memory_settings UNION SELECT person FROM memories`
	idsBetween = `SELECT id FROM memories WHERE id > ? AND id < ? ORDER BY id`
	putRow     = `
		INSERT INTO memories (id, kind, scope, category, key, text, state, outcome, person, source, confidence, taint, kept, always, superseded_by,
			created_at, updated_at, used_at, expires_at, aged_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, nullif(CAST(? AS bigint), 0), ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, scope = excluded.scope, category = excluded.category, key = excluded.key, text = excluded.text,
			state = excluded.state, outcome = excluded.outcome, person = excluded.person, source = excluded.source, confidence = excluded.confidence,
			taint = excluded.taint, kept = excluded.kept, always = excluded.always, superseded_by = excluded.superseded_by, created_at = excluded.created_at,
			updated_at = excluded.updated_at, used_at = excluded.used_at, expires_at = excluded.expires_at, aged_at = excluded.aged_at`
	// notCopied: a copy changes with its records alone.
	notCopied = `NOT EXISTS (SELECT 1 FROM memory_copy WHERE id = 1)`
	whole     = -1 // come_to of a copy that is in no snapshot
)

// A copied says how far a copy is.
type copied struct {
	Log    string
	N      int64 // of the last record, or of the snapshot
	ComeTo int64 // in a snapshot, the memory up to which it has come; else whole
}

// take writes records in their order into the copy. *core.StateError: others have to come first.
func take(t *database.Tx, c *routermemory.Change) (a audit.Entry, err error) {
	at, err := database.First[copied](t, t.Locked(copyNow))
	if err != nil {
		return a, err
	}
	if at == nil {
		if own, err := t.Has(anyMemory); err != nil {
			return a, err
		} else if own {
			return a, &core.StateError{Sentence: "This bot remembers things of its own already, and a copy would take their place. Begin with one that remembers nothing."}
		}
		at = &copied{N: -1, ComeTo: whole}
	}
	for i := range c.Records {
		if err := at.take(t, &c.Records[i]); err != nil {
			return a, err
		}
	}
	c.Taken = routermemory.Taken{N: at.N, Whole: at.ComeTo == whole}
	a.Outcome, a.Data = "done", c.Taken
	return a, t.Do(copySet, at.Log, at.N, at.ComeTo)
}

func (at *copied) take(t *database.Tx, r *routermemory.Record) error {
	switch snapshot := at.ComeTo != whole; {
	case r.Op == routermemory.OpSnapshot && (snapshot || r.Log != at.Log || r.N > at.N):
		*at = copied{Log: r.Log, N: r.N, ComeTo: 0}
		return nil
	case at.Log == "":
		return &core.StateError{Sentence: "A copy begins with all memories there are: follow with --from 0."}
	case r.Log != at.Log:
		return &core.StateError{Sentence: "These are records of another bot's memory, or of one that was restored from a backup. To copy that one from now on, follow it with --from 0."}
	case snapshot && r.N == at.N && r.Op == routermemory.OpRow:
		return at.row(t, r.Memory)
	case snapshot && r.N == at.N && r.Op == routermemory.OpEnd:
		err := dropBetween(t, at.ComeTo, 1<<62)
		at.ComeTo = whole
		return err
	case snapshot:
		return &core.StateError{Sentence: "The copy has not all memories yet: follow with --from 0."}
	case r.N <= at.N: // it was taken before
		return nil
	case r.N > at.N+1 || r.Op == routermemory.OpRow || r.Op == routermemory.OpEnd:
		return &core.StateError{Sentence: fmt.Sprintf("Record %d came, and %d is next: follow with --from %[2]d.", r.N, at.N+1)}
	}
	at.N = r.N
	switch r.Op {
	case routermemory.OpPut:
		return put(t, r.Memory)
	case routermemory.OpErase:
		return dropHashed(t, r.Person)
	}
	return drop(t, r.ID)
}

// row writes the next memory of a snapshot. What stands here between it and the one before is no more.
func (at *copied) row(t *database.Tx, m *routermemory.Row) error {
	if m.ID <= at.ComeTo { // it was taken before
		return nil
	}
	if err := dropBetween(t, at.ComeTo, m.ID); err != nil {
		return err
	}
	at.ComeTo = m.ID
	return put(t, m)
}

func dropBetween(t *database.Tx, after, before int64) error {
	ids, err := t.IDs(idsBetween, after, before)
	for _, id := range ids {
		if err == nil {
			err = drop(t, id)
		}
	}
	return err
}

// dropHashed deletes what is remembered of who is called so that the name has this hash.
func dropHashed(t *database.Tx, hash string) error {
	names, err := t.Names(knownNames)
	for _, name := range names {
		if err == nil && audit.ErasedName(name) == hash {
			err = Drop(t, name)
		}
	}
	return err
}

func drop(t *database.Tx, id int64) error {
	return t.Run(database.Do(deleteRecalled+`(?)`, memory.OfMemory, id), database.Do(dropOne, id))
}

// put has a memory be as it is elsewhere. What surfaces in one session alone is not copied: here the session of that number is another.
func put(t *database.Tx, m *routermemory.Row) error {
	e := &m.Entry
	clean(e)
	if strings.HasPrefix(string(e.Scope), "session:") && e.Kind != memory.Learning {
		return drop(t, e.ID)
	}
	e.Session, e.Turn = "", 0
	old, err := database.First[routermemory.Row](t, recordRow+"m.id = ?", e.ID)
	if err != nil {
		return err
	}
	if old != nil {
		if e.UsedAt = old.UsedAt; database.JSONText(old) == database.JSONText(m) {
			return nil
		}
	}
	if e.Kind == memory.Preference && e.State == "active" { // of which there is one at a time; what became of the other comes by itself
		list, err := database.Select[memory.Entry](t, former, e.Scope, e.Person, e.Category, e.Key)
		for _, other := range list {
			if err == nil && other.ID != e.ID {
				err = t.Run(database.Do(supersede, nil, t.Now, other.ID), database.Do(deleteRecalled+`(?)`, memory.OfMemory, other.ID))
			}
		}
		if err != nil {
			return err
		}
	}
	if err := t.Do(putRow, e.ID, e.Kind, e.Scope, e.Category, e.Key, e.Text, e.State, e.Outcome, e.Person, e.Source, e.Confidence, e.Taint, e.Kept, e.Always,
		m.SupersededBy, e.CreatedAt, e.UpdatedAt, e.UsedAt, e.ExpiresAt, m.AgedAt); err != nil {
		return err
	}
	switch {
	case e.Kind != memory.Learning && (e.State == "active" || e.State == "archived"):
		return index(t, e.ID)
	case e.State == "forgotten" && e.Outcome == "asked":
		return unsay(t, e)
	}
	return Unindex(t, memory.OfMemory, e.ID)
}

// endCopy has the memory be this bot's own again. ErrNotFound: it is no copy.
func endCopy(t *database.Tx) (a audit.Entry, err error) {
	a.Outcome = "done"
	at, err := database.First[copied](t, t.Locked(copyNow))
	switch {
	case err != nil:
		return a, err
	case at == nil:
		return a, &core.StateError{Sentence: "This memory is no copy: it is the bot's own."}
	}
	a.Data = routermemory.Taken{N: at.N, Whole: at.ComeTo == whole}
	if err := t.Run(database.Do(copyEnds), database.Do(ownAgain, t.Now)); err != nil || !t.PG {
		return a, err
	}
	_, err = t.Has(ownNumbers)
	return a, err
}

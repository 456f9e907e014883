// Package memory has the rows of what can be found again by its words.
package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"switchboard/agent/memory"
	"switchboard/agent/tools"
	"switchboard/store/database"
)

const (
	insertRecalled = `
		INSERT INTO recalled (kind, ref, attempt, position, scope, session_id, taint, said_at, mark, words) VALUES (?, ?, ?, ?, ?, nullif(CAST(? AS bigint), 0), ?, ?, ?, ?)
		ON CONFLICT (kind, ref, attempt, position) DO UPDATE SET
			scope = excluded.scope, session_id = excluded.session_id, taint = excluded.taint, said_at = excluded.said_at, mark = excluded.mark, words = excluded.words`
	deleteRecalled = `DELETE FROM recalled WHERE kind = ? AND ref IN `
	moveRecalled   = `UPDATE recalled SET scope = ?, mark = CASE kind WHEN 'memory' THEN CAST(? AS text) ELSE CAST(? AS text) END WHERE scope = ?`
)

// Indexed is what is to be found by its words.
type Indexed struct {
	Record            memory.Record
	Ref               int64 // the memory, message or session; of a result the turn
	Attempt, Position int   // of a result
	Scope             memory.Scope
	Session           int64 // 0: of none
	Turn              int64 // in which it was said or brought; 0: in none
	Taint             tools.Taint
	SaidAt            time.Time
	Text              string
}

// Index lets it be found from the commit of the transaction on, in place of what was indexed of the same before.
func Index(t *database.Tx, i Indexed) error {
	return t.Do(insertRecalled, i.Record, i.Ref, i.Attempt, i.Position, i.Scope, i.Session, i.Taint, i.SaidAt, mark(i.Scope, i.Record), memory.Words(database.Clean(i.Text)))
}

// Unindex lets nobody find them; where one was not indexed, nothing changes.
func Unindex(t *database.Tx, record memory.Record, refs ...int64) error {
	if len(refs) == 0 {
		return nil
	}
	marks, args := database.In(refs)
	return t.Do(deleteRecalled+`(`+marks+`)`, append([]any{record}, args...)...)
}

// Move gives all that surfaces in one scope to another.
func Move(t *database.Tx, from, to memory.Scope) error {
	return t.Do(moveRecalled, to, mark(to, memory.OfMemory), mark(to, memory.OfMessage), from)
}

// mark is what stands before the words of a scope in the index, one for memories and one for all else, so that no number of messages
// makes a memory hard to find. Scopes may share one, so who searches compares the scope too.
func mark(s memory.Scope, record memory.Record) string {
	if record != memory.OfMemory {
		s += "\x00"
	}
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:3])
}

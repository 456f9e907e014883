package memory

import (
	"fmt"
	"time"

	"switchboard/agent/memory"
	"switchboard/store/database"
	"switchboard/store/engines"
)

const (
	// outdated: where two scopes, or two people, become one (%[1]s), the newer of two preferences of one name stays; %[2]s is the other column.
	outdated = `
		UPDATE memories SET state = 'superseded', updated_at = ? WHERE kind = 'preference' AND state = 'active' AND %[1]s IN (?, ?) AND EXISTS (
			SELECT 1 FROM memories y WHERE y.kind = 'preference' AND y.state = 'active' AND y.%[1]s IN (?, ?) AND y.%[2]s = memories.%[2]s
			AND y.category = memories.category AND y.key = memories.key AND y.id > memories.id)`
	dropThere   = `DELETE FROM recalled WHERE kind = 'memory' AND scope IN (?, ?) AND ref IN (SELECT id FROM memories WHERE state = 'superseded')`
	rescope     = `UPDATE memories SET scope = ?, updated_at = ? WHERE scope = ?`
	mergedThere = `
		INSERT INTO memory_scopes (scope, merged_to) SELECT ?, merged_to FROM memory_scopes WHERE scope = ?
		ON CONFLICT (scope) DO UPDATE SET merged_to = CASE WHEN excluded.merged_to > memory_scopes.merged_to THEN excluded.merged_to ELSE memory_scopes.merged_to END`

	dropOutdated = `DELETE FROM recalled WHERE kind = 'memory' AND ref IN (SELECT id FROM memories WHERE state = 'superseded' AND person IN (?, ?))`
	joinOwn      = `UPDATE memories SET person = ? WHERE person = ?`
	joinSettings = `UPDATE memory_settings SET person = ? WHERE person = ? AND NOT EXISTS (SELECT 1 FROM memory_settings y WHERE y.person = ?)`
	dropSettings = `DELETE FROM memory_settings WHERE person = ?`

	// DropOver deletes memories that are over.
	DropOver = `
		DELETE FROM memories WHERE id IN (
			SELECT id FROM memories WHERE updated_at <= ? AND state IN ('promoted', 'discarded', 'answered', 'superseded', 'forgotten') AND ` + notCopied + ` ORDER BY updated_at LIMIT 500)`
	// OverLive is for how long at least a memory that is over can be looked at, and brought back.
	OverLive = 31 * 24 * time.Hour

	dropRecalled = `DELETE FROM recalled WHERE kind = 'memory' AND ref IN (SELECT id FROM memories WHERE person = ? AND person <> '')`
	dropScope    = `DELETE FROM recalled WHERE scope = ?`
	// DropSaid deletes what somebody said.
	DropSaid = `DELETE FROM memories WHERE person = ? AND person <> ''`
	// DropOwn deletes what surfaces in a scope.
	DropOwn = `DELETE FROM memories WHERE scope = ?`
)

// Rescope has what surfaced in one scope surface in another: a person is another one, or a group has a new ID.
func Rescope(t *database.Tx, from, to memory.Scope) error {
	if from == to {
		return nil
	}
	if err := t.Run(
		database.Do(fmt.Sprintf(outdated, "scope", "person"), t.Now, from, to, from, to), database.Do(dropThere, from, to), database.Do(rescope, to, t.Now, from),
		database.Do(mergedThere, to, from), database.Do(dropScopes, from),
	); err != nil {
		return err
	}
	return Move(t, from, to)
}

// Join gives what is remembered of a person to another.
func Join(t *database.Tx, to, from string) error {
	if from == "" || to == "" {
		return nil
	}
	for _, name := range []string{from, to} {
		if err := engines.Void(t, engines.Memory, name); err != nil {
			return err
		}
	}
	if err := t.Run(
		database.Do(fmt.Sprintf(outdated, "person", "scope"), t.Now, from, to, from, to),
		database.Do(dropOutdated, from, to),
		database.Do(joinOwn, to, from),
		database.Do(joinSettings, to, from, to),
		database.Do(dropSettings, from),
	); err != nil {
		return err
	}
	return Rescope(t, memory.OfPerson(from), memory.OfPerson(to))
}

// Drop deletes what is remembered of a person: what they said, and what surfaces in their own chats. Of the work under way for them
// nothing is written.
func Drop(t *database.Tx, name string) error {
	if name == "" {
		return nil
	}
	if err := engines.Void(t, engines.Memory, name); err != nil {
		return err
	}
	own := memory.OfPerson(name)
	return t.Run(
		database.Do(dropRecalled, name), database.Do(dropScope, own), database.Do(DropSaid, name), database.Do(DropOwn, own), database.Do(dropSettings, name),
	)
}

package memory

import (
	"fmt"

	"switchboard/agent/memory"
	"switchboard/store/database"
)

const (
	countOf    = `SELECT count(*) FROM memories WHERE person IN (%[1]s) OR scope IN (%[2]s)`
	someTexts  = `SELECT id, scope, category, key, text FROM memories WHERE id > ? AND person NOT IN (%[1]s) AND scope NOT IN (%[2]s) ORDER BY id LIMIT 1000`
	merged     = `SELECT id FROM memories WHERE source = 'merge' AND state IN ('active', 'archived') AND id IN `
	dropIDs    = `DELETE FROM memories WHERE id IN `
	dropScopes = `DELETE FROM memory_scopes WHERE scope = ?`
)

// of fills in a condition on some names, and the scopes of these.
func of(query string, names []string) (string, []any) {
	scopes := make([]string, len(names))
	for i, name := range names {
		scopes[i] = string(memory.OfPerson(name))
	}
	marks, args := database.In(names)
	scopeMarks, scopeArgs := database.In(scopes)
	return fmt.Sprintf(query, marks, scopeMarks), append(args, scopeArgs...)
}

// CountOf is how many memories somebody gave by some names, or has in their own chats.
func CountOf(t *database.Tx, names []string) (n int64, err error) {
	query, args := of(countOf, names)
	_, err = t.Row(query, args, &n)
	return n, err
}

// A Text is what a memory says.
type Text struct {
	ID   int64
	Text string // with what it is called
}

// TextsAfter reads memories of any state that are not of somebody with some names after one, in order, a thousand at a time.
func TextsAfter(t *database.Tx, names []string, after int64) ([]Text, error) {
	query, args := of(someTexts, names)
	return database.Views(t, func(e *memory.Entry) Text { return Text{e.ID, indexedText(e)} }, query, append([]any{after}, args...)...)
}

// Erase deletes all that is remembered of somebody. Who keeps a copy learns of it.
func Erase(t *database.Tx, name string) error {
	if err := Drop(t, name); err != nil {
		return err
	}
	if err := t.Do(dropScopes, memory.OfPerson(name)); err != nil {
		return err
	}
	return RecordErased(t, name)
}

// EraseNaming deletes memories that name somebody who is erased. What else was merged into one is there again.
func EraseNaming(t *database.Tx, ids []int64) error {
	marks, args := database.In(ids)
	made, err := t.IDs(merged+`(`+marks+`)`, args...)
	for _, id := range made {
		if err == nil {
			err = takeApart(t, id)
		}
	}
	if err == nil {
		err = Unindex(t, memory.OfMemory, ids...)
	}
	if err == nil {
		err = t.Do(dropIDs+`(`+marks+`)`, args...)
	}
	return err
}

package memory

import (
	"fmt"
	"slices"

	"switchboard/agent/memory"
	"switchboard/store/database"
)

const (
	countOf    = `SELECT count(*) FROM memories WHERE person IN (%[1]s) OR scope IN (%[2]s)`
	someTexts  = `SELECT id, scope, category, key, text FROM memories WHERE id > ? AND person NOT IN (%[1]s) AND scope NOT IN (%[2]s) ORDER BY id LIMIT 1000`
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

// Delete deletes memories, given in the order of their numbers; the parts of those that were merged and hold are there again. The last goes first, as what
// was merged comes after its parts.
func Delete(t *database.Tx, ids []int64) error {
	for _, id := range slices.Backward(ids) {
		holds, err := t.Has(isMerge, id)
		if err == nil && holds {
			err = takeApart(t, id)
		}
		if err == nil {
			err = drop(t, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

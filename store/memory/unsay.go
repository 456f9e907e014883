package memory

import (
	"maps"
	"slices"
	"strings"
	"time"

	"switchboard/agent/memory"
	routermemory "switchboard/router/memory"
	"switchboard/store/database"
)

const (
	unsayMessages = `DELETE FROM recalled WHERE kind = 'message' AND ref IN (SELECT id FROM messages WHERE turn_id = ?)`
	unsayResults  = `DELETE FROM recalled WHERE kind = 'result' AND ref = ?`
	unsayWords    = `DELETE FROM recalled WHERE kind <> 'memory' AND scope = ? AND id IN (SELECT rowid FROM recalled_words WHERE recalled_words MATCH ?)`
	unsayWordsPG  = `DELETE FROM recalled WHERE kind <> 'memory' AND scope = ? AND CAST(mark || replace(words, ' ', ' ' || mark) AS tsvector) @@ CAST(? AS tsquery)`

	insteadOf = columns + `m.scope = ? AND m.state = 'superseded' AND m.superseded_by = ?`

	// takenBackOf are memories that somebody had forgotten, or corrected, and what is remembered instead.
	takenBackOf = `
		SELECT m.category, m.key, m.text, coalesce(m.turn_id, 0) AS turn, m.updated_at,
			coalesce((SELECT y.category || ' ' || y.key || ' ' || y.text FROM memories y WHERE y.id = m.superseded_by AND y.state IN ('active', 'archived')), '') AS instead
		FROM memories m WHERE (m.scope = ? OR m.scope = 'global' AND m.person = ?) AND m.state IN ('forgotten', 'superseded')
			AND (m.state = 'forgotten' AND m.outcome = 'asked' OR EXISTS (SELECT 1 FROM memories y WHERE y.id = m.superseded_by
				AND (y.source <> 'merge' OR y.state = 'forgotten' AND y.outcome = 'asked')))`

	// waiting are learnings of a person.
	waiting     = `SELECT id, text, coalesce(turn_id, 0) AS turn FROM memories WHERE kind = 'learning' AND state = 'pending' AND person = ?`
	dropLearned = `UPDATE memories SET state = 'discarded', outcome = 'it was forgotten', text = '', updated_at = ? WHERE id = ?`
	// ownSummaries are of somebody's direct chats, groupSummaries of chats in a group: none of both reads what was said there.
	ownSummaries   = `SELECT s.id, s.key, s.summary FROM sessions s JOIN conversations c ON c.id = s.conversation_id WHERE s.person = ? AND s.person <> '' AND c.kind = 'direct' AND s.summary <> '' ORDER BY s.id`
	groupSummaries = `SELECT s.id, s.key, s.summary FROM sessions s WHERE s.summary <> '' AND EXISTS (SELECT 1 FROM recalled r WHERE r.kind = 'summary' AND r.ref = s.id AND r.scope = ?) ORDER BY s.id`
	setSummary     = `UPDATE sessions SET summary = ? WHERE id = ?`
	setWords       = `UPDATE recalled SET words = ? WHERE kind = 'summary' AND ref = ?`
)

// takenBackFor is how long after a memory was forgotten its words are not indexed: what answers that it was has them too.
const takenBackFor = time.Minute

// indexedText is what a memory is found by.
func indexedText(e *memory.Entry) string {
	if e.Key == "" {
		return e.Text
	}
	return e.Category + " " + e.Key + " " + e.Text
}

// unsay lets nobody find a memory that was forgotten or corrected, nor in which words it was said: the messages and results of its turn,
// and what in its scope holds all of its words; the same of those in whose place it stands. Other memories stay.
func unsay(t *database.Tx, e *memory.Entry) error {
	if err := Unindex(t, memory.OfMemory, e.ID); err != nil {
		return err
	}
	if e.Turn > 0 {
		if err := t.Run(database.Do(unsayMessages, e.Turn), database.Do(unsayResults, e.Turn)); err != nil {
			return err
		}
	}
	if err := madeFrom(t, e, unsay); err != nil {
		return err
	}
	x := expressions{t.PG, []string{mark(e.Scope, memory.OfMessage)}}
	var words []string
	for _, term := range memory.Terms(indexedText(e)) {
		words = append(words, x.any(term.Forms))
	}
	if len(words) == 0 {
		return nil
	}
	return t.Do(t.Either(unsayWords, unsayWordsPG), e.Scope, x.and(words...))
}

// madeFrom does something with the memories in whose place one stands.
func madeFrom(t *database.Tx, e *memory.Entry, do func(*database.Tx, *memory.Entry) error) error {
	list, err := database.Select[memory.Entry](t, insteadOf, e.Scope, e.ID)
	for i := range list {
		if err == nil {
			err = do(t, &list[i])
		}
	}
	return err
}

// unlearn has nothing become of memories that are to be forgotten or corrected because somebody wants it: no learning that waits, and no
// sentence of a summary.
func unlearn(t *database.Tx, list []memory.Entry) error {
	if len(list) == 0 {
		return nil
	}
	var was takenBack
	var add func(t *database.Tx, e *memory.Entry) error
	add = func(t *database.Tx, e *memory.Entry) error {
		was.add(e)
		return madeFrom(t, e, add)
	}
	people, groups := map[string]bool{}, map[memory.Scope]bool{}
	for i := range list {
		if err := add(t, &list[i]); err != nil {
			return err
		}
	}
	for _, e := range was {
		name, own := strings.CutPrefix(string(e.Scope), string(memory.OfPerson("")))
		if people[e.Person] = true; own {
			people[name] = true
		} else if e.Scope != memory.Global {
			groups[e.Scope] = true
		}
	}
	type chat struct {
		ID           int64
		Key, Summary string
	}
	var chats []chat
	for _, name := range slices.Sorted(maps.Keys(people)) {
		learned, err := database.Select[memory.Entry](t, waiting, name)
		for i := range learned {
			if l := &learned[i]; err == nil && was.saidIn(l.Turn, l.Text, time.Time{}) {
				err = t.Do(dropLearned, t.Now, l.ID)
			}
		}
		if err != nil {
			return err
		}
		own, err := database.Select[chat](t, ownSummaries, name)
		if err != nil {
			return err
		}
		chats = append(chats, own...)
	}
	for _, scope := range slices.Sorted(maps.Keys(groups)) {
		of, err := database.Select[chat](t, groupSummaries, scope)
		if err != nil {
			return err
		}
		chats = append(chats, of...)
	}
	for _, c := range chats {
		all := memory.Sentences(c.Summary)
		left := slices.DeleteFunc(slices.Clone(all), func(sentence string) bool {
			words := memory.Words(sentence)
			for i := range was { // where it was said, a model may have said it in other words
				if e := &was[i]; memory.HasAll(words, e.terms) || e.Session == c.Key && memory.HasMost(words, e.terms) {
					return true
				}
			}
			return false
		})
		if len(left) == len(all) {
			continue
		}
		text := strings.Join(left, " ")
		err := t.Run(database.Do(setSummary, text, c.ID), database.Do(setWords, memory.Words(text), c.ID))
		if err == nil && text == "" {
			err = Unindex(t, memory.OfSummary, c.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// takenBack are memories that somebody had forgotten, or corrected.
type takenBack []taken

// A taken is one of them, with what finds it.
type taken struct {
	memory.Entry
	terms []memory.Term
}

func (was *takenBack) add(e *memory.Entry) {
	*was = append(*was, taken{*e, memory.Terms(indexedText(e))})
}

// takenBackIn are those of the place of a session, and those of everybody that its person had said. One that is said with what is
// remembered instead is none.
func takenBackIn(t *database.Tx, r *routermemory.Resting) (was takenBack, err error) {
	list, err := database.Select[struct {
		memory.Entry
		Instead string
	}](t, takenBackOf, r.Place(r.Person).Own(), r.Person)
	for i := range list {
		if e := &list[i]; e.Instead == "" || !memory.HasAll(memory.Words(e.Instead), memory.Terms(indexedText(&e.Entry))) {
			was.add(&e.Entry)
		}
	}
	return was, err
}

// saidIn says that a text said one of them before that was so, or was said in its turn. Without a time it always did.
func (was takenBack) saidIn(turn int64, text string, at time.Time) bool {
	if len(was) == 0 {
		return false
	}
	words := memory.Words(database.Clean(text))
	for i := range was {
		if e := &was[i]; turn > 0 && e.Turn == turn || !at.After(e.UpdatedAt.Add(takenBackFor)) && memory.HasAll(words, e.terms) {
			return true
		}
	}
	return false
}

// index is Index, but for what said one of them.
func (was takenBack) index(t *database.Tx, i Indexed) error {
	turn, at := i.Turn, i.SaidAt
	if i.Record == memory.OfSummary {
		at = time.Time{}
	}
	switch hidden := was.saidIn(turn, i.Text, at); {
	case hidden && i.Record == memory.OfResult:
		return nil
	case hidden:
		return Unindex(t, i.Record, i.Ref)
	}
	return Index(t, i)
}

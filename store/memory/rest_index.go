package memory

import (
	"context"
	"fmt"

	"switchboard/agent/memory"
	"switchboard/agent/tools"
	"switchboard/router/core"
	routermemory "switchboard/router/memory"
	"switchboard/store/database"
)

// indexMost is how many rows one transaction indexes, shownMost how many bytes of one are read.
const indexMost, shownMost = 50, 8 << 10

const (
	// toIndex: what people wrote in their own words, a revision in place of what it revises.
	toIndex = `
		SELECT id, coalesce(turn_id, 0) AS turn, person, coalesce(said, text) AS text, coalesce(replaces, 0) AS replaces,
			direction = 'in' AND class IN ('turn', 'revision') AND person <> '' AND outside = FALSE AND origin IN ('chat', 'api') AND coalesce(said, text) NOT LIKE '/%' AND id > ? AS own,
			CASE WHEN happened_at > 0 THEN happened_at ELSE created_at END AS at
		FROM messages WHERE session_id = ? AND id > ? ORDER BY id LIMIT ?`
	revised = `SELECT id FROM messages WHERE session_id = ? AND id < ? AND (id = ? OR replaces = ?)`
	// openBefore is the first turn that has not ended: what it brings comes later.
	openBefore = `SELECT coalesce(min(id), 9223372036854775807) FROM turns WHERE session_id = ? AND state IN ('queued', 'running', 'waiting')`
	turnsAfter = `SELECT id FROM turns WHERE session_id = ? AND id > ? AND id < ? ORDER BY id LIMIT ?`
	// results: not what was remembered already, nor what came of a message that was taken back.
	results = `
		SELECT t.id AS turn, k.attempt, k.position, t.person, k.output AS text, k.taint, coalesce(k.finished_at, k.created_at) AS at
		FROM turns t JOIN messages m ON m.id = t.message_id JOIN tasks k ON k.turn_id = t.id JOIN reviews v ON v.turn_id = k.turn_id AND v.attempt = k.attempt AND v.position = k.position
		WHERE t.id IN (%s) AND t.message_id > ? AND v.status = 'ok' AND k.state = 'done' AND k.output <> '' AND coalesce(k.tool, '') NOT LIKE 'memory.%%'
			AND (m.text <> '' OR m.attachments > 0) ORDER BY t.id, k.attempt, k.position`
	indexedTo = `UPDATE sessions SET indexed_to = ?, indexed_turn = ? WHERE id = ? AND indexed_to = ? AND indexed_turn = ?` + asItWas
)

// surfaces says that what somebody said there is found: in a group, and in a direct chat if the chat is theirs. Somebody may have the
// name of who wrote there before.
func surfaces(r *routermemory.Resting, person string) bool {
	return !r.Private && (!r.Direct || person != "" && person == r.Person)
}

// IndexRest implements routermemory.RestStore. Of a private session nothing is found, and it is gone through all the same.
func (s *Store) IndexRest(ctx context.Context, r *routermemory.Resting) (more bool, err error) {
	err = s.under(ctx, "index what was said", r, func(t *database.Tx) error {
		was, err := takenBackIn(t, r)
		if err != nil {
			return err
		}
		to, err := indexMessages(t, r, was)
		if err != nil {
			return err
		}
		turn, err := indexResults(t, r, was)
		if more = err == nil && (to > r.IndexedTo || turn > r.IndexedTurn); !more {
			return err
		}
		return t.Change(core.ErrConflict, indexedTo, to, turn, r.Session, r.IndexedTo, r.IndexedTurn, r.Reset, r.Private)
	})
	return more, err
}

func indexMessages(t *database.Tx, r *routermemory.Resting, was takenBack) (to int64, err error) {
	list, err := database.Select[struct {
		ID, Turn, Replaces int64
		Person, Text       string
		Own                bool
		At                 int64
	}](t, toIndex, r.Reset, r.Session, r.IndexedTo, indexMost)
	if err != nil {
		return 0, err
	}
	to = r.IndexedTo
	denied := deniedBy{}
	for _, m := range list {
		to = m.ID
		if m.Replaces > 0 {
			former, err := t.IDs(revised, r.Session, m.ID, m.Replaces, m.Replaces)
			if err == nil {
				err = Unindex(t, memory.OfMessage, former...)
			}
			if err != nil {
				return 0, err
			}
		}
		if !m.Own || m.Text == "" || !surfaces(r, m.Person) {
			continue
		}
		if denied, err := denied.says(t, r, m.Person, m.Text); err != nil {
			return 0, err
		} else if denied {
			continue
		}
		if err := was.index(t, Indexed{
			Record: memory.OfMessage, Ref: m.ID, Scope: r.Place(m.Person).Own(), Session: r.Session, Turn: m.Turn, SaidAt: database.Instant(m.At), Text: tools.Shorten(m.Text, shownMost, 0),
		}); err != nil {
			return 0, err
		}
	}
	return to, nil
}

// deniedBy are the categories of which nothing is to be remembered, by person.
type deniedBy map[string][]string

// says that a text is of such a category.
func (d deniedBy) says(t *database.Tx, r *routermemory.Resting, person, text string) (bool, error) {
	if _, known := d[person]; !known {
		own, err := settings(t, person)
		if err != nil {
			return false, err
		}
		d[person] = append(own.Denied, r.Denied...)
	}
	return memory.Denied(d[person], "", text) != "", nil
}

// indexResults has what reviewed tasks brought found, of turns that have ended.
func indexResults(t *database.Tx, r *routermemory.Resting, was takenBack) (to int64, err error) {
	var before int64
	if _, err = t.Row(openBefore, []any{r.Session}, &before); err != nil {
		return 0, err
	}
	ids, err := t.IDs(turnsAfter, r.Session, r.IndexedTurn, before, indexMost)
	if err != nil || len(ids) == 0 {
		return r.IndexedTurn, err
	}
	marks, args := database.In(ids)
	list, err := database.Select[struct {
		Turn              int64
		Attempt, Position int
		Person, Text      string
		Taint             tools.Taint
		At                int64
	}](t, fmt.Sprintf(results, marks), append(args, r.Reset)...)
	if err != nil {
		return 0, err
	}
	for _, k := range list {
		if !surfaces(r, k.Person) {
			continue
		}
		if err := was.index(t, Indexed{
			Record: memory.OfResult, Ref: k.Turn, Attempt: k.Attempt, Position: k.Position, Scope: r.Place(k.Person).Own(), Session: r.Session, Turn: k.Turn, Taint: k.Taint,
			SaidAt: database.Instant(k.At), Text: tools.Shorten(k.Text, shownMost, 0),
		}); err != nil {
			return 0, err
		}
	}
	return ids[len(ids)-1], nil
}

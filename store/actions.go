package store

import (
	"strconv"
	"strings"

	"switchboard/agent/tools"
	"switchboard/router"
)

const (
	insertAction = `
		INSERT INTO actions (code, kind, state, person, session_id, turn_id, message_id, text, number, created_at, expires_at)
		VALUES (?, ?, 'proposed', ?, ?, ?, ?, ?, ?, ?, ?)`
	actionColumns = `
		SELECT a.id, a.kind, a.state, a.person, a.message_id, a.text, a.expires_at, m.taint
		FROM actions a JOIN messages m ON m.id = a.message_id `
	actionOf = actionColumns + `WHERE a.code = ? AND a.session_id = ?`
	// numbered is the choice of that number in the newest open question.
	numbered = actionColumns + `
		WHERE a.session_id = ? AND a.state = 'proposed' AND a.kind = 'choice' AND (a.person = '' OR a.person = ?) AND a.expires_at > ?
		ORDER BY a.message_id DESC, CASE WHEN a.number = ? THEN 0 ELSE 1 END, a.id LIMIT 1`
	numberOf       = `SELECT number FROM actions WHERE id = ?`
	setAction      = `UPDATE actions SET state = ?, outcome = ?, used_by = ?, used_at = ? WHERE id = ? AND state = 'proposed'`
	cancelSiblings = `
		UPDATE actions SET state = 'cancelled', outcome = 'answered', used_at = ?
		WHERE message_id = ? AND id <> ? AND kind = 'choice' AND state = 'proposed'`
)

type actionRow struct {
	ID          int64
	Kind, State string
	Person      string
	MessageID   int64 `db:"message_id"`
	Text        string
	ExpiresAt   int64 `db:"expires_at"`
	Taint       tools.Taint
}

// propose stores the actions that stand under a message of ours.
func (t *tx) propose(session, turn, message int64, actions []router.Action) error {
	for _, a := range actions {
		_, err := t.exec(insertAction, a.Code, clean(a.Kind), clean(a.Person), orNull(session), orNull(turn), message,
			clean(a.Text), a.Number, t.now, micros(a.ExpiresAt))
		if err != nil {
			return err
		}
	}
	return nil
}

// acceptAction uses an action, once: what it says becomes a turn. A number that
// answers no open question is a message like any other.
func (t *tx) acceptAction(owner int64, e *router.Entry, a *router.Accepted, conversation int64) error {
	row, found, err := t.action(e, a.SessionID)
	if err != nil {
		return err
	}
	if !found {
		if e.ActionNumber {
			return t.acceptTurn(owner, e, a, conversation, letter{class: string(router.ClassTurn)})
		}
		return nil
	}
	a.Action = router.ActionState(row.State)
	switch {
	case row.Person != "" && row.Person != clean(e.Person):
		a.NotYours = true
		return nil
	case a.Action == router.ActionAccepted:
		a.Action = router.ActionCancelled // the answer was given before
		return nil
	case a.Action != router.ActionProposed:
		return nil
	case row.ExpiresAt <= t.now:
		a.Action = router.ActionExpired
		_, err := t.exec(setAction, string(router.ActionExpired), "late", clean(e.Person), t.now, row.ID)
		return err
	}
	chosen, l := *e, letter{class: string(router.ClassTurn)}
	chosen.Event.Message.Text = row.Text
	chosen.Taint = e.Taint.Join(row.Taint)
	if e.ActionNumber {
		l.typed = clean(e.Event.Message.Text)
	}
	if err := t.acceptTurn(owner, &chosen, a, conversation, l); err != nil || a.Busy || a.Duplicate {
		return err // it may be used later
	}
	a.Action = router.ActionAccepted
	if _, err := t.exec(setAction, string(router.ActionAccepted), "used", clean(e.Person), t.now, row.ID); err != nil {
		return err
	}
	_, err = t.exec(cancelSiblings, t.now, row.MessageID, row.ID)
	return err
}

// action finds the action that an entry means.
func (t *tx) action(e *router.Entry, session int64) (row actionRow, found bool, err error) {
	query, args := actionOf, []any{e.Action, session}
	number := 0
	if e.ActionNumber {
		if number, err = strconv.Atoi(strings.TrimSpace(e.Event.Message.Text)); err != nil || number < 1 {
			return row, false, nil
		}
		query, args = numbered, []any{session, clean(e.Person), t.now, number}
	}
	found, err = t.row(query, args, &row.ID, &row.Kind, &row.State, &row.Person, &row.MessageID, &row.Text, &row.ExpiresAt, &row.Taint)
	if err != nil || !found || !e.ActionNumber {
		return row, found, err
	}
	var is int
	found, err = t.row(numberOf, []any{row.ID}, &is)
	return row, found && is == number, err
}

package store

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/ledger"
)

const (
	insertAction = `
		INSERT INTO actions (code, kind, state, person, session_id, turn_id, message_id, approval_id, text, number, data, created_at, expires_at)
		VALUES (?, ?, 'proposed', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	actionColumns = `
		SELECT a.id, a.kind, a.state, a.person, a.message_id, coalesce(a.turn_id, 0) AS turn_id, coalesce(a.approval_id, 0) AS approval_id, a.text, a.number, a.data, a.expires_at, m.taint
		FROM actions a JOIN messages m ON m.id = a.message_id `
	actionOf = actionColumns + `WHERE a.code = ? AND a.session_id = ? AND a.kind IN ('choice', 'command', 'approval')`
	// openChoices are those of all open questions, the newest question first.
	openChoices = actionColumns + `
		WHERE a.session_id = ? AND a.state = 'proposed' AND a.kind = 'choice' AND (a.person = '' OR a.person = ?) AND a.expires_at > ?
		ORDER BY a.message_id DESC, a.id`
	// uselessOf is where the buttons of a message are shown, under its last text, if none can be
	// used any more.
	uselessOf = `
		SELECT platform_id FROM deliveries WHERE message_id = ? AND state = 'sent' AND extra LIKE '{"buttons":%'
		AND NOT EXISTS (SELECT 1 FROM actions WHERE message_id = deliveries.message_id AND state = 'proposed' AND expires_at > ?)
		ORDER BY part DESC LIMIT 1`
	// allAnswered also names the approval, if it is decided: of a link one side may have confirmed it.
	allAnswered = `
		SELECT coalesce(p.id, 0) FROM actions a LEFT JOIN approvals p ON p.id = a.approval_id AND p.state <> 'proposed' WHERE a.message_id = ?
		AND NOT EXISTS (SELECT 1 FROM actions o WHERE o.message_id = a.message_id AND o.state = 'proposed') LIMIT 1`
	setAction      = `UPDATE actions SET state = ?, outcome = ?, used_by = ?, used_at = ? WHERE id = ? AND state = 'proposed'`
	cancelSiblings = `
		UPDATE actions SET state = 'cancelled', outcome = 'answered', used_at = ?
		WHERE message_id = ? AND id <> ? AND kind = ? AND state = 'proposed'`
)

// numbers are what a choice can be typed by.
var numbers = regexp.MustCompile(`^[1-9][0-9]?$`)

type actionRow struct {
	ID                  int64
	Kind, State, Person string
	MessageID           int64 `db:"message_id"`
	TurnID              int64 `db:"turn_id"`     // of the message; 0: none
	Approval            int64 `db:"approval_id"` // that it decides; 0: none
	Text                string
	Number              int
	Data                string
	ExpiresAt           int64 `db:"expires_at"`
	Taint               tools.Taint
}

// actionData is what is kept of an action besides columns.
type actionData struct {
	Does   ledger.Does `json:"does,omitempty"`
	Either bool        `json:"either,omitempty"`
}

// propose stores the actions that stand under a message of ours.
func (t *tx) propose(session, turn, message int64, actions []ledger.Action) error {
	for _, a := range actions {
		_, err := t.Exec(insertAction, a.Code, clean(a.Kind), clean(a.Person), orNull(session), orNull(turn), message, orNull(a.Approval),
			clean(a.Text), a.Number, jsonText(actionData{a.Does, a.Either}), t.now, micros(a.ExpiresAt))
		if err != nil {
			return err
		}
	}
	return nil
}

// acceptAction uses an action, once: what it says becomes a turn. What was typed (there is
// no code) and answers no open question is a message like any other.
func (t *tx) acceptAction(owner int64, e *ledger.Entry, code []byte, turn ledger.AsTurn, a *ledger.Accepted, conversation int64) error {
	row, err := t.action(e, code, a.SessionID)
	if err != nil {
		return err
	}
	typed := len(code) == 0
	if row == nil {
		if typed {
			return t.acceptTurn(owner, e, turn, a, conversation, form{class: classTurn})
		}
		return nil
	}
	if row.Approval != 0 {
		return t.pressDecision(e, row, a)
	}
	if usable, err := t.usable(e, row, a); err != nil || !usable {
		return err
	}
	if row.Kind == ledger.ActionCommand {
		return t.say(e, a, conversation, classNotice, ledger.CommandPressed)
	}
	chosen, f := *e, form{class: classTurn}
	chosen.Event.Message.Text = row.Text
	// A choice has the taint of the question: then its words are not the person's own.
	chosen.Event.Message.Enclosed, chosen.Taint = row.Taint != tools.Clean, row.Taint.Join(e.Taint)
	if typed {
		f.typed = clean(e.Event.Message.Text)
	}
	if err := t.choose(owner, row, &chosen, turn, a, conversation, f); err != nil || a.Situation == ledger.SituationBusy || a.Duplicate {
		return err // it may be used later
	}
	a.Action = ledger.ActionAccepted
	if err := t.run(
		statement{setAction, []any{string(ledger.ActionAccepted), "used", clean(e.Sender.Person), t.now, row.ID}},
		statement{cancelSiblings, []any{t.now, row.MessageID, row.ID, row.Kind}},
	); err != nil {
		return err
	}
	return t.question(row, a)
}

// usable says whether the sender of an entry may use an action now. What it says of it is in a.
func (t *tx) usable(e *ledger.Entry, row *actionRow, a *ledger.Accepted) (bool, error) {
	a.Action = ledger.ActionState(row.State)
	if row.Kind == ledger.ActionCommand {
		a.Command = row.Text
	}
	switch {
	case row.Person != "" && row.Person != clean(e.Sender.Person):
		a.NotYours = true
		return false, nil
	case a.Action == ledger.ActionAccepted:
		a.Action = ledger.ActionCancelled // the answer was given before
		return false, t.question(row, a)
	case a.Action != ledger.ActionProposed:
		return false, t.question(row, a)
	case row.ExpiresAt <= t.now:
		a.Action = ledger.ActionExpired
		if _, err := t.Exec(setAction, string(ledger.ActionExpired), "late", clean(e.Sender.Person), t.now, row.ID); err != nil {
			return false, err
		}
		return false, t.question(row, a)
	}
	return true, nil
}

// useButton uses up the button by which a command was given; false: it cannot be used any more.
func (t *tx) useButton(e *ledger.Entry, a *ledger.Accepted) (bool, error) {
	row, err := t.action(e, e.Button, a.SessionID)
	if err != nil || row == nil {
		return false, err
	}
	if usable, err := t.usable(e, row, a); err != nil || !usable {
		return false, err
	}
	if _, err := t.Exec(setAction, string(ledger.ActionAccepted), "used", clean(e.Sender.Person), t.now, row.ID); err != nil {
		return false, err
	}
	if data, err := row.stored(); err != nil {
		return false, err
	} else if data.Either {
		if _, err := t.Exec(cancelSiblings, t.now, row.MessageID, row.ID, row.Kind); err != nil {
			return false, err
		}
	}
	a.Action = ledger.ActionAccepted
	return true, t.question(row, a)
}

// pressDecision decides an approval by a button.
func (t *tx) pressDecision(e *ledger.Entry, row *actionRow, a *ledger.Accepted) error {
	data, err := row.stored()
	if err != nil || data.Does == "" {
		return err // it is a code, and no button
	}
	_, err = t.decide(new(*e), row, &ledger.AsDecision{Does: data.Does}, a)
	if err == nil && !a.NotYours {
		err = t.question(row, a)
	}
	return err
}

// stored reads the action's data.
func (r *actionRow) stored() (data actionData, err error) {
	if err := json.Unmarshal([]byte(r.Data), &data); err != nil {
		return data, fmt.Errorf("stored action %d: %w", r.ID, err)
	}
	return data, nil
}

// choose does what a choice does; its text is the message of the entry.
func (t *tx) choose(owner int64, row *actionRow, chosen *ledger.Entry, turn ledger.AsTurn, a *ledger.Accepted, conversation int64, f form) error {
	data, err := row.stored()
	if err != nil {
		return err
	}
	switch data.Does {
	case ledger.DoesRetry:
		turn.Retry = &ledger.Retry{Turn: row.TurnID}
		return t.acceptRetry(owner, chosen, turn, a, conversation, f, row.MessageID)
	case ledger.DoesLeave:
		return t.declineRetry(chosen, a, conversation, f, ledger.ChoiceLeft)
	}
	return t.acceptTurn(owner, chosen, turn, a, conversation, f)
}

// question says where the buttons of an action are shown, if none of them can be used any more.
func (t *tx) question(row *actionRow, a *ledger.Accepted) error {
	_, err := t.Row(uselessOf, []any{row.MessageID, t.now}, &a.Question)
	return err
}

// Useless implements delivery.Outbox.
func (r *Router) Useless(ctx context.Context, message int64) (id channels.MessageID, err error) {
	err = r.db.read(ctx, "look where used buttons are shown", func(t *tx) error {
		_, err := t.Row(uselessOf, []any{message, t.now}, &id)
		return err
	})
	return id, err
}

// Answered implements delivery.Outbox.
func (r *Router) Answered(ctx context.Context, message int64) (over bool, approval int64, err error) {
	err = r.db.read(ctx, "look for open choices", func(t *tx) error {
		over, err = t.Row(allAnswered, []any{message}, &approval)
		return err
	})
	return over, approval, err
}

// action finds the action that an entry means; nil: none.
func (t *tx) action(e *ledger.Entry, code []byte, session int64) (*actionRow, error) {
	var rows []actionRow
	if len(code) > 0 {
		if err := t.All(&rows, actionOf, code, session); err != nil || len(rows) == 0 {
			return nil, err
		}
		return &rows[0], nil
	}
	if err := t.All(&rows, openChoices, session, clean(e.Sender.Person), t.now); err != nil || len(rows) == 0 {
		return nil, err
	}
	text := strings.TrimSpace(e.Event.Message.Text)
	number, _ := strconv.Atoi(numbers.FindString(text))
	return typedChoice(rows, text, number), nil
}

// typedChoice is the choice that a text means, of all that are open, the newest
// question first; nil: none. A label counts where no second question has it. A number
// above 0 is also a place in the newest question, where a label goes before it all the
// same, for labels may be numbers.
func typedChoice(open []actionRow, text string, number int) *actionRow {
	var labelled, numbered *actionRow
	alone := true
	for i := range open {
		row := &open[i]
		switch {
		case strings.EqualFold(strings.TrimSpace(row.Text), text):
			if labelled == nil {
				labelled = row
			}
			alone = alone && row.MessageID == labelled.MessageID
		case number > 0 && row.Number == number && row.MessageID == open[0].MessageID:
			numbered = row
		}
	}
	switch {
	case labelled != nil && labelled.MessageID == open[0].MessageID && number > 0:
		return labelled
	case numbered != nil:
		return numbered
	case labelled != nil && alone:
		return labelled
	}
	return nil
}

package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/store/database"
	"switchboard/store/sessions"
)

const (
	insertAction = `
		INSERT INTO actions (code, kind, state, person, session_id, turn_id, message_id, approval_id, text, number, data, created_at, expires_at)
		VALUES (?, ?, 'proposed', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	// ActionColumns read an ActionRow.
	ActionColumns = `
		SELECT a.id, a.code, a.kind, a.state, a.person, a.message_id, coalesce(a.turn_id, 0) AS turn_id, coalesce(a.approval_id, 0) AS approval_id, a.text, a.number, a.data, a.expires_at, m.taint
		FROM actions a JOIN messages m ON m.id = a.message_id `
	actionOf = ActionColumns + `WHERE a.code = ? AND a.session_id = ? AND a.kind IN ('choice', 'command', 'approval')`
	askedBy  = ActionColumns + `WHERE a.code = ? AND a.kind = 'approval'`
	// openChoices are those of all open questions, the newest question first. A command is one right after it was offered.
	openChoices = ActionColumns + `
		WHERE a.session_id = ? AND a.state = 'proposed' AND (a.kind = 'choice' OR a.number <> 0
			AND NOT EXISTS (SELECT 1 FROM messages n WHERE n.session_id = a.session_id AND n.id > a.message_id)) AND (a.person = '' OR a.person = ?) AND a.expires_at > ?
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
	// SetAction ends an open action.
	SetAction = `UPDATE actions SET state = ?, outcome = ?, used_by = ?, used_at = ? WHERE id = ? AND state = 'proposed'`
	// CancelSiblings ends the other actions under a message.
	CancelSiblings = `
		UPDATE actions SET state = 'cancelled', outcome = 'answered', used_at = ?
		WHERE message_id = ? AND id <> ? AND kind = ? AND state = 'proposed'`
)

// numbers are what a choice can be typed by.
var numbers = regexp.MustCompile(`^[1-9][0-9]?$`)

// An ActionRow is a button, or a code.
type ActionRow struct {
	ID, MessageID, ExpiresAt        int64
	Code                            []byte
	Kind, State, Person, Text, Data string
	TurnID                          int64 // of the message; 0: none
	Approval                        int64 `db:"approval_id"` // that it decides; 0: none
	Number                          int
	Taint                           tools.Taint
}

// actionData is what is kept of an action besides columns.
type actionData struct {
	Does   outbox.Does `json:"does,omitempty"`
	Either bool        `json:"either,omitempty"`
}

// propose stores the actions that stand under a message of ours.
func propose(t *database.Tx, session, turn, message int64, actions []outbox.Action) error {
	for _, a := range actions {
		_, err := t.Exec(insertAction, a.Code, a.Kind, a.Person, sessions.OrNull(session), sessions.OrNull(turn), message, sessions.OrNull(a.Approval),
			a.Text, a.Number, database.JSONText(actionData{a.Does, a.Either}), t.Now, a.ExpiresAt)
		if err != nil {
			return err
		}
	}
	return nil
}

// Usable says whether the sender of an entry may use an action now. What it says of it is in a.
func Usable(t *database.Tx, e *intake.Entry, row *ActionRow, a *intake.Accepted) (bool, error) {
	a.Action = outbox.ActionState(row.State)
	if row.Kind == outbox.ActionCommand {
		a.Command, a.Button = row.Text, row.Code
	}
	switch {
	case row.Person != "" && row.Person != database.Clean(e.Sender.Person):
		a.NotYours = true
		return false, nil
	case a.Action == outbox.ActionAccepted:
		a.Action = outbox.ActionCancelled // the answer was given before
		return false, Question(t, row, a)
	case a.Action != outbox.ActionProposed:
		return false, Question(t, row, a)
	case row.ExpiresAt <= t.Now:
		a.Action = outbox.ActionExpired
		if err := t.Do(SetAction, outbox.ActionExpired, "late", e.Sender.Person, t.Now, row.ID); err != nil {
			return false, err
		}
		return false, Question(t, row, a)
	}
	return true, nil
}

// UseButton uses up the button by which a command was given; false: it cannot be used any more.
func UseButton(t *database.Tx, e *intake.Entry, a *intake.Accepted) (bool, error) {
	row, err := Action(t, e, e.Button, a.SessionID)
	if err != nil || row == nil {
		return false, err
	}
	if usable, err := Usable(t, e, row, a); err != nil || !usable {
		return false, err
	}
	if err := t.Do(SetAction, outbox.ActionAccepted, "used", e.Sender.Person, t.Now, row.ID); err != nil {
		return false, err
	}
	if data, err := row.Stored(); err != nil {
		return false, err
	} else if data.Either {
		if err := t.Do(CancelSiblings, t.Now, row.MessageID, row.ID, row.Kind); err != nil {
			return false, err
		}
	}
	a.Action = outbox.ActionAccepted
	return true, Question(t, row, a)
}

// Stored reads the action's data.
func (r *ActionRow) Stored() (data actionData, err error) {
	if err := json.Unmarshal([]byte(r.Data), &data); err != nil {
		return data, fmt.Errorf("stored action %d: %w", r.ID, err)
	}
	return data, nil
}

// Question says where the buttons of an action are shown, if none of them can be used any more.
func Question(t *database.Tx, row *ActionRow, a *intake.Accepted) error {
	_, err := t.Row(uselessOf, []any{row.MessageID, t.Now}, &a.Question)
	return err
}

// Useless is under which ID a message of ours shows buttons of which none can be used any more; empty:
// nowhere.
func (r *Store) Useless(ctx context.Context, message int64) (channels.MessageID, error) {
	return database.Value[channels.MessageID](ctx, r.DB, "look where used buttons are shown", uselessOf, message, r.Now())
}

// Answered says that there were choices under a message of ours and none of them can be made any more;
// approval is what they decided, 0 where it was no approval.
func (r *Store) Answered(ctx context.Context, message int64) (over bool, approval int64, err error) {
	over, err = r.ReadRow(ctx, "look for open choices", allAnswered, []any{message}, &approval)
	return over, approval, err
}

// Action finds the action that an entry means; nil: none.
func Action(t *database.Tx, e *intake.Entry, code []byte, session int64) (*ActionRow, error) {
	if len(code) > 0 {
		return database.First[ActionRow](t, actionOf, code, session)
	}
	rows, err := database.Select[ActionRow](t, openChoices, session, e.Sender.Person, t.Now)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	text := strings.TrimSpace(e.Event.Message.Text)
	number, _ := strconv.Atoi(numbers.FindString(text))
	return typedChoice(rows, text, number), nil
}

// Asked finds what an approval's code means, wherever it was asked; nil: nothing.
func Asked(t *database.Tx, code []byte) (*ActionRow, error) {
	return database.First[ActionRow](t, askedBy, code)
}

// typedChoice is the choice that a text means, of all that are open, the newest
// question first; nil: none. A label counts where no second question has it. A number
// above 0 is also a place in the newest question, where a label goes before it all the
// same, for labels may be numbers.
func typedChoice(open []ActionRow, text string, number int) *ActionRow {
	var labelled, numbered *ActionRow
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
	case open[0].Number == outbox.NextWords:
		return &open[0]
	}
	return nil
}

package turns

import (
	"bytes"
	"slices"
	"strings"

	"switchboard/store/database"
)

// blot stands where a credential stood.
const blot = "[redacted]"

// readBy are the messages of a turn, and those of its session that belong to none: what
// was edited after its answer, notes, and replies to commands, which all repeat what was
// typed and are read by later turns. With them are the turn's questions in other sessions.
const readBy = `
	WITH t AS (SELECT id, session_id FROM turns WHERE id = ?)
	SELECT m.id FROM t JOIN messages m ON m.session_id = t.session_id AND (m.turn_id IS NULL OR m.turn_id = t.id)
	UNION ALL SELECT message_id FROM actions WHERE approval_id IN (SELECT id FROM approvals WHERE turn_id = (SELECT id FROM t))`

// blots are the statements that put blot into every text of a turn's rows; each
// takes the credential for every ? but the last, which is the turn.
var blots = []string{
	blotOut("messages", "id IN ("+readBy+")", "text", "quote", "said", "choices", "metadata"),
	blotOut("sessions", "id = (SELECT session_id FROM turns WHERE id = ?)", "instructions"),
	blotOut("attachments", "message_id IN ("+readBy+")", "name"),
	blotOut("deliveries", "message_id IN ("+readBy+")", "text", "rich", "extra", "noted", "detail"),
	blotOut("actions", "message_id IN ("+readBy+")", "text"),
	blotOut("approvals", "turn_id = ?", "shown", "why"),
	blotOut("plans", "turn_id = ?", "goal", "secrets"),
	blotOut("tasks", "turn_id = ?", "detail", "args", "expect", "choices", "answer", "output", "hint"),
	blotOut("reviews", "turn_id = ?", "reason", "learn"),
	blotOut("memories", "turn_id = ?", "text", "category", "key"),
	blotOut("llm_calls", "turn_id = ?", "error", "refused"),
	blotOut("events", "turn_id = ?", "data"),
}

// unfound are statements of the same arguments that have nobody find by its words what a credential stood in.
var unfound = []string{
	`DELETE FROM recalled WHERE kind = 'message' AND ref IN (
		SELECT id FROM messages WHERE text || coalesce(said, '') <> replace(text || coalesce(said, ''), ?, '') AND id IN (` + readBy + `))`,
	`DELETE FROM recalled WHERE kind = 'result' AND EXISTS (SELECT 1 FROM tasks k WHERE k.turn_id = recalled.ref AND k.attempt = recalled.attempt
		AND k.position = recalled.position AND k.output <> replace(k.output, ?, '')) AND ref = ?`,
	`DELETE FROM recalled WHERE kind = 'memory' AND ref IN (SELECT id FROM memories WHERE text <> replace(text, ?, '') AND turn_id = ?)`,
}

func blotOut(table, where string, columns ...string) string {
	for i, c := range columns {
		columns[i] = c + " = replace(" + c + ", ?, '" + blot + "')"
	}
	return "UPDATE " + table + " SET " + strings.Join(columns, ", ") + " WHERE " + where
}

const (
	selectBodies = `SELECT step, answer, request, response FROM llm_bodies WHERE turn_id = ?`
	updateBody   = `UPDATE llm_bodies SET answer = ?, request = ?, response = ? WHERE turn_id = ? AND step = ?`
)

// redact replaces credentials in everything that is stored of a turn.
func redact(t *database.Tx, turn int64, secrets []string) error {
	done, err := database.Overwriting(t)
	if err != nil {
		return err
	}
	defer done()
	// What a turn answers that is tried again was said in the turns it retries.
	former, err := t.IDs(retriesOf, turn)
	if err != nil {
		return err
	}
	forms := writtenForms(secrets)
	for _, id := range append(former, turn) {
		if err := blotOne(t, id, forms); err != nil {
			return err
		}
	}
	return nil
}

// blotOne puts blot in the place of each form in the rows of one turn.
func blotOne(t *database.Tx, turn int64, forms []string) error {
	for _, form := range forms {
		for _, query := range slices.Concat(unfound, blots) {
			args := slices.Repeat([]any{form}, strings.Count(query, "?")-1)
			if err := t.Do(query, append(args, turn)...); err != nil {
				return err
			}
		}
	}
	return redactBodies(t, turn, forms)
}

// redactBodies does the same inside the compressed requests and answers.
func redactBodies(t *database.Tx, turn int64, forms []string) error {
	type row struct {
		Step                      string
		Answer, Request, Response []byte
	}
	rows, err := database.Select[row](t, selectBodies, turn)
	if err != nil {
		return err
	}
	for _, row := range rows {
		for _, body := range []*[]byte{&row.Answer, &row.Request, &row.Response} {
			text, err := Unpack(*body)
			if err != nil {
				return err
			}
			for _, form := range forms {
				text = bytes.ReplaceAll(text, []byte(form), []byte(blot))
			}
			*body = pack(text)
		}
		if err := t.Do(updateBody, row.Answer, row.Request, row.Response, turn, row.Step); err != nil {
			return err
		}
	}
	return nil
}

// writtenForms are the ways a credential is written in rows: as it is, and inside
// JSON.
func writtenForms(secrets []string) []string {
	var forms []string
	for _, s := range secrets {
		if s = database.Clean(s); s == "" {
			continue
		}
		escaped := database.JSONText(s)
		forms = append(forms, s, escaped[1:len(escaped)-1])
	}
	return slices.Compact(forms)
}

package store

import (
	"context"
	"fmt"
	"strings"

	"switchboard/router/core"
	"switchboard/store/audit"
	"switchboard/store/database"
)

const (
	forgottenSession = `SELECT id, conversation_id FROM sessions WHERE key = ?`
	openTurns        = `SELECT count(*) FROM turns WHERE session_id = ? AND state IN ('queued', 'running', 'waiting')`
	ofTurns          = `turn_id IN (SELECT id FROM turns WHERE session_id = ?)`
	ofMessages       = `message_id IN (SELECT id FROM messages WHERE session_id = ?)`
)

// forgets take what was said in a session out of all rows; each takes the session for its one ?. The rows stay for the
// audit log, until their time is over.
var forgets = []string{
	`UPDATE deliveries SET text = '', rich = '', extra = '', noted = '', detail = '' WHERE ` + ofMessages,
	`UPDATE actions SET text = '' WHERE ` + ofTurns,
	`UPDATE plans SET goal = '' WHERE ` + ofTurns,
	`UPDATE tasks SET detail = '', args = NULL, expect = NULL, choices = NULL, answer = NULL, output = '', hint = '' WHERE ` + ofTurns,
	`UPDATE reviews SET reason = '', learn = '' WHERE ` + ofTurns,
	`DELETE FROM llm_bodies WHERE ` + ofTurns,
	`DELETE FROM memories WHERE session_id = ?`,
	`UPDATE attachments SET state = 'gone', name = '', blob = '' WHERE session_id = ?`,
	`UPDATE messages SET text = '', quote = '', said = NULL, choices = NULL, metadata = NULL WHERE session_id = ?`,
	`DELETE FROM events WHERE session_id = ?`,
	`UPDATE sessions SET summary = '', summary_taint = '', instructions = '', mode = '', model = '', used_at = 0,
		reset_message = coalesce((SELECT max(id) FROM messages WHERE session_id = sessions.id), 0),
		reset_turn = coalesce((SELECT max(id) FROM turns WHERE session_id = sessions.id), 0) WHERE id = ?`,
	`UPDATE conversations SET title = '' WHERE id = (SELECT conversation_id FROM sessions WHERE id = ?)`,
}

// ForgetSession takes all that was said in the session of that key out of the rows, with an audit row that says so. Files that
// came with it go with the janitor. ErrNotFound; *StateError: a turn of it is open.
func (r *Router) ForgetSession(ctx context.Context, key string, by core.Actor) error {
	return r.db.Write(ctx, database.Durable, "forget a session", func(t *database.Tx) error {
		var session, conversation, open int64
		found, err := t.Row(t.Locked(forgottenSession), []any{database.Clean(key)}, &session, &conversation)
		if err == nil && !found {
			err = fmt.Errorf("session: %w", core.ErrNotFound)
		}
		if err == nil {
			_, err = t.Row(openTurns, []any{session}, &open)
		}
		if err == nil && open > 0 {
			err = &core.StateError{Sentence: "I still work on something there: cancel that first"}
		}
		if err != nil {
			return err
		}
		done, err := database.Overwriting(t)
		if err != nil {
			return err
		}
		defer done()
		for _, statement := range forgets {
			if err := t.Do(statement, session); err != nil {
				return fmt.Errorf("%.40s: %w", strings.TrimSpace(statement), err)
			}
		}
		return audit.Write(t, by, audit.Entry{Action: "session.delete", Target: "session " + key, Session: session, Outcome: "done"})
	})
}

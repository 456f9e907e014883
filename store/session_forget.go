package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"switchboard/router/core"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/memory"
)

const (
	forgottenSession = `SELECT id FROM sessions WHERE key = ?`
	branchesOfIt     = `SELECT id FROM sessions WHERE branch_of = ? ORDER BY id`
	openTurns        = `SELECT count(*) FROM turns WHERE session_id = ? AND state IN ('queued', 'running', 'waiting')`
	turnsOfIt        = `SELECT id FROM turns WHERE session_id = ?`
	messagesOfIt     = `SELECT id FROM messages WHERE session_id = ?`
)

// blankTurns and blankMessages take what was said out of the rows of turns and messages; %s lists their numbers. The rows stay
// for the audit log, until their time is over.
var (
	blankTurns = []string{
		`DELETE FROM recalled WHERE kind = 'result' AND ref IN (%s)`,
		`UPDATE actions SET text = '' WHERE turn_id IN (%s)`,
		`UPDATE approvals SET shown = '', why = '' WHERE (scope NOT IN ('session', 'always') OR revoked_at IS NOT NULL) AND turn_id IN (%s)`,
		`UPDATE plans SET goal = '' WHERE turn_id IN (%s)`,
		`UPDATE tasks SET detail = '', args = NULL, expect = NULL, choices = NULL, answer = NULL, output = '', hint = '' WHERE turn_id IN (%s)`,
		`UPDATE reviews SET reason = '', learn = '' WHERE turn_id IN (%s)`,
		`UPDATE llm_calls SET error = '', refused = '' WHERE turn_id IN (%s)`,
		`DELETE FROM llm_bodies WHERE turn_id IN (%s)`,
	}
	blankMessages = []string{
		`UPDATE deliveries SET state = 'dropped', settled = TRUE WHERE settled = FALSE AND message_id IN (%s)`,
		`UPDATE deliveries SET text = '', rich = NULL, extra = NULL, noted = '', detail = '' WHERE message_id IN (%s)`,
		`DELETE FROM recalled WHERE kind = 'message' AND ref IN (%s)`,
		`UPDATE messages SET text = '', quote = '', said = NULL, choices = NULL, metadata = NULL, forwarded_from = '', attachments = 0,
			report = substr(report, 1, 0) WHERE id IN (%s)`,
	}
)

// forgets take what was said in a session out of all rows; each takes the session for its one ?.
var forgets = slices.Concat(
	of(turnsOfIt, blankTurns), of(messagesOfIt, blankMessages),
	[]string{
		`DELETE FROM chat_calls WHERE conversation = (SELECT c.conversation FROM sessions s JOIN conversations c ON c.id = s.conversation_id WHERE s.id = ?)`,
		`DELETE FROM recalled WHERE session_id = ?`,
		`DELETE FROM memories WHERE session_id = ?`,
		`UPDATE attachments SET state = 'gone', name = '', blob = '' WHERE session_id = ?`,
		`UPDATE messages SET report = NULL WHERE report IS NOT NULL AND conversation_id = (SELECT conversation_id FROM sessions WHERE id = ?)`,
		`DELETE FROM events WHERE session_id = ?`,
		`UPDATE sessions SET summary = '', summary_taint = '', instructions = '', mode = '', model = '', used_at = 0,
			reset_message = coalesce((SELECT max(id) FROM messages WHERE session_id = sessions.id), 0),
			reset_turn = coalesce((SELECT max(id) FROM turns WHERE session_id = sessions.id), 0),
			reported_to = coalesce((SELECT max(id) FROM messages WHERE conversation_id = sessions.conversation_id AND session_id IS NULL), 0) WHERE id = ?`,
		`UPDATE conversations SET title = '' WHERE id = (SELECT conversation_id FROM sessions WHERE id = ?)`,
	},
)

// of has statements speak of what a query finds.
func of(query string, statements []string) (list []string) {
	for _, s := range statements {
		list = append(list, strings.Replace(s, "%s", query, 1))
	}
	return list
}

// ForgetSession takes all that was said in the session of that key out of the rows, with an audit row that says so. Files that
// came with it go with the janitor. ErrNotFound; *StateError: a turn of it is open.
func (r *Router) ForgetSession(ctx context.Context, key string, by core.Actor) error {
	return r.db.Write(ctx, database.Durable, "forget a session", func(t *database.Tx) error {
		var session int64
		found, err := t.Row(t.Locked(forgottenSession), []any{database.Clean(key)}, &session)
		if err == nil && !found {
			err = fmt.Errorf("session: %w", core.ErrNotFound)
		}
		if err != nil {
			return err
		}
		branches, err := t.IDs(branchesOfIt, session) // they have what was said, too
		if err != nil {
			return err
		}
		done, err := database.Overwriting(t)
		if err != nil {
			return err
		}
		defer done()
		for _, id := range append(branches, session) {
			var open int64
			if _, err := t.Row(openTurns, []any{id}, &open); err != nil {
				return err
			} else if open > 0 {
				return &core.StateError{Sentence: "I still work on something there: cancel that first"}
			}
			if err := memory.TakeBack(t, id); err != nil {
				return err
			}
			for _, statement := range forgets {
				if err := t.Do(statement, id); err != nil {
					return fmt.Errorf("%.40s: %w", strings.TrimSpace(statement), err)
				}
			}
		}
		return audit.Write(t, by, audit.Entry{Action: "session.delete", Target: "session " + key, Session: session, Outcome: "done"})
	})
}

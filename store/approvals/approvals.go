// Package approvals has the rows of questions that only some may answer, and of what was allowed.
package approvals

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	routerapprovals "switchboard/router/approvals"
	"switchboard/router/core"
	routeroutbox "switchboard/router/outbox"
	"switchboard/router/turns"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/outbox"
	"switchboard/store/sessions"
)

// Store reads and writes them in transactions of its own; the functions that take a transaction
// are for what changes more than these. Its methods may be called from several goroutines at once.
type Store struct{ *database.DB }

const (
	// InsertApproval stores a question of a turn; its person and session are the turn's.
	InsertApproval = `
		INSERT INTO approvals (kind, state, person, session_id, turn_id, attempt, position, tool, shown, hash, rule, taint, data, created_at, expires_at)
		SELECT 'tool', 'proposed', t.person, t.session_id, t.id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM turns t WHERE t.id = ? RETURNING id`
	// ApprovalOf reads one, a Row.
	ApprovalOf = `
		SELECT id, kind, state, person, coalesce(session_id, 0) AS session_id, coalesce(turn_id, 0) AS turn_id, attempt, position, tool, shown, rule, taint,
			scope, decided_by, why, channel, identity, data, expires_at
		FROM approvals WHERE id = ?`
	// byAdmin: whoever allowed it has to be an admin still, unless it was theirs to decide.
	byAdmin = `(a.rule = '` + tools.RuleKeeps + `' AND a.person = a.decided_by OR EXISTS (SELECT 1 FROM people p WHERE p.name = a.decided_by AND p.role = 'admin'))`
	// approvalFor is the newest answer to a question of that very task. What was allowed is
	// good for useWithin, and until the question's deadline: then it is asked again. If it has
	// another hash by now, it is not what was allowed.
	approvalFor = `
		SELECT a.id, CASE WHEN a.state = 'accepted' AND NOT ` + byAdmin + ` THEN 'cancelled' WHEN a.state = 'accepted' AND a.hash <> ? THEN 'changed' ELSE a.state END AS state,
			a.scope, FALSE AS is_grant, a.decided_by, a.why
		FROM approvals a WHERE a.turn_id = ? AND a.attempt = ? AND a.position = ? AND a.kind = 'tool' AND a.used_at IS NULL
		AND (a.state <> 'accepted' OR a.expires_at > ? OR a.decided_at > ?)
		ORDER BY a.id DESC LIMIT 1`
	goodGrant = `
		a.hash = ? AND a.kind = 'tool' AND a.state = 'accepted' AND a.scope IN ('session', 'always') AND a.revoked_at IS NULL
		AND (a.scope = 'always' OR a.session_id = ?) AND ` + byAdmin
	grantFor = `
		SELECT a.id, a.state, a.scope, TRUE AS is_grant, a.decided_by, a.why FROM approvals a WHERE a.person = ? AND ` + goodGrant + ` ORDER BY a.id LIMIT 1`
	// UseApproval uses one up for the very task that it was asked for.
	UseApproval = `
		UPDATE approvals AS a SET used_at = ? WHERE id = ? AND state = 'accepted' AND used_at IS NULL AND turn_id = ? AND attempt = ? AND position = ? AND hash = ?
		AND ` + byAdmin
	// UseGrant looks whether a grant is good for the person of a turn.
	UseGrant       = `SELECT 1 FROM approvals a JOIN turns t ON t.id = ? WHERE a.id = ? AND t.person = a.person AND ` + goodGrant
	decideApproval = `
		UPDATE approvals SET state = ?, scope = ?, decided_by = ?, why = ?, decided_at = ? WHERE id = ? AND state = 'proposed'`
	closeActions = `
		UPDATE actions SET state = 'cancelled', outcome = ?, used_by = ?, used_at = ? WHERE approval_id = ? AND state = 'proposed'`
	onePerson    = `SELECT 1 FROM people WHERE name = ?`
	openOfPerson = `SELECT count(*) FROM approvals WHERE person = ? AND kind = 'tool' AND state = 'proposed'`
	ofTurn       = `
		SELECT id, attempt, position, state, scope, rule, decided_by AS by, why, created_at AS asked_at, decided_at FROM approvals WHERE turn_id = ? ORDER BY id`
	openOfTurn  = `SELECT id FROM approvals WHERE turn_id = ? AND state = 'proposed'`
	questionsOf = `
		SELECT DISTINCT ` + sessions.Columns + `, d.platform_id AS message, d.part, m.text, p.kind, p.state, p.scope, p.decided_by AS by, p.why
		FROM approvals p JOIN actions a ON a.approval_id = p.id JOIN messages m ON m.id = a.message_id
		JOIN deliveries d ON d.message_id = m.id JOIN conversations c ON c.id = d.conversation_id
		WHERE p.id = ? AND d.state = 'sent' AND d.platform_id <> '' AND d.extra LIKE '{"buttons":%'`
	// RevokeSession ends the grants of a session.
	RevokeSession = `UPDATE approvals SET revoked_at = ? WHERE session_id = ? AND scope = 'session' AND revoked_at IS NULL`
	// EndGranted ends what somebody granted who is no admin any more: it is not to come back
	// with the role.
	EndGranted = `UPDATE approvals SET revoked_at = ? WHERE decided_by = ? AND scope IN ('session', 'always') AND revoked_at IS NULL`
	// ForgetGrants ends what somebody was granted, and what they granted: the name may be
	// given to somebody else.
	ForgetGrants = `UPDATE approvals SET revoked_at = decided_at WHERE ? IN (person, decided_by) AND scope IN ('session', 'always') AND revoked_at IS NULL`
)

// useWithin is how long after the decision what was allowed may begin: after days in which
// no engine ran, nobody expects it any more.
const useWithin = time.Hour

// A Row is an approval.
type Row struct {
	ID, SessionID, TurnID, ExpiresAt                                          int64
	Kind                                                                      routeroutbox.ApprovalKind
	State                                                                     routeroutbox.ActionState
	Person, Tool, Shown, Rule, Scope, Why, Data, Channel, Identity, DecidedBy string
	Attempt, Position                                                         int
	Taint                                                                     tools.Taint
}

// Terms is what is kept of an approval of a tool, as its data.
type Terms struct {
	Once bool `json:"once,omitempty"` // it is allowed once only, whatever its taint
}

// Once says that it can be allowed once only.
func (p *Row) Once() (bool, error) {
	var terms Terms
	err := p.Stored(&terms)
	return terms.Once || p.Taint != tools.Clean, err
}

// Stored reads the approval's data.
func (p *Row) Stored(data any) error {
	if err := json.Unmarshal([]byte(p.Data), data); err != nil {
		return fmt.Errorf("stored approval %d: %w", p.ID, err)
	}
	return nil
}

type approvalData struct {
	ID    int64  `json:"id,string"`
	State string `json:"state"`
	// Code decides, typed in this session; empty: here nobody does.
	Code string `json:"code,omitempty"`
	By   string `json:"by,omitempty"`
}

func approvalEvent(turn int64, d approvalData) sessions.Event {
	return sessions.Event{Kind: "approval", Turn: turn, Data: database.JSONText(d)}
}

// MayAsk refuses one more question of a turn's person, of whom so many are open.
func MayAsk(t *database.Tx, turn int64, most int) error {
	var person string
	var open int
	if _, err := t.Row(sessions.PersonOf, []any{turn}, &person); err != nil {
		return err
	}
	if err := t.Run(
		database.Row(t.Locked(onePerson), []any{person}, new(int)), // of two at once one waits
		database.Row(openOfPerson, []any{person}, &open),
	); err != nil || open < most {
		return err
	}
	return core.ErrTooManyAsked
}

// Ask stores a question, in its turn's session or in another.
func Ask(t *database.Tx, ref core.TurnRef, conversation, approval int64, q *routeroutbox.Question) error {
	session, turn := ref.SessionID, ref.TurnID
	at, err := sessions.Place(t, sessions.CleanConversation(q.Conversation))
	if err != nil {
		return err
	}
	if at.Id != conversation {
		turn = 0 // of another session
		if session, err = sessions.FindOrMake(t, at.Id, at.Key, ""); err != nil {
			return err
		}
	}
	for i := range q.Reply.Actions {
		q.Reply.Actions[i].Approval = approval
	}
	message, err := outbox.Outgoing(t, at.Id, session, turn, &q.Reply, nil)
	if err != nil {
		return err
	}
	_, err = sessions.Emit(t, session, approvalEvent(turn, approvalData{ID: approval, State: string(routeroutbox.ActionProposed), Code: q.Code}),
		sessions.Event{Kind: "message", Turn: turn, Message: message})
	return err
}

// Approval is what people said to ask: to the very task under ref, or as a grant to person.
func (r *Store) Approval(ctx context.Context, ref core.TurnRef, person string, ask agent.Ask) (got agent.Approval, err error) {
	err = r.Look(ctx, "read approval", func(t *database.Tx) error {
		read := func(query string, args ...any) (bool, error) {
			return t.Row(query, args, &got.ID, &got.State, &got.Scope, &got.Grant, &got.By, &got.Why)
		}
		found, err := read(approvalFor, ask.Hash, ref.TurnID, ask.Attempt, ask.Position, t.Now, t.Now-useWithin.Microseconds())
		if err != nil || found || ask.Taint != tools.Clean || ask.Loads != nil {
			return err
		}
		_, err = read(grantFor, database.Clean(person), ask.Hash, ref.SessionID)
		return err
	})
	return got, err
}

// Find reads an approval and locks its turn's session before it, as who cancels the
// turn does.
func Find(t *database.Tx, id int64) (*Row, error) {
	row, err := database.First[Row](t, ApprovalOf, id)
	if err == nil && row != nil && t.PG {
		if row.TurnID != 0 {
			if _, _, err := sessions.LockedBy(t, row.TurnID); err != nil {
				return nil, err
			}
		}
		row, err = database.First[Row](t, t.Locked(ApprovalOf), id)
	}
	if err == nil && row == nil {
		err = core.ErrNotFound
	}
	return row, err
}

// Settle ends an open approval, its buttons and codes, and queues the turn that waits for it
// ahead of newer ones. Both rows are locked.
func Settle(t *database.Tx, p *Row, state routeroutbox.ActionState, scope, by, why string) error {
	if n, err := t.Exec(decideApproval, state, scope, by, why, t.Now, p.ID); err != nil || n == 0 {
		return err
	}
	if _, err := t.Exec(closeActions, state, by, t.Now, p.ID); err != nil || p.TurnID == 0 {
		return err
	}
	events := []sessions.Event{approvalEvent(p.TurnID, approvalData{ID: p.ID, State: string(state), By: by})}
	n, err := t.Exec(sessions.QueueAhead, t.Now, t.Now, p.TurnID, turns.TurnWaiting)
	if err != nil {
		return err
	}
	if n > 0 {
		events = append(events, sessions.TurnEvent(p.TurnID, string(turns.TurnQueued), ""))
	}
	_, err = sessions.Emit(t, p.SessionID, events...)
	return err
}

// CancelOf ends what a turn waits for that was cancelled.
func CancelOf(t *database.Tx, turn int64) error {
	ids, err := t.IDs(openOfTurn, turn)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := t.Run(
			database.Do(decideApproval, routeroutbox.ActionCancelled, "", "", "", t.Now, id),
			database.Do(closeActions, "cancelled", "", t.Now, id),
		); err != nil {
			return err
		}
	}
	return nil
}

// An OfTask is an approval, with the task that it is for: its plan, from 0, and its place there.
type OfTask struct {
	routerapprovals.Approval
	Attempt, Position int
}

// OfTurn reads the approvals of the tasks of a turn, the oldest first.
func OfTurn(t *database.Tx, turn int64) ([]OfTask, error) {
	return database.Select[OfTask](t, ofTurn, turn)
}

// TurnApprovals lists the approvals of a turn.
func (r *Store) TurnApprovals(ctx context.Context, turn int64) ([]int64, error) {
	return database.Read(ctx, r.DB, "list approvals of a turn", func(t *database.Tx) ([]int64, error) {
		return t.IDs(`SELECT id FROM approvals WHERE turn_id = ?`, turn)
	})
}

// Questions are the messages with the buttons of an approval, as far as they are shown.
func (r *Store) Questions(ctx context.Context, approval int64) ([]routeroutbox.Decided, error) {
	return database.List[routeroutbox.Decided](ctx, r.DB, "list questions", questionsOf, approval)
}

// AuditAsk writes that somebody is asked whether a task may run.
func AuditAsk(t *database.Tx, q *agent.Ask, id int64, ref core.TurnRef) error {
	var person string
	if _, err := t.Row(sessions.PersonOf, []any{ref.TurnID}, &person); err != nil {
		return err
	}
	return audit.Write(t, core.Actor{Person: person, Rule: q.Rule}, audit.Entry{
		Action: "tool.ask", Target: "approval " + database.Digits(id), Outcome: "asked", Why: q.Reason,
		Data: map[string]any{"tool": q.Tool, "taint": q.Taint}, Session: ref.SessionID, Turn: ref.TurnID,
	})
}

package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/ledger"
)

const (
	insertApproval = `
		INSERT INTO approvals (kind, state, person, session_id, turn_id, attempt, position, tool, shown, hash, rule, taint, data, created_at, expires_at)
		SELECT 'tool', 'proposed', t.person, t.session_id, t.id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM turns t WHERE t.id = ? RETURNING id`
	approvalOf = `
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
	useApproval = `
		UPDATE approvals AS a SET used_at = ? WHERE id = ? AND state = 'accepted' AND used_at IS NULL AND turn_id = ? AND attempt = ? AND position = ? AND hash = ?
		AND ` + byAdmin
	useGrant       = `SELECT 1 FROM approvals a JOIN turns t ON t.id = ? WHERE a.id = ? AND t.person = a.person AND ` + goodGrant
	decideApproval = `
		UPDATE approvals SET state = ?, scope = ?, decided_by = ?, why = ?, decided_at = ? WHERE id = ? AND state = 'proposed'`
	closeActions = `
		UPDATE actions SET state = 'cancelled', outcome = ?, used_by = ?, used_at = ? WHERE approval_id = ? AND state = 'proposed'`
	overdue      = `SELECT id FROM approvals WHERE state = 'proposed' AND expires_at <= ? ORDER BY expires_at LIMIT 100`
	nextOverdue  = `SELECT min(expires_at) FROM approvals WHERE state = 'proposed'`
	onePerson    = `SELECT 1 FROM people WHERE name = ?`
	openOfPerson = `SELECT count(*) FROM approvals WHERE person = ? AND kind = 'tool' AND state = 'proposed'`
	openOfTurn   = `SELECT id FROM approvals WHERE turn_id = ? AND state = 'proposed'`
	questionsOf  = `
		SELECT DISTINCT c.channel, c.conversation, c.kind, c.place, c.title, d.platform_id, d.part, m.text, p.kind AS asked, p.state, p.scope, p.decided_by, p.why
		FROM approvals p JOIN actions a ON a.approval_id = p.id JOIN messages m ON m.id = a.message_id
		JOIN deliveries d ON d.message_id = m.id JOIN conversations c ON c.id = d.conversation_id
		WHERE p.id = ? AND d.state = 'sent' AND d.platform_id <> '' AND d.extra LIKE '{"buttons":%'`
	revokeSession = `UPDATE approvals SET revoked_at = ? WHERE session_id = ? AND scope = 'session' AND revoked_at IS NULL`
	// endGranted ends what somebody granted who is no admin any more: it is not to come back
	// with the role.
	endGranted = `UPDATE approvals SET revoked_at = ? WHERE decided_by = ? AND scope IN ('session', 'always') AND revoked_at IS NULL`
	// forgetGrants ends what somebody was granted, and what they granted: the name may be
	// given to somebody else.
	forgetGrants = `UPDATE approvals SET revoked_at = decided_at WHERE ? IN (person, decided_by) AND scope IN ('session', 'always') AND revoked_at IS NULL`
)

// useWithin is how long after the decision what was allowed may begin: after days in which
// no engine ran, nobody expects it any more.
const useWithin = time.Hour

type approvalRow struct {
	ID                        int64
	Kind                      ledger.ApprovalKind
	State                     ledger.ActionState
	Person, Tool, Shown, Rule string
	SessionID                 int64 `db:"session_id"`
	TurnID                    int64 `db:"turn_id"`
	Attempt, Position         int
	Taint                     tools.Taint
	Scope, Why, Data          string
	Channel, Identity         string
	DecidedBy                 string `db:"decided_by"`
	ExpiresAt                 int64  `db:"expires_at"`
}

// approvalTerms is what is kept of an approval of a tool, as its data.
type approvalTerms struct {
	Once bool `json:"once,omitempty"` // it is allowed once only, whatever its taint
}

// once says that it can be allowed once only.
func (p *approvalRow) once() (bool, error) {
	var terms approvalTerms
	err := p.stored(&terms)
	return terms.Once || p.Taint != tools.Clean, err
}

// stored reads the approval's data.
func (p *approvalRow) stored(data any) error {
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

func approvalEvent(turn int64, d approvalData) event {
	return event{Kind: "approval", Turn: turn, Data: jsonText(d)}
}

// Ask implements router.Approvals.
func (r *Router) Ask(ctx context.Context, ref ledger.TurnRef, step agent.Step, asked ledger.Asked) (next *ledger.Claimed, err error) {
	if step.Ask == nil || step.End == nil || step.End.State != string(ledger.TurnWaiting) || len(step.Say) > 0 {
		return nil, fmt.Errorf("ask: the turn has to wait, and to say nothing else: %w", ledger.ErrConflict)
	}
	bodies := packCalls(step.Calls)
	var chats []channels.Conversation
	for i := range asked.Questions {
		chats = append(chats, asked.Questions[i].Conversation)
	}
	err = r.db.write(ctx, full, "ask for an approval", func(t *tx) error {
		if err := t.lockInOrder(chats, nil); err != nil {
			return err
		}
		conversation, err := t.holding(ref)
		if err != nil {
			return err
		}
		if err := t.goesOn(ref.TurnID); err != nil {
			return err
		}
		if asked.MostOpen > 0 {
			if err := t.mayAsk(ref.TurnID, asked.MostOpen); err != nil {
				return err
			}
		}
		q := step.Ask
		id, err := t.Insert(insertApproval, q.Attempt, q.Position, clean(q.Tool), clean(q.Shown), q.Hash, clean(q.Rule), clean(string(q.Taint)),
			jsonText(approvalTerms{q.Loads != nil}), t.now, micros(asked.ExpiresAt), ref.TurnID)
		if err != nil {
			return err
		}
		if err := t.auditAsk(q, id, ref); err != nil {
			return err
		}
		for i := range asked.Questions {
			if err := t.ask(ref, conversation, id, &asked.Questions[i]); err != nil {
				return err
			}
		}
		next, err = t.step(ref, &step, bodies, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	return next, nil
}

// mayAsk refuses one more question of a turn's person, of whom so many are open.
func (t *tx) mayAsk(turn int64, most int) error {
	var person string
	var one, open int
	if _, err := t.Row(personOf, []any{turn}, &person); err != nil {
		return err
	}
	if _, err := t.Row(t.Locked(onePerson), []any{person}, &one); err != nil { // of two at once one waits
		return err
	}
	if _, err := t.Row(openOfPerson, []any{person}, &open); err != nil {
		return err
	}
	if open >= most {
		return ledger.ErrTooManyAsked
	}
	return nil
}

// ask stores a question, in its turn's session or in another.
func (t *tx) ask(ref ledger.TurnRef, conversation, approval int64, q *ledger.Question) error {
	session, turn := ref.SessionID, ref.TurnID
	at, err := t.findOrMake(cleanConversation(q.Conversation))
	if err != nil {
		return err
	}
	if at.id != conversation {
		turn = 0 // of another session
		if session, err = t.session(at.id, at.key, ""); err != nil {
			return err
		}
	}
	for i := range q.Reply.Actions {
		q.Reply.Actions[i].Approval = approval
	}
	message, err := t.outgoing(at.id, session, turn, &q.Reply, nil)
	if err != nil {
		return err
	}
	_, err = t.emit(session, approvalEvent(turn, approvalData{ID: approval, State: string(ledger.ActionProposed), Code: q.Code}),
		event{Kind: "message", Turn: turn, Message: message})
	return err
}

// Approval implements router.Approvals.
func (r *Router) Approval(ctx context.Context, ref ledger.TurnRef, person string, ask agent.Ask) (got agent.Approval, err error) {
	err = r.db.look(ctx, "read approval", func(t *tx) error {
		read := func(query string, args ...any) (bool, error) {
			return t.Row(query, args, &got.ID, &got.State, &got.Scope, &got.Grant, &got.By, &got.Why)
		}
		found, err := read(approvalFor, ask.Hash, ref.TurnID, ask.Attempt, ask.Position, t.now, t.now-useWithin.Microseconds())
		if err != nil || found || ask.Taint != tools.Clean || ask.Loads != nil {
			return err
		}
		_, err = read(grantFor, clean(person), ask.Hash, ref.SessionID)
		return err
	})
	return got, err
}

// use uses up the approval by which a task is set running, or looks whether its grant is
// good still. ErrConflict: it is not.
func (w *stepWriter) use(c *agent.TaskChange) {
	if c.Use == nil || w.err != nil {
		return
	}
	u, good := c.Use, false
	if u.Grant {
		var one int
		good, w.err = w.t.Row(useGrant, []any{w.turn, u.Approval, u.Hash, w.session}, &one)
	} else {
		good = w.exec(useApproval, w.t.now, u.Approval, w.turn, c.Attempt, c.Position, u.Hash) > 0
	}
	if w.err == nil && !good {
		w.err = fmt.Errorf("approval %d is not good for this task any more: %w", u.Approval, ledger.ErrConflict)
	}
}

// acceptDecision decides by a code that was typed.
func (t *tx) acceptDecision(of *ledger.Entry, as *ledger.AsDecision, a *ledger.Accepted, conversation int64) error {
	e := new(*of)
	var row *actionRow
	var err error
	if !as.Pairing {
		row, err = t.action(e, as.Code, a.SessionID)
	}
	if err == nil && row == nil && e.Event.Conversation.Kind == channels.Direct { // whoever asks may tell any admin
		var rows []actionRow
		if err = t.All(&rows, pairingBy, as.Code); len(rows) > 0 {
			row = &rows[0]
		}
	}
	if err != nil {
		return err
	}
	situation := ledger.ApprovalUnknown
	if row != nil && row.Approval != 0 {
		if situation, err = t.decide(e, row, as, a); err != nil {
			return err
		}
	}
	return t.say(e, a, conversation, classControl, situation)
}

// decide decides an approval for a person, whose role is looked up again: an admin, or where RuleKeeps
// asks also whose turn it is. The first decision counts. Of a link both sides decide, and the entry's
// sender may be somebody else then.
func (t *tx) decide(e *ledger.Entry, row *actionRow, as *ledger.AsDecision, a *ledger.Accepted) (ledger.Situation, error) {
	does, why := as.Does, as.Why
	name := clean(e.Sender.Person)
	p, err := t.approval(row.Approval)
	if err != nil {
		return "", err
	}
	if p.Kind == ledger.ApprovalLink {
		return t.decideLink(e, row, p, does, "", a)
	}
	person, err := t.person(name)
	if err != nil {
		return "", err
	}
	own := p.Rule == tools.RuleKeeps && p.Person == name
	if person == nil || person.Role != ledger.RoleAdmin && !own {
		a.NotYours, a.Approval = true, row.Approval
		return ledger.ApprovalNotYours, nil
	}
	a.Approval = p.ID
	state := ledger.ActionAccepted
	switch {
	case p.State != ledger.ActionProposed:
		a.Action = ledger.ActionCancelled
		return ledger.ApprovalOver, nil
	case p.ExpiresAt <= t.now:
		a.Action, a.Decided = ledger.ActionExpired, p.TurnID
		return ledger.ApprovalOver, t.settleApproval(p, a.Action, "", "", "")
	case does == ledger.DoesDeny:
		state, does = ledger.ActionRejected, ""
	case p.Kind != ledger.ApprovalTool:
		if state, err = t.grantRequest(p, as.Name, a); err != nil {
			return "", err
		}
		does = ""
	case does != ledger.DoesOnce:
		if once, err := p.once(); err != nil || once {
			return ledger.ApprovalOnceOnly, err
		}
	}
	if err := t.settleApproval(p, state, string(does), name, why); err != nil {
		return "", err
	}
	a.Action, a.Decided = state, p.TurnID
	if err := t.audit(ledger.Hand{Person: name, Rule: ledger.RuleApprover}, audited{
		action: "approval." + string(state), target: fmt.Sprintf("approval %d", p.ID), outcome: "done",
		why: why, data: map[string]any{"scope": string(does), "tool": p.Tool, "shown": p.Shown, "kind": p.Kind, "identity": p.Identity},
		session: p.SessionID, turn: p.TurnID,
	}); err != nil {
		return "", err
	}
	if p.Kind != ledger.ApprovalTool {
		a.Decision = decisions[p.Kind][state]
	}
	return decisions[p.Kind][state], nil
}

// decisions say what a decision comes to.
var decisions = map[ledger.ApprovalKind]map[ledger.ActionState]ledger.Situation{
	ledger.ApprovalTool:    {ledger.ActionAccepted: ledger.ApprovalAllowed, ledger.ActionRejected: ledger.ApprovalDenied},
	ledger.ApprovalPairing: {ledger.ActionAccepted: ledger.PairingDone, ledger.ActionRejected: ledger.PairingRefused, ledger.ActionCancelled: ledger.ApprovalOver},
}

// approval reads an approval and locks its turn's session before it, as who cancels the
// turn does.
func (t *tx) approval(id int64) (*approvalRow, error) {
	var rows []approvalRow
	err := t.All(&rows, approvalOf, id)
	if err == nil && len(rows) == 1 && t.PG {
		if turn := rows[0].TurnID; turn != 0 {
			if _, _, err := t.lockedBy(turn); err != nil {
				return nil, err
			}
		}
		rows = nil
		err = t.All(&rows, t.Locked(approvalOf), id)
	}
	if err == nil && len(rows) == 0 {
		err = ledger.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return &rows[0], nil
}

// settleApproval ends an open approval, its buttons and codes, and queues the turn that waits for it
// ahead of newer ones. Both rows are locked.
func (t *tx) settleApproval(p *approvalRow, state ledger.ActionState, scope, by, why string) error {
	if n, err := t.Exec(decideApproval, string(state), scope, by, clean(why), t.now, p.ID); err != nil || n == 0 {
		return err
	}
	if _, err := t.Exec(closeActions, string(state), by, t.now, p.ID); err != nil || p.TurnID == 0 {
		return err
	}
	events := []event{approvalEvent(p.TurnID, approvalData{ID: p.ID, State: string(state), By: by})}
	n, err := t.Exec(queueAhead, t.now, t.now, p.TurnID, string(ledger.TurnWaiting))
	if err != nil {
		return err
	}
	if n > 0 {
		events = append(events, turnEvent(p.TurnID, string(ledger.TurnQueued), ""))
	}
	_, err = t.emit(p.SessionID, events...)
	return err
}

// cancelApprovals ends what a turn waits for that was cancelled.
func (t *tx) cancelApprovals(turn int64) error {
	ids, err := t.ids(openOfTurn, turn)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := t.run(
			statement{decideApproval, []any{string(ledger.ActionCancelled), "", "", "", t.now, id}},
			statement{closeActions, []any{"cancelled", "", t.now, id}},
		); err != nil {
			return err
		}
	}
	return nil
}

// ExpireApprovals implements router.Approvals.
func (r *Router) ExpireApprovals(ctx context.Context) (expired []int64, next time.Time, err error) {
	var due []int64
	err = r.db.read(ctx, "look for approvals that are overdue", func(t *tx) error {
		var at *int64
		if due, err = t.ids(overdue, t.now); err != nil {
			return err
		}
		if _, err := t.Row(nextOverdue, nil, &at); err == nil && at != nil {
			next = instant(*at)
		}
		return err
	})
	for _, id := range due {
		if err == nil {
			err = r.db.write(ctx, full, "expire approval", func(t *tx) error {
				p, err := t.approval(id)
				if err != nil || p.State != ledger.ActionProposed {
					return err
				}
				if err := t.settleApproval(p, ledger.ActionExpired, "", "", ""); err != nil {
					return err
				}
				return t.audit(ledger.Hand{Person: p.Person, Rule: p.Rule}, audited{
					action: "approval.expired", target: fmt.Sprintf("approval %d", p.ID), outcome: "done",
					data: map[string]any{"tool": p.Tool, "kind": p.Kind, "identity": p.Identity}, session: p.SessionID, turn: p.TurnID,
				})
			})
		}
		if err == nil {
			expired = append(expired, id)
		}
	}
	return expired, next, err
}

// TurnApprovals implements router.Approvals.
func (r *Router) TurnApprovals(ctx context.Context, turn int64) (ids []int64, err error) {
	err = r.db.read(ctx, "list approvals of a turn", func(t *tx) error {
		ids, err = t.ids(`SELECT id FROM approvals WHERE turn_id = ?`, turn)
		return err
	})
	return ids, err
}

// Questions implements delivery.Ledger.
func (r *Router) Questions(ctx context.Context, approval int64) (list []ledger.Decided, err error) {
	err = r.db.read(ctx, "list questions", func(t *tx) error {
		var rows []struct {
			conversationRow
			PlatformID channels.MessageID `db:"platform_id"`
			Part       int
			Asked      ledger.ApprovalKind
			State      ledger.ActionState
			Scope      ledger.Does
			DecidedBy  string `db:"decided_by"`
			Text, Why  string
		}
		if err := t.All(&rows, questionsOf, approval); err != nil {
			return err
		}
		for _, row := range rows {
			list = append(list, ledger.Decided{
				Conversation: row.conversation(), Message: row.PlatformID, Part: row.Part, Text: row.Text,
				Kind: row.Asked, State: row.State, Scope: row.Scope, By: row.DecidedBy, Why: row.Why,
			})
		}
		return nil
	})
	return list, err
}

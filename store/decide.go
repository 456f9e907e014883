package store

import (
	"fmt"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	routerapprovals "switchboard/router/approvals"
	routeraudit "switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/router/intake"
	routeroutbox "switchboard/router/outbox"
	routerpeople "switchboard/router/people"
	"switchboard/store/approvals"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/outbox"
	"switchboard/store/people"
	"switchboard/store/sessions"
)

// pressDecision decides an approval by a button.
func pressDecision(t *database.Tx, e *intake.Entry, row *outbox.ActionRow, a *intake.Accepted) error {
	data, err := row.Stored()
	if err != nil || data.Does == "" {
		return err // it is a code, and no button
	}
	_, err = decide(t, new(*e), row, &routerapprovals.DecisionIntent{Does: data.Does}, a)
	if err == nil && !a.NotYours {
		err = outbox.Question(t, row, a)
	}
	return err
}

// acceptDecision decides by a code that was typed.
func acceptDecision(t *database.Tx, of *intake.Entry, as *routerapprovals.DecisionIntent, a *intake.Accepted, conversation int64) error {
	e := new(*of)
	var row *outbox.ActionRow
	var err error
	if !as.Pairing {
		row, err = outbox.Action(t, e, as.Code, a.SessionID)
	}
	if err == nil && row == nil && e.Sender.Rule == routeraudit.RuleMachine { // of a program's session, where no chat has it
		row, err = outbox.Asked(t, as.Code)
	}
	if err == nil && row == nil && e.Event.Conversation.Kind == channels.Direct { // whoever asks may tell any admin
		row, err = database.First[outbox.ActionRow](t, pairingBy, as.Code)
	}
	if err != nil {
		return err
	}
	outcome := routerapprovals.Unknown
	if row != nil && row.Approval != 0 {
		if outcome, err = decide(t, e, row, as, a); err != nil {
			return err
		}
	}
	return outbox.Say(t, e, a, conversation, sessions.ClassControl, outcome)
}

// decide decides an approval for a person, whose role is looked up again: an admin, or where RuleKeeps
// asks also whose turn it is. The first decision counts. Of a link both sides decide, and the entry's
// sender may be somebody else then.
func decide(t *database.Tx, e *intake.Entry, row *outbox.ActionRow, as *routerapprovals.DecisionIntent, a *intake.Accepted) (intake.Outcome, error) {
	name := database.Clean(e.Sender.Person)
	p, err := approvals.Find(t, row.Approval)
	if err != nil {
		return "", err
	}
	if p.Kind == routeroutbox.ApprovalLink {
		return people.DecideLink(t, e, row, p, as.Does, "", a)
	}
	entry, outcome, err := settle(t, p, as, name, a)
	if err == nil && entry.Action != "" {
		err = audit.Write(t, core.Actor{Person: name, Rule: routeraudit.RuleApprover}, entry)
	}
	return outcome, err
}

// settle decides an approval that is no link, with the audit row that is to be written; one without an action: none.
func settle(t *database.Tx, p *approvals.Row, as *routerapprovals.DecisionIntent, name string, a *intake.Accepted) (entry audit.Entry, outcome intake.Outcome, err error) {
	does, why := as.Does, as.Why
	person, err := sessions.Person(t, name)
	if err != nil {
		return entry, "", err
	}
	own := p.Rule == tools.RuleKeeps && p.Person == name
	if person == nil || person.Role != core.RoleAdmin && !own {
		a.NotYours, a.Approval = true, p.ID
		return entry, routerapprovals.NotYours, nil
	}
	a.Approval = p.ID
	state := routeroutbox.ActionAccepted
	switch {
	case p.State != routeroutbox.ActionProposed:
		a.Action = routeroutbox.ActionCancelled
		return entry, routerapprovals.Over, nil
	case p.ExpiresAt <= t.Now:
		a.Action, a.Decided = routeroutbox.ActionExpired, p.TurnID
		return entry, routerapprovals.Over, approvals.Settle(t, p, a.Action, "", "", "")
	case does == routeroutbox.DoesDeny:
		state, does = routeroutbox.ActionRejected, ""
	case p.Kind != routeroutbox.ApprovalTool:
		if state, err = people.GrantRequest(t, p, as.Name, a); err != nil {
			return entry, "", err
		}
		does = ""
	case does != routeroutbox.DoesOnce:
		if once, err := p.Once(); err != nil || once {
			return entry, routerapprovals.OnceOnly, err
		}
	}
	if err := approvals.Settle(t, p, state, string(does), name, why); err != nil {
		return entry, "", err
	}
	a.Action, a.Decided = state, p.TurnID
	outcome = decisions[p.Kind][state]
	if p.Kind != routeroutbox.ApprovalTool {
		a.Decision = outcome
	}
	return audit.Entry{
		Action: "approval." + string(state), Target: fmt.Sprintf("approval %d", p.ID), Outcome: "done",
		Why: why, Data: map[string]any{"scope": string(does), "tool": p.Tool, "shown": p.Shown, "kind": p.Kind, "identity": p.Identity},
		Session: p.SessionID, Turn: p.TurnID,
	}, outcome, nil
}

// changeDecision decides an approval of a tool, or about a stranger, outside of a chat.
func changeDecision(t *database.Tx, c *routerapprovals.Decision, by core.Actor) (entry audit.Entry, err error) {
	p, err := approvals.Find(t, c.ID)
	if err != nil {
		return entry, err
	}
	own := false
	if c.NotOf != "" {
		own, err = t.Has(startedBy, p.TurnID, database.Clean(c.NotOf))
	}
	var a intake.Accepted
	switch {
	case err != nil:
		return entry, err
	case c.Pairing != (p.Kind == routeroutbox.ApprovalPairing), p.Kind == routeroutbox.ApprovalLink:
		return entry, core.ErrNotFound
	case own:
		c.Outcome = routerapprovals.OwnTurn
	default:
		entry, c.Outcome, err = settle(t, p, &routerapprovals.DecisionIntent{Does: c.Does, Why: c.Why, Name: c.Name}, database.Clean(by.Person), &a)
	}
	if err == nil && entry.Action == "" {
		return entry, &core.StateError{Sentence: routerapprovals.Texts[c.Outcome]}
	}
	c.State, c.Admitted, c.At = a.Action, a.Admitted, a.Elsewhere
	return entry, err
}

// decisions say what a decision comes to.
var decisions = map[routeroutbox.ApprovalKind]map[routeroutbox.ActionState]intake.Outcome{
	routeroutbox.ApprovalTool:    {routeroutbox.ActionAccepted: routerapprovals.Allowed, routeroutbox.ActionRejected: routerapprovals.Denied},
	routeroutbox.ApprovalPairing: {routeroutbox.ActionAccepted: routerpeople.PairingDone, routeroutbox.ActionRejected: routerpeople.PairingRefused, routeroutbox.ActionCancelled: routerapprovals.Over},
}

// lastQuestion is the open question that is the last thing said in a session, if the person had it before
// they wrote, and replied to nothing else.
const lastQuestion = outbox.ActionColumns + `
	WHERE a.message_id = (SELECT max(id) FROM messages WHERE session_id = ?) AND a.kind = 'approval' AND a.state = 'proposed'
	AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.message_id = a.message_id AND (d.state <> 'sent' OR d.last_try > ?))
	AND (? = '' OR EXISTS (SELECT 1 FROM deliveries d WHERE d.message_id = a.message_id AND d.platform_id = ?))
	ORDER BY a.id LIMIT 1`

// acceptConsent decides by a plain yes or no what was asked last; false: nothing was. Commands, what only
// admins do, and what others wish are not decided so.
func acceptConsent(t *database.Tx, e *intake.Entry, does routeroutbox.Does, a *intake.Accepted, conversation int64) (said bool, err error) {
	if does == "" {
		return false, nil
	}
	written := t.Now
	if !e.Event.At.IsZero() { // platforms tell whole seconds
		written = database.Micros(e.Event.At.Add(time.Second))
	}
	to := database.Clean(string(e.Event.Message.ReplyTo))
	row, err := database.First[outbox.ActionRow](t, lastQuestion, a.SessionID, written, to, to)
	if err != nil || row == nil {
		return false, err
	}
	p, err := database.First[approvals.Row](t, approvals.ApprovalOf, row.Approval)
	if err != nil || p == nil {
		return false, err
	}
	outcome := routerapprovals.ByButton
	if p.Kind == routeroutbox.ApprovalTool && p.Person == database.Clean(e.Sender.Person) && p.SessionID == a.SessionID && tools.ByWord(p.Tool) {
		if outcome, err = decide(t, e, row, &routerapprovals.DecisionIntent{Does: does}, a); err != nil {
			return false, err
		}
	}
	return true, outbox.Say(t, e, a, conversation, sessions.ClassControl, outcome)
}

const (
	// startedBy: a turn was asked for, among others, by who has an identity, or by a job, which they may have made.
	startedBy = `SELECT 1 FROM messages WHERE turn_id = ? AND direction = 'in' AND (identity = ? OR origin = 'job')`
	pairingBy = `
		SELECT id, state, '' AS person, 0 AS message_id, 0 AS turn_id, approval_id, '' AS text, 0 AS number, data, expires_at, '' AS taint
		FROM actions WHERE code = ? AND kind = 'pairing'`
)

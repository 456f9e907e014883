package store

import (
	"fmt"
	"strings"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/router/ledger"
)

const insertAudit = `
	INSERT INTO audit (person, action, target, rule, outcome, why, cost, data, session_id, turn_id, created_at)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// actionTurn is a turn that has ended.
const actionTurn = "turn"

const refusedTask = `
	SELECT t.person, k.type, coalesce(k.tool, '') FROM tasks k JOIN turns t ON t.id = k.turn_id
	WHERE k.turn_id = ? AND k.attempt = ? AND k.position = ?`

// An audited is a decision or a change, for the audit log.
type audited struct {
	action  string // what was done: a kind, a dot, and which of that kind
	target  string // what it was done to, e.g. "person eve"
	outcome string
	why     string // in the words of who did it, or of what refused it
	cost    float64
	data    any   // as JSON; nil: nothing
	session int64 // 0: none
	turn    int64 // 0: none
	at      int64 // µs; 0: now
}

// audit writes what was decided or changed, in the transaction that does it. A row that is
// written stays as it is: it is sealed.
func (t *tx) audit(by ledger.Hand, a audited) error {
	data := "{}"
	if a.data != nil {
		data = jsonText(a.data)
	}
	if a.at == 0 {
		a.at = t.now
	}
	if by.Turn != 0 {
		a.turn = by.Turn
	}
	if by.Button {
		a.why = strings.TrimSuffix("by button: "+a.why, ": ")
	}
	_, err := t.Exec(insertAudit, clean(by.Person), a.action, clean(a.target), clean(by.Rule), a.outcome, clean(a.why), a.cost, data,
		orNull(a.session), orNull(a.turn), a.at)
	return err
}

// auditAsk writes that somebody is asked whether a task may run.
func (t *tx) auditAsk(q *agent.Ask, id int64, ref ledger.TurnRef) error {
	var person string
	if _, err := t.Row(personOf, []any{ref.TurnID}, &person); err != nil {
		return err
	}
	return t.audit(ledger.Hand{Person: person, Rule: q.Rule}, audited{
		action: "tool.ask", target: "approval " + name(id), outcome: "asked", why: q.Reason,
		data: map[string]any{"tool": q.Tool, "taint": q.Taint}, session: ref.SessionID, turn: ref.TurnID,
	})
}

// refused says that a rule kept a task from running.
func refused(c agent.TaskChange) bool {
	return c.Result != nil && c.Result.End == tools.EndRefused && c.Result.Rule != ""
}

// refused writes that a rule kept a task from running.
func (w *stepWriter) refused(c *agent.TaskChange) {
	if w.err != nil {
		return
	}
	var person, kind, tool string
	if _, w.err = w.t.Row(refusedTask, []any{w.turn, c.Attempt, c.Position}, &person, &kind, &tool); w.err != nil {
		return
	}
	if tool == "" {
		tool = kind
	}
	w.err = w.t.audit(ledger.Hand{Person: person, Rule: c.Result.Rule}, audited{
		action: "tool.refused", target: fmt.Sprintf("%s, task %d of attempt %d", tool, c.Position, c.Attempt), outcome: c.Result.Code,
		why: c.Result.Hint, data: map[string]any{"tool": tool, "taint": c.Result.Taint}, session: w.session, turn: w.turn,
	})
}

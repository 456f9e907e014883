// Package audit has the rows of the audit log: what was changed or refused, by whom; and its seals.
package audit

import (
	"strings"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/store/database"
	"switchboard/store/sessions"
)

// Store reads and writes them in transactions of its own; the functions that take a transaction
// are for what changes more than these. Its methods may be called from several goroutines at once.
type Store struct{ *database.DB }

const insertAudit = `
	INSERT INTO audit (person, action, target, rule, outcome, why, cost, data, session_id, turn_id, created_at)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// ActionTurn is a turn that has ended.
const ActionTurn = "turn"

// RefusedTask is whose task was refused, and what it is.
const RefusedTask = `
	SELECT t.person, k.type, coalesce(k.tool, '') FROM tasks k JOIN turns t ON t.id = k.turn_id
	WHERE k.turn_id = ? AND k.attempt = ? AND k.position = ?`

// An audited is a decision or a change, for the audit log.
type Entry struct {
	Action  string // what was done: a kind, a dot, and which of that kind
	Target  string // what it was done to, e.g. "person eve"
	Outcome string
	Why     string // in the words of who did it, or of what refused it
	Cost    float64
	Data    any   // as JSON; nil: nothing
	Session int64 // 0: none
	Turn    int64 // 0: none
	At      int64 // µs; 0: now
}

// Write writes what was decided or changed, in the transaction that does it. A row that is
// written stays as it is: it is sealed.
func Write(t *database.Tx, by core.Actor, a Entry) error {
	data := "{}"
	if a.Data != nil {
		data = database.JSONText(a.Data)
	}
	if a.At == 0 {
		a.At = t.Now
	}
	if by.Turn != 0 {
		a.Turn = by.Turn
	}
	if by.Button {
		a.Why = strings.TrimSuffix("by button: "+a.Why, ": ")
	}
	return t.Do(insertAudit, by.Person, a.Action, a.Target, by.Rule, a.Outcome, a.Why, a.Cost, data,
		sessions.OrNull(a.Session), sessions.OrNull(a.Turn), a.At)
}

// Refused says that a rule kept a task from running.
func Refused(c agent.TaskChange) bool {
	return c.Result != nil && c.Result.End == tools.EndRefused && c.Result.Rule != ""
}

// ActorOf is who sent an entry.
func ActorOf(e *intake.Entry) core.Actor {
	return core.Actor{Person: database.Clean(e.Sender.Person), Rule: e.Sender.Rule, Button: len(e.Button) > 0}
}

// ApproverOf is who sent an entry that approvers may send.
func ApproverOf(e *intake.Entry) core.Actor {
	by := ActorOf(e)
	by.Rule = audit.RuleApprover
	return by
}

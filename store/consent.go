package store

import (
	"time"

	"switchboard/agent/tools"
	"switchboard/router/ledger"
)

// lastQuestion is the open question that is the last thing said in a session, if the person had it before
// they wrote, and replied to nothing else.
const lastQuestion = actionColumns + `
	WHERE a.message_id = (SELECT max(id) FROM messages WHERE session_id = ?) AND a.kind = 'approval' AND a.state = 'proposed'
	AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.message_id = a.message_id AND (d.state <> 'sent' OR d.last_try > ?))
	AND (? = '' OR EXISTS (SELECT 1 FROM deliveries d WHERE d.message_id = a.message_id AND d.platform_id = ?))
	ORDER BY a.id LIMIT 1`

// acceptConsent decides by a plain yes or no what was asked last; false: nothing was. Commands, what only
// admins do, and what others wish are not decided so.
func (t *tx) acceptConsent(e *ledger.Entry, does ledger.Does, a *ledger.Accepted, conversation int64) (said bool, err error) {
	if does == "" {
		return false, nil
	}
	written := t.now
	if !e.Event.At.IsZero() { // platforms tell whole seconds
		written = micros(e.Event.At.Add(time.Second))
	}
	to := clean(string(e.Event.Message.ReplyTo))
	var rows []actionRow
	if err := t.All(&rows, lastQuestion, a.SessionID, written, to, to); err != nil || len(rows) == 0 {
		return false, err
	}
	var of []approvalRow
	if err := t.All(&of, approvalOf, rows[0].Approval); err != nil || len(of) == 0 {
		return false, err
	}
	p, situation := &of[0], ledger.ApprovalByButton
	if p.Kind == ledger.ApprovalTool && p.Person == clean(e.Sender.Person) && p.SessionID == a.SessionID && tools.ByWord(p.Tool) {
		if situation, err = t.decide(e, &rows[0], &ledger.AsDecision{Does: does}, a); err != nil {
			return false, err
		}
	}
	return true, t.say(e, a, conversation, classControl, situation)
}

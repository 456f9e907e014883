package store

import "switchboard/router"

const insertAudit = `
	INSERT INTO audit (person, action, target, rule, outcome, data, session_id, turn_id, created_at)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`

// An audited is something done by hand, for the audit log.
type audited struct {
	action, target, outcome string
	data                    any   // as JSON
	session, turn           int64 // 0: none
}

// audit writes what was done by hand, in the transaction that does it.
func (t *tx) audit(by router.Hand, a audited) error {
	_, err := t.exec(insertAudit, clean(by.Person), a.action, clean(a.target), clean(by.Rule), a.outcome, jsonText(a.data),
		orNull(a.session), orNull(a.turn), t.now)
	return err
}

package turns

import (
	"encoding/json"

	"switchboard/agent"
	"switchboard/router/core"
	"switchboard/store/database"
)

const turnTerms = `SELECT coalesce(terms, '') FROM turns WHERE id = ?`

// termsText is the column terms of a turn.
func termsText(terms *agent.Limits) any {
	if terms == nil {
		return nil
	}
	return database.JSONText(terms)
}

// TermsOf reads the limits of a turn back; without any they are none.
func TermsOf(text string) (t agent.Limits) {
	_ = json.Unmarshal([]byte(text), &t) // where it cannot be read, who runs the turn complains of it
	return t
}

// terms reads what narrows a turn of which the message is not merged: one that nobody typed
// has terms, and calls no tool by name.
func terms(t *database.Tx, d *core.TurnData) error {
	var text string
	if _, err := t.Row(turnTerms, []any{d.Turn.ID}, &text); err != nil || text == "" {
		return err
	}
	d.Ordered, d.Submitted = false, true
	return json.Unmarshal([]byte(text), &d.Turn.Limits)
}

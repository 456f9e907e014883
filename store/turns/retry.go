package turns

import (
	"switchboard/router/intake"
	"switchboard/router/turns"
	"switchboard/store/database"
	"switchboard/store/outbox"
	"switchboard/store/sessions"
)

const (
	// newestTurn is what a person means by "again": not what nobody asked for just then.
	newestTurn = `
		SELECT id, coalesce(retry_of, 0) AS retry_of, state, person, ordered FROM turns
		WHERE session_id = ? AND message_id > 0 AND person = ? AND terms IS NULL AND state <> 'merged' ORDER BY message_id DESC LIMIT 1`
	// meantTurn: what was merged is answered by the turn it was merged into.
	meantTurn = `
		SELECT y.id, coalesce(y.retry_of, 0) AS retry_of, y.state, y.person, y.ordered AND y.terms IS NULL AS ordered
		FROM turns t JOIN turns y ON y.id = coalesce(t.merged_into, t.id) WHERE t.id = ? AND t.session_id = ?`
	repliedIncoming = `
		SELECT turn_id FROM messages WHERE conversation_id = ? AND direction = 'in' AND platform_id = ? AND platform_id <> ''
		AND turn_id IS NOT NULL ORDER BY id DESC LIMIT 1`
	// repliedOutgoing looks at the latest parts alone, like shownOutgoing.
	repliedOutgoing = `
		SELECT m.turn_id FROM ` + outbox.LatestParts + `
		JOIN messages m ON m.id = d.message_id
		WHERE c.id = ? AND d.platform_id = ? AND d.platform_id <> '' AND m.turn_id IS NOT NULL ORDER BY d.seq DESC LIMIT 1`
	openRetry = `SELECT 1 FROM turns WHERE retry_of = ? AND state IN ('queued', 'running', 'waiting') LIMIT 1`
	resetAt   = `SELECT reset_message, reset_turn FROM sessions WHERE id = ?`
	// retryOpen is the retry of a turn that is not ended, if nothing else is left of what
	// that turn was asked.
	retryOpen = `
		SELECT t.id FROM turns t WHERE t.retry_of = ? AND t.state IN ('queued', 'running', 'waiting') AND NOT EXISTS (
			SELECT 1 FROM messages m WHERE m.turn_id = t.retry_of AND m.direction = 'in' AND (m.text <> '' OR m.attachments > 0))
		ORDER BY t.id LIMIT 1`
	// retriesOf are the turns whose messages a turn answers as well: the one that it
	// retries, and that one's other retries.
	retriesOf = `
		SELECT y.id FROM turns t JOIN turns y ON y.id = t.retry_of OR y.retry_of = t.retry_of AND y.id < t.id WHERE t.id = ?`
	forgetRetry = `UPDATE turns SET retry_of = NULL WHERE message_id = ? AND retry_of IS NOT NULL AND rank > 0`
)

// meant is a turn that somebody wants to be done again.
type meant struct {
	ID, RetryOf   int64
	State, Person string
	Ordered       bool
}

// first is the turn whose work it does.
func (m *meant) first() int64 {
	if m.RetryOf != 0 {
		return m.RetryOf
	}
	return m.ID
}

// AcceptRetry queues a turn that does the work of another again, or says why not. It is not its own
// text that counts, so it is not merged.
// offered is the message of ours that offered it; 0: the person asked by themselves.
func AcceptRetry(t *database.Tx, owner int64, e *intake.Entry, turn intake.TurnIntent, a *intake.Accepted, conversation int64, f sessions.Form, offered int64) error {
	m, why, err := whichTurn(t, e, turn.Retry, a.SessionID, conversation)
	if err == nil && m != nil {
		why, err = unretryable(t, m, e, turn.Retry, a.SessionID, offered)
	}
	if err != nil {
		return err
	}
	if why != "" {
		return declineRetry(t, e, a, conversation, f, why)
	}
	f.RetryOf, turn.Ordered = m.first(), m.Ordered
	return Accept(t, owner, e, alone(turn), a, conversation, f)
}

// declineRetry keeps a message that becomes no turn, and answers it by a fixed text.
func declineRetry(t *database.Tx, e *intake.Entry, a *intake.Accepted, conversation int64, f sessions.Form, why intake.Outcome) error {
	kept := *e
	if typed, ok := f.Typed.(string); ok {
		kept.Event.Message.Text = typed
	}
	return outbox.Say(t, &kept, a, conversation, sessions.ClassControl, why)
}

// whichTurn finds the turn that is to be done again; nil: why says that there is none.
func whichTurn(t *database.Tx, e *intake.Entry, retry *intake.Retry, session, conversation int64) (m *meant, why intake.Outcome, err error) {
	query, args, why := newestTurn, []any{session, e.Sender.Person}, intake.RetryNone
	switch of := database.Clean(string(retry.Of)); {
	case retry.Turn != 0:
		query, args, why = meantTurn, []any{retry.Turn, session}, intake.RetryForgotten
	case of != "":
		var turn int64
		found, err := t.Row(repliedIncoming, []any{conversation, of}, &turn)
		if err == nil && !found {
			_, err = t.Row(repliedOutgoing, []any{conversation, of}, &turn)
		}
		if err != nil {
			return nil, "", err
		}
		query, args, why = meantTurn, []any{turn, session}, intake.RetryUnknown
	}
	if m, err = database.First[meant](t, query, args...); err != nil || m == nil {
		return nil, why, err
	}
	return m, "", nil
}

// unretryable says why a turn cannot be done again; empty: it can.
func unretryable(t *database.Tx, m *meant, e *intake.Entry, retry *intake.Retry, session, offered int64) (intake.Outcome, error) {
	if m.Person != database.Clean(e.Sender.Person) {
		return intake.RetryNotYours, nil
	}
	open, err := turns.TurnState(m.State).Open(), error(nil)
	if !open {
		open, err = t.Has(openRetry, m.first())
	}
	if err != nil || open {
		return intake.RetryOpen, err
	}
	var message, turn int64
	if _, err := t.Row(resetAt, []any{session}, &message, &turn); err != nil {
		return "", err
	}
	forgotten := m.ID <= turn
	if offered != 0 { // an offer that was made since is as good as the message
		forgotten = offered <= message
	}
	if forgotten && retry.Turn == 0 && retry.Of == "" {
		return intake.RetryNone, nil
	}
	if forgotten {
		return intake.RetryForgotten, nil
	}
	rows, err := original(t, m.first(), []int64{m.first()})
	if err == nil && len(rows) == 0 {
		return intake.RetryForgotten, nil
	}
	return "", err
}

// takeBackRetry stops the retry of a turn of which all was taken back that was asked.
func takeBackRetry(t *database.Tx, first int64, a *intake.Accepted) error {
	var turn int64
	if found, err := t.Row(retryOpen, []any{first}, &turn); err != nil || !found {
		return err
	}
	return stop(t, turn, a)
}

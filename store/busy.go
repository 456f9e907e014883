package store

import "switchboard/router"

// What a message does beside a running turn of the same person: AsTurn.Mode.
const (
	modeQueue     = "queue"
	modeSteer     = "steer"
	modeInterrupt = "interrupt"
	modeCollect   = "collect"
)

const (
	runningTurn = `
		SELECT id FROM turns WHERE session_id = ? AND state IN ('queued', 'running') AND state = 'running' AND person = ?
		ORDER BY id LIMIT 1`
	newestOpen = `
		SELECT id, state, person, absorb FROM turns WHERE session_id = ? AND state IN ('queued', 'running')
		ORDER BY id DESC LIMIT 1`
	insertCollected = `
		INSERT INTO turns (session_id, message_id, person, state, outcome, merged_into, merged_from, asked_at, created_at, finished_at)
		VALUES (?, ?, ?, 'merged', 'collected', ?, -1, ?, ?, ?) RETURNING id`
	waitLonger = `UPDATE turns SET not_before = ? WHERE id = ?`
)

// until is when a turn may begin, in µs; 0: at once.
func (t *tx) until(turn router.AsTurn) int64 {
	if turn.Mode != modeCollect || turn.CollectWindow <= 0 {
		return 0
	}
	return t.now + turn.CollectWindow.Microseconds()
}

// meet applies a turn's mode to the running turn of its person.
func (t *tx) meet(e *router.Entry, turn router.AsTurn, a *router.Accepted) error {
	if turn.Mode != modeSteer && turn.Mode != modeInterrupt {
		return nil
	}
	var running int64
	found, err := t.row(runningTurn, []any{a.SessionID, clean(e.Sender.Person)}, &running)
	if err != nil || !found {
		return err
	}
	if turn.Mode == modeSteer {
		a.Steers = running
		return nil
	}
	a.CancelTurn = running
	_, err = t.exec(askCancel, string(router.StopInterrupted), running)
	return err
}

// collect merges a message into the queued turn of its person, if that is the
// newest of the session.
func (t *tx) collect(e *router.Entry, turn router.AsTurn, a *router.Accepted, conversation int64, l letter) (merged bool, err error) {
	var into int64
	var state, person string
	var absorb bool
	found, err := t.row(newestOpen, []any{a.SessionID}, &into, &state, &person, &absorb)
	if err != nil || !found || state != "queued" || absorb || person != clean(e.Sender.Person) {
		return false, err
	}
	message, taken, err := t.untaken(e, l, conversation, a.SessionID)
	if err != nil {
		return false, err
	}
	if taken {
		*a = duplicate
		return true, nil
	}
	own, err := t.insert(insertCollected, a.SessionID, message, clean(e.Sender.Person), into, micros(turn.Asked), t.now, t.now)
	if err != nil {
		return false, err
	}
	// The turn that answers it, so that all that concerns that turn concerns it.
	if _, err := t.exec(answeredBy, into, message); err != nil {
		return false, err
	}
	if notBefore := t.until(turn); notBefore != 0 {
		a.NotBefore = instant(notBefore)
		if _, err := t.exec(waitLonger, notBefore, into); err != nil {
			return false, err
		}
	}
	a.MessageID, a.TurnID, a.Merged = message, into, true
	a.Event, err = t.emit(a.SessionID, event{Kind: "message", Turn: into, Message: message}, turnEvent(own, "merged", "collected"))
	return true, err
}

package store

import (
	"context"

	"switchboard/agent"
	"switchboard/router/ledger"
)

// What a message does beside a running turn of the same person: AsTurn.Mode.
const (
	modeQueue     = "queue"
	modeSteer     = "steer"
	modeInterrupt = "interrupt"
	modeCollect   = "collect"
)

const (
	// runningTurn runs, or is put off until its model is back.
	runningTurn = `
		SELECT id FROM turns WHERE session_id = ? AND rank < 0 AND (state = 'running' OR outcome = '` + agent.OutcomeModelAway + `')
		AND person = ? AND terms IS NULL ORDER BY rank LIMIT 1`
	lastQueued = `
		SELECT id, person, absorb OR ordered FROM turns WHERE session_id = ? AND rank > 0 ORDER BY rank DESC LIMIT 1`
	insertCollected = `
		INSERT INTO turns (session_id, message_id, person, state, outcome, merged_into, merged_from, asked_at, created_at, finished_at)
		VALUES (?, ?, ?, 'merged', 'collected', ?, -1, ?, ?, ?) RETURNING id`
	waitLonger = `UPDATE turns SET not_before = ? WHERE id = ?`
)

// alone is a turn that is merged with no other.
func alone(turn ledger.AsTurn) ledger.AsTurn {
	if turn.Mode != modeInterrupt {
		turn.Mode, turn.CollectWindow = modeQueue, 0
	}
	return turn
}

// until is when a turn may begin, in µs; 0: at once.
func (t *tx) until(turn ledger.AsTurn) int64 {
	if turn.Mode != modeCollect || turn.CollectWindow <= 0 {
		return 0
	}
	return t.now + turn.CollectWindow.Microseconds()
}

// meet applies a turn's mode to the running turn of its person.
func (t *tx) meet(e *ledger.Entry, turn ledger.AsTurn, a *ledger.Accepted) error {
	if turn.Mode != modeSteer && turn.Mode != modeInterrupt {
		return nil
	}
	var running int64
	found, err := t.Row(runningTurn, []any{a.SessionID, clean(e.Sender.Person)}, &running)
	if err != nil || !found {
		return err
	}
	if turn.Mode == modeSteer {
		a.Steers = running
		return nil
	}
	a.CancelTurn = running
	_, err = t.Exec(askCancel, string(ledger.StopInterrupted), running)
	return err
}

// collect merges a message into the queued turn of its person, if that is the
// last of the session and has not begun.
func (t *tx) collect(e *ledger.Entry, turn ledger.AsTurn, a *ledger.Accepted, conversation int64, f form) (merged bool, err error) {
	var into int64
	var person string
	var apart bool
	found, err := t.Row(lastQueued, []any{a.SessionID}, &into, &person, &apart)
	if err != nil || !found || apart || person != clean(e.Sender.Person) {
		return false, err
	}
	message, taken, err := t.untaken(e, f, conversation, a.SessionID)
	if err != nil {
		return false, err
	}
	if taken {
		*a = duplicate
		return true, nil
	}
	own, err := t.Insert(insertCollected, a.SessionID, message, clean(e.Sender.Person), into, micros(turn.Asked), t.now, t.now)
	if err != nil {
		return false, err
	}
	// The turn that answers it, so that all that concerns that turn concerns it.
	if _, err := t.Exec(answeredBy, into, message); err != nil {
		return false, err
	}
	if notBefore := t.until(turn); notBefore != 0 {
		a.NotBefore = instant(notBefore)
		if _, err := t.Exec(waitLonger, notBefore, into); err != nil {
			return false, err
		}
	}
	a.MessageID, a.TurnID, a.Merged = message, into, true
	a.Event, err = t.emit(a.SessionID, event{Kind: "message", Turn: into, Message: message}, turnEvent(own, "merged", "collected"))
	return true, err
}

const (
	// absorbable looks without a lock, under the fence.
	absorbable = `
		SELECT EXISTS (SELECT 1 FROM leases l JOIN owners o ON o.id = l.owner
				WHERE l.kind = 'session' AND l.name = ? AND l.fence = ? AND o.state = 'alive'),
			EXISTS (SELECT 1 FROM turns q JOIN turns t ON t.id = ?
				WHERE q.session_id = ? AND q.rank > t.id AND q.absorb = TRUE AND q.person = t.person AND t.terms IS NULL)`
	// queuedToAbsorb are those behind the turn in order that have not begun.
	queuedToAbsorb = `
		SELECT q.id FROM turns q JOIN turns t ON t.id = ?
		WHERE q.session_id = ? AND q.rank > t.id AND q.absorb = TRUE AND q.person = t.person ORDER BY q.rank`
	// What was collected into an absorbed turn goes with it.
	absorbTurn = `
		UPDATE turns SET state = 'merged', outcome = 'absorbed', merged_into = ?, merged_from = ?, finished_at = ?
		WHERE id = ? OR merged_into = ?`
	absorbMessages = `UPDATE messages SET turn_id = ? WHERE turn_id = ? AND direction = 'in'`
)

// Absorb implements router.Steps.
func (r *Router) Absorb(ctx context.Context, ref ledger.TurnRef, from int) (list []agent.Incoming, err error) {
	var held, some bool
	err = r.db.read(ctx, "look for messages to absorb", func(t *tx) error {
		_, err := t.Row(absorbable, []any{name(ref.SessionID), ref.Fence, ref.TurnID, ref.SessionID}, &held, &some)
		if err == nil && !held {
			err = ledger.ErrFenced
		}
		return err
	})
	if err != nil || !some {
		return nil, err
	}
	err = r.db.write(ctx, rides, "absorb messages", func(t *tx) error {
		list, err = t.absorb(ref, max(from, 0))
		return err
	})
	if err != nil {
		return nil, unreadable(err)
	}
	return list, nil
}

func (t *tx) absorb(ref ledger.TurnRef, from int) (list []agent.Incoming, err error) {
	if _, err := t.holding(ref); err != nil {
		return nil, err
	}
	queued, err := t.ids(queuedToAbsorb, ref.TurnID, ref.SessionID)
	if err != nil {
		return nil, err
	}
	for _, turn := range queued {
		rows, err := t.incomings(loadOwn, turn)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			list = append(list, rows[i].incoming())
		}
		if err := t.run(statement{absorbTurn, []any{ref.TurnID, from, t.now, turn, turn}}, statement{absorbMessages, []any{ref.TurnID, turn}}); err != nil {
			return nil, err
		}
		if _, err := t.emit(ref.SessionID, turnEvent(turn, "merged", "absorbed")); err != nil {
			return nil, err
		}
	}
	return list, nil
}

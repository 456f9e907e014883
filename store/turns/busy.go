package turns

import (
	"context"

	"switchboard/agent"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/store/database"
	"switchboard/store/sessions"
)

// What a message does beside a running turn of the same person: TurnIntent.Mode.
const (
	ModeQueue     = "queue"
	ModeSteer     = "steer"
	ModeInterrupt = "interrupt"
	ModeCollect   = "collect"
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
func alone(turn intake.TurnIntent) intake.TurnIntent {
	if turn.Mode != ModeInterrupt {
		turn.Mode, turn.CollectWindow = ModeQueue, 0
	}
	return turn
}

// until is when a turn may begin, in µs; 0: at once.
func until(t *database.Tx, turn intake.TurnIntent) int64 {
	if turn.Mode != ModeCollect || turn.CollectWindow <= 0 {
		return 0
	}
	return t.Now + turn.CollectWindow.Microseconds()
}

// meet applies a turn's mode to the running turn of its person.
func meet(t *database.Tx, e *intake.Entry, turn intake.TurnIntent, a *intake.Accepted) error {
	if turn.Mode != ModeSteer && turn.Mode != ModeInterrupt {
		return nil
	}
	var running int64
	found, err := t.Row(runningTurn, []any{a.SessionID, e.Sender.Person}, &running)
	if err != nil || !found {
		return err
	}
	if turn.Mode == ModeSteer {
		a.Steers = running
		return nil
	}
	a.CancelTurn = running
	return t.Do(askCancel, core.StopInterrupted, running)
}

// collect merges a message into the queued turn of its person, if that is the
// last of the session and has not begun.
func collect(t *database.Tx, e *intake.Entry, turn intake.TurnIntent, a *intake.Accepted, conversation int64, f sessions.Form) (merged bool, err error) {
	var into int64
	var person string
	var apart bool
	found, err := t.Row(lastQueued, []any{a.SessionID}, &into, &person, &apart)
	if err != nil || !found || apart || person != database.Clean(e.Sender.Person) {
		return false, err
	}
	message, taken, err := sessions.Untaken(t, e, f, conversation, a.SessionID)
	if err != nil {
		return false, err
	}
	if taken {
		*a = sessions.Duplicate
		return true, nil
	}
	own, err := t.Insert(insertCollected, a.SessionID, message, e.Sender.Person, into, turn.Asked, t.Now, t.Now)
	if err != nil {
		return false, err
	}
	// The turn that answers it, so that all that concerns that turn concerns it.
	if err := t.Do(answeredBy, into, message); err != nil {
		return false, err
	}
	if notBefore := until(t, turn); notBefore != 0 {
		a.NotBefore = database.Instant(notBefore)
		if err := t.Do(waitLonger, notBefore, into); err != nil {
			return false, err
		}
	}
	a.MessageID, a.TurnID, a.Merged = message, into, true
	a.Event, err = sessions.Emit(t, a.SessionID, sessions.Event{Kind: "message", Turn: into, Message: message}, sessions.TurnEvent(own, "merged", "collected"))
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

// Absorb merges the queued turns that may steer this one (same session, same person) into it, in one
// transaction, oldest first, and returns their messages.
func (r *Store) Absorb(ctx context.Context, ref core.TurnRef, from int) (list []agent.Incoming, err error) {
	var held, some bool
	err = r.Read(ctx, "look for messages to absorb", func(t *database.Tx) error {
		_, err := t.Row(absorbable, []any{database.Digits(ref.SessionID), ref.Fence, ref.TurnID, ref.SessionID}, &held, &some)
		if err == nil && !held {
			err = core.ErrFenced
		}
		return err
	})
	if err != nil || !some {
		return nil, err
	}
	list, err = database.Write(ctx, r.DB, database.Async, "absorb messages", func(t *database.Tx) ([]agent.Incoming, error) {
		return absorb(t, ref, max(from, 0))
	})
	return list, unreadable(err)
}

func absorb(t *database.Tx, ref core.TurnRef, from int) (list []agent.Incoming, err error) {
	if _, err := sessions.Holding(t, ref); err != nil {
		return nil, err
	}
	queued, err := t.IDs(queuedToAbsorb, ref.TurnID, ref.SessionID)
	if err != nil {
		return nil, err
	}
	for _, turn := range queued {
		rows, err := incomings(t, loadOwn, turn)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			list = append(list, rows[i].incoming())
		}
		if err := t.Run(database.Do(absorbTurn, ref.TurnID, from, t.Now, turn, turn), database.Do(absorbMessages, ref.TurnID, turn)); err != nil {
			return nil, err
		}
		if _, err := sessions.Emit(t, ref.SessionID, sessions.TurnEvent(turn, "merged", "absorbed")); err != nil {
			return nil, err
		}
	}
	return list, nil
}

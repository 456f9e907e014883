// Package turns has the rows of turns, with their plans, steps and model calls.
package turns

import (
	"context"
	"errors"
	"fmt"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/turns"
	"switchboard/store/approvals"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/engines"
	"switchboard/store/outbox"
	"switchboard/store/sessions"
)

// Store reads and writes them in transactions of its own; the functions that take a transaction
// are for what changes more than these. Its methods may be called from several goroutines at once.
type Store struct{ *database.DB }

const (
	// askCancel keeps what was asked first. A turn that is put off is not waited for.
	askCancel = `UPDATE turns SET cancel_requested = ?, not_before = 0 WHERE id = ? AND cancel_requested = ''`
	// cancelUnbegun ends a turn that nobody works on: it is queued or waits for a decision, or
	// was set running by somebody who then gave it back (or died) before the first model
	// call was committed. %[1]s is alive.
	cancelUnbegun = `
		UPDATE turns SET state = 'cancelled', outcome = ?, finished_at = ?
		WHERE id = ? AND (state IN ('queued', 'waiting') OR state = 'running' AND calls = 0 AND NOT EXISTS (
			SELECT 1 FROM leases l JOIN owners o ON o.id = l.owner
			WHERE l.kind = 'session' AND l.name = CAST(turns.session_id AS text) AND %[1]s))
		RETURNING coalesce(draft_id, 0)`
	// freeUnbegun: the owner of the lease may not be dead but late, and there is nothing
	// left that it would give the lease back for.
	freeUnbegun = `
		UPDATE leases SET owner = NULL
		WHERE kind = 'session' AND name = (SELECT CAST(t.session_id AS text) FROM turns t WHERE t.id = ?)
		AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.session_id = (SELECT x.session_id FROM turns x WHERE x.id = ?)
			AND t.rank IS NOT NULL AND t.state = 'running')
		AND NOT EXISTS (SELECT 1 FROM owners o WHERE o.id = leases.owner AND %[1]s)`
	turnState = `SELECT state, outcome, coalesce(finished_at, 0), coalesce(merged_into, 0) FROM turns WHERE id = ?`
)

// Cancelled is the outcome of a turn that was cancelled.
const Cancelled = "cancelled"

// ReleaseSession releases a session's lease; a running turn stays running, to be claimed by anybody.
func (r *Store) ReleaseSession(ctx context.Context, ref core.TurnRef) error {
	return r.Write(ctx, r.ForLeases(), "give session back", func(t *database.Tx) error {
		if _, found, err := sessions.Lock(t, ref.SessionID); err != nil || !found {
			return err
		}
		if err := engines.Fenced(t, engines.Session, database.Digits(ref.SessionID), ref.Fence); errors.Is(err, core.ErrFenced) {
			return nil // taken over, or given back
		} else if err != nil {
			return err
		}
		// A turn that was ended by others may leave its lease behind.
		var head, notBefore int64
		var state, person string
		found, err := t.Row(headTurn, []any{ref.SessionID}, &head, &state, &person, &notBefore)
		if err != nil || found && head != ref.TurnID {
			return err // under the same lease the next turn may run
		}
		return engines.Release(t, engines.Session, database.Digits(ref.SessionID), ref.Fence)
	})
}

// Cancel ends an open turn that nobody works on, and else asks it to stop. Its
// session is locked; the event of the end is left for the caller.
func Cancel(t *database.Tx, turn int64) (ended bool, err error) {
	var draft int64
	ended, err = t.Row(fmt.Sprintf(cancelUnbegun, engines.Alive(t)), []any{Cancelled, t.Now, turn}, &draft)
	if err == nil && !ended {
		err = t.Do(askCancel, core.StopCancelled, turn)
	}
	if err != nil || !ended {
		return false, err
	}
	if err := t.Do(endTasks, t.Now, turn); err != nil {
		return false, err
	}
	if err := approvals.CancelOf(t, turn); err != nil {
		return false, err
	}
	if draft != 0 {
		if err := t.Do(outbox.DropDraft, t.Now, draft); err != nil {
			return false, err
		}
	}
	err = t.Do(fmt.Sprintf(freeUnbegun, engines.Alive(t)), turn, turn)
	return err == nil, err
}

// Cancel asks an open turn to stop, and ends one at once that nobody works on.
func (r *Store) Cancel(ctx context.Context, turnID int64, by core.Actor) (c channels.Conversation, err error) {
	err = r.Write(ctx, database.Durable, "cancel turn", func(t *database.Tx) error {
		session, conversation, err := sessions.LockedBy(t, turnID)
		if err != nil {
			return err
		}
		c = conversation
		if err := mayCancel(t, turnID); err != nil {
			return err
		}
		ended, err := Cancel(t, turnID)
		if err == nil && ended {
			_, err = sessions.Emit(t, session, sessions.TurnEvent(turnID, "cancelled", Cancelled))
		}
		if err == nil {
			err = WriteCancel(t, by, session, turnID)
		}
		return err
	})
	if ended, ok := errors.AsType[*core.StateError](err); ok {
		return c, ended // it says all there is to say
	} else if errors.Is(err, core.ErrNotFound) {
		return c, fmt.Errorf("turn %d: %w", turnID, core.ErrNotFound)
	}
	return c, err
}

// WriteCancel writes that somebody stopped a turn that may be another's.
func WriteCancel(t *database.Tx, by core.Actor, session, turn int64) error {
	return audit.Write(t, by, audit.Entry{Action: "turn.cancel", Target: fmt.Sprintf("turn %d", turn), Outcome: "asked", Session: session, Turn: turn})
}

// mayCancel says how a turn ended that is not open any more. Its session is locked.
func mayCancel(t *database.Tx, turn int64) error {
	var (
		state, outcome string
		finished, into int64
	)
	if _, err := t.Row(turnState, []any{turn}, &state, &outcome, &finished, &into); err != nil {
		return err
	}
	if turns.TurnState(state).Open() {
		return nil
	}
	if state == string(turns.TurnMerged) {
		return &core.StateError{Sentence: fmt.Sprintf("turn %d is part of turn %d, which answers it; cancel that one", turn, into)}
	}
	how := state
	if outcome != "" && outcome != state {
		how += " (" + outcome + ")"
	}
	return &core.StateError{Sentence: fmt.Sprintf("turn %d is not open any more: it ended at %s as %s",
		turn, database.Instant(finished).Local().Format("2006-01-02 15:04:05 MST"), how)}
}

// stop ends a turn of which nothing is left to answer, or asks it to stop.
func stop(t *database.Tx, turn int64, a *intake.Accepted) error {
	a.TurnID = turn
	ended, err := Cancel(t, turn)
	if err != nil {
		return err
	}
	if !ended {
		a.CancelTurn = turn
		return nil
	}
	a.Dropped, a.Waiting = []int64{turn}, true // it may have waited for a decision, and what stood behind it may begin
	_, err = sessions.Emit(t, a.SessionID, sessions.TurnEvent(turn, "cancelled", Cancelled))
	return err
}

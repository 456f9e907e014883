package turns

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/turns"
	"switchboard/store/approvals"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/engines"
	"switchboard/store/outbox"
	"switchboard/store/sessions"
)

const (
	// headTurn is the next turn of a session; its rank says which that is.
	headTurn = `
		SELECT id, state, person, not_before FROM turns WHERE session_id = ? AND rank IS NOT NULL ORDER BY rank LIMIT 1`
	// setRunning: what a turn that was put off waited beyond its time is no time of its own.
	setRunning = `
		UPDATE turns SET state = 'running', started_at = coalesce(started_at, ?),
			waited = waited + CASE WHEN state = 'queued' AND outcome = '` + agent.OutcomeModelAway + `' AND terms IS NULL AND not_before > 0 THEN ? - not_before ELSE 0 END,
			resumed = CASE WHEN state = 'running' AND ? THEN resumed + 1 ELSE resumed END,
			holders = CASE WHEN length(holders) < 1000 THEN holders ELSE '…' || substr(holders, 500) END || ' ' || (SELECT coalesce(owner, 0)
				FROM leases WHERE kind = 'session' AND name = CAST(turns.session_id AS text)) || CAST(? AS text)
		WHERE id = ? AND rank IS NOT NULL`
	// claimable are heads of sessions nobody holds, the longest waiting first, of turns in
	// the state %[3]s. They come in the order of their index, so that the look ends with
	// the last that is wanted. %[1]s and %[2]s are the marks of channels and persons,
	// %[4]s is alive. On PostgreSQL it is sb_claimable.
	claimable = `
		SELECT t.session_id AS id FROM turns t INDEXED BY turns_oldest CROSS JOIN sessions s CROSS JOIN conversations c
		WHERE t.rank IS NOT NULL AND t.state = '%[3]s' AND c.channel IN (%[1]s) AND t.person NOT IN (%[2]s) AND t.not_before <= ?
		AND s.id = t.session_id AND c.id = s.conversation_id
		AND NOT EXISTS (SELECT 1 FROM turns b WHERE b.session_id = t.session_id AND b.rank < t.rank)
		AND NOT EXISTS (SELECT 1 FROM leases l JOIN owners o ON o.id = l.owner
			WHERE l.kind = 'session' AND l.name = CAST(t.session_id AS text) AND %[4]s)
		ORDER BY t.created_at, t.id LIMIT ?`
	callClaimable = `SELECT id FROM sb_claimable(?, ?, ?, ?, ?) AS id`
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

// claimSpare is how many sessions more than wanted Claim looks at on PostgreSQL, where
// others may be faster, or stand still with a session locked.
const claimSpare = 16

// Cancelled is the outcome of a turn that was cancelled.
const Cancelled = "cancelled"

// claim takes a session's lease if it is free and sets its head running. It
// returns nil when there is nothing to claim. The session is locked; the event of
// the beginning is left for the caller.
func claim(t *database.Tx, owner, session int64, except []string) (*core.Claimed, []sessions.Event, error) {
	left, err := engines.Left(t, engines.Session, database.Digits(session))
	if err != nil {
		return nil, nil, err
	}
	fence, ok, err := engines.Take(t, engines.Session, database.Digits(session), owner, t.Now)
	if err != nil || !ok {
		return nil, nil, err
	}
	c, began, err := head(t, session, fence, left, except)
	if err == nil && c == nil {
		err = engines.Release(t, engines.Session, database.Digits(session), fence)
	}
	return c, began, err
}

// head sets the next turn of a session running under its lease; nil when there
// is none, or it waits for more to be collected. left says that the holder before
// died, and is counted on a turn that it left running. The event of the beginning
// is left for the caller.
func head(t *database.Tx, session, fence int64, left bool, except []string) (*core.Claimed, []sessions.Event, error) {
	c := &core.Claimed{TurnRef: core.TurnRef{SessionID: session, Fence: fence}}
	var state string
	var notBefore int64
	found, err := t.Row(headTurn, []any{session}, &c.TurnID, &state, &c.Person, &notBefore)
	if err != nil || !found || notBefore > t.Now || slices.Contains(except, c.Person) {
		return nil, nil, err
	}
	if _, err := t.Exec(setRunning, t.Now, t.Now, left, fmt.Sprintf(":%d:%d", fence, t.Now), c.TurnID); err != nil || state != "queued" {
		return c, nil, err
	}
	return c, []sessions.Event{sessions.TurnEvent(c.TurnID, "running", "")}, nil
}

// Claim implements router.Turns.
func (r *Store) Claim(ctx context.Context, owner int64, of, except []string, limit int) ([]core.Claimed, error) {
	if limit <= 0 || len(of) == 0 {
		return nil, nil
	}
	spare := 0
	if r.PG() {
		spare = claimSpare
	}
	ids, err := r.claimable(ctx, owner, of, except, limit+spare)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	if r.PG() {
		return r.claimTwice(ctx, owner, ids, except, limit)
	}
	var out []core.Claimed
	err = r.Write(ctx, database.Async, "claim turns", func(t *database.Tx) error {
		out = nil
		for _, session := range ids {
			c, began, err := claim(t, owner, session, except)
			if err == nil {
				_, err = sessions.Emit(t, session, began...)
			}
			if err != nil {
				return err
			}
			if c != nil {
				out = append(out, *c)
			}
		}
		return nil
	})
	return out, err
}

// claimable looks without a lock, and beside SQLite's writer; claim looks again.
func (r *Store) claimable(ctx context.Context, owner int64, of, except []string, limit int) (sessions []int64, err error) {
	err = r.Read(ctx, "find turns", func(t *database.Tx) (err error) {
		if t.PG {
			sessions, err = t.IDs(callClaimable, owner, database.JSONText(of), database.JSONText(except), t.Now, limit)
			return err
		}
		chMarks, args := database.In(of)
		exMarks, exArgs := database.In(except)
		if len(except) == 0 {
			exMarks = "''" // no turn is for nobody
		}
		args = append(append(args, exArgs...), t.Now)
		// What was left running has waited for longer than what was not begun.
		sessions, err = t.IDs(fmt.Sprintf(claimable, chMarks, exMarks, "running", engines.Alive(t)), append(args, limit)...)
		if err != nil || len(sessions) == limit {
			return err
		}
		queued, err := t.IDs(fmt.Sprintf(claimable, chMarks, exMarks, "queued", engines.Alive(t)), append(args, limit-len(sessions))...)
		sessions = append(sessions, queued...)
		return err
	})
	return sessions, err
}

// GiveBack implements router.Turns.
func (r *Store) GiveBack(ctx context.Context, ref core.TurnRef) error {
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
		_, err = t.Exec(askCancel, string(core.StopCancelled), turn)
	}
	if err != nil || !ended {
		return false, err
	}
	if _, err := t.Exec(endTasks, t.Now, turn); err != nil {
		return false, err
	}
	if err := approvals.CancelOf(t, turn); err != nil {
		return false, err
	}
	if draft != 0 {
		if _, err := t.Exec(outbox.DropDraft, t.Now, draft); err != nil {
			return false, err
		}
	}
	_, err = t.Exec(fmt.Sprintf(freeUnbegun, engines.Alive(t)), turn, turn)
	return err == nil, err
}

// Cancel implements router.Turns.
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

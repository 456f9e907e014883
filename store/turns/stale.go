package turns

import (
	"context"
	"fmt"
	"time"

	"switchboard/agent"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/router/turns"
	"switchboard/store/database"
	"switchboard/store/sessions"
)

const (
	// askedAt is since when the person of turn t waits.
	askedAt = `CASE WHEN t.asked_at > 0 THEN t.asked_at ELSE t.created_at END`
	// begunTurn is when a turn was asked for and begun, under its fence.
	begunTurn = `
		SELECT t.message_id, t.person, coalesce(t.started_at, t.created_at) + t.waited, t.created_at, t.resumed_at, t.away, ` + askedAt + `
		FROM turns t ` + runsHeld
	// runsHeld is that turn t runs in its session, under its fence.
	runsHeld = `WHERE t.id = ? AND t.session_id = ? AND t.state = 'running' AND EXISTS (
			SELECT 1 FROM leases l JOIN owners o ON o.id = l.owner
			WHERE l.kind = 'session' AND l.name = ? AND l.fence = ? AND o.state = 'alive')`
	// workedLast is the session's latest turn before that somebody worked on: not one that
	// was only offered, or cancelled before anything was done. One that waited may have been
	// worked on later than newer ones.
	workedLast = `
		SELECT ended, resumed_at, away FROM (
			SELECT * FROM (SELECT ` + lastWork + ` AND message_id > 0 AND message_id < ? ORDER BY message_id DESC LIMIT 1) AS a
			UNION ALL SELECT * FROM (SELECT ` + lastWork + ` AND parked_at IS NOT NULL ORDER BY coalesce(finished_at, parked_at) DESC LIMIT 1) AS b
		) AS w ORDER BY ended DESC LIMIT 1`
	lastWork = `coalesce(finished_at, parked_at, 0) AS ended, resumed_at, away + waited AS away FROM turns
		WHERE session_id = ? AND state IN ('done', 'failed', 'cancelled', 'waiting') AND started_at IS NOT NULL AND (state <> 'cancelled' OR calls > 0)
		AND outcome NOT IN ('stale', 'nothing_to_retry')`
	// waitingLong are the turns of a person that have not begun and may become one with another.
	// A retry may not: it is not its text that counts.
	waitingLong = `
		SELECT t.id AS turn, t.created_at AS received, ` + askedAt + ` AS asked FROM turns t
		WHERE t.session_id = ? AND t.rank > ? AND t.person = ?
		AND t.retry_of IS NULL AND t.ordered = FALSE AND ` + askedAt + ` < ? ORDER BY t.rank`
	mergeStale = `
		UPDATE turns SET state = 'merged', outcome = 'stale', merged_into = ?, merged_from = -1, finished_at = ? WHERE id = ? AND rank > 0`
	// What was collected into a merged turn goes with it.
	mergeAlong = `UPDATE turns SET merged_into = ? WHERE merged_into = ?`
	// lastDone is when the latest of a turn's rows was written.
	lastDone = `
		SELECT coalesce((SELECT max(created_at) FROM llm_calls WHERE turn_id = ?), 0),
			coalesce((SELECT max(coalesce(finished_at, started_at)) FROM tasks WHERE turn_id = ?), 0),
			coalesce((SELECT max(created_at) FROM messages WHERE turn_id = ? AND direction = 'out'), 0)`
	setAway = `UPDATE turns SET away = ?, resumed_at = ? WHERE id = ?`
)

// begun is when a turn was asked for, and when it was worked on; in µs.
type begun struct {
	message                                int64
	person                                 string
	started, created, resumed, away, asked int64
}

func beginnings(t *database.Tx, ref core.TurnRef) (b begun, err error) {
	err = t.Must(core.ErrFenced, begunTurn, []any{ref.TurnID, ref.SessionID, database.Digits(ref.SessionID), ref.Fence},
		&b.message, &b.person, &b.started, &b.created, &b.resumed, &b.away, &b.asked)
	return b, err
}

// Backlog lists what is to be offered again, in place of the turn's answer: its own message first.
func (r *Store) Backlog(ctx context.Context, ref core.TurnRef, stale time.Duration) (list []turns.Waiting, err error) {
	list, err = database.Look(ctx, r.DB, "read backlog", func(t *database.Tx) ([]turns.Waiting, error) { return backlog(t, ref, stale.Microseconds()) })
	return list, unreadable(err)
}

func backlog(t *database.Tx, ref core.TurnRef, stale int64) ([]turns.Waiting, error) {
	b, err := beginnings(t, ref)
	if err != nil {
		return nil, err
	}
	before, err := leftAlone(t, ref.SessionID, b, stale)
	if err != nil || b.asked >= before {
		return nil, err
	}
	list := []turns.Waiting{{Turn: ref.TurnID, Asked: database.Instant(b.asked), Received: database.Instant(b.created)}}
	rows, err := database.Select[turns.Waiting](t, waitingLong, ref.SessionID, ref.TurnID, b.person, before)
	if err != nil {
		return nil, err
	}
	for _, w := range rows {
		messages, err := incomings(t, loadOwn, w.Turn)
		if err != nil {
			return nil, err
		}
		texts := make([]string, len(messages))
		for i, m := range messages {
			texts[i] = m.Text
			w.Files += len(m.attachments)
			w.Taint = w.Taint.Join(m.Taint)
		}
		w.Text = paragraphs(texts)
		list = append(list, w)
	}
	return list, nil
}

// leftAlone is the instant before which whatever was asked waited for longer than stale
// with nobody at work on the session: since the turn before ended, or while that one
// itself was left alone.
func leftAlone(t *database.Tx, session int64, b begun, stale int64) (before int64, err error) {
	var ended, resumed, away int64
	if _, err := t.Row(workedLast, []any{session, b.message, session}, &ended, &resumed, &away); err != nil {
		return 0, err
	}
	if before = b.started - stale; ended <= before {
		return before, nil
	}
	if away > stale {
		return resumed - stale, nil
	}
	return 0, nil
}

// Offer is Commit of a step that ends the turn, into which it first merges the turns merge.
func (r *Store) Offer(ctx context.Context, ref core.TurnRef, merge []int64, step agent.Step, say outbox.Reply) (*core.Claimed, error) {
	says := []outbox.Reply{say}
	if len(step.Say) != 1 || step.End == nil {
		return nil, fmt.Errorf("offer: %d messages, and the turn has to end: %w", len(step.Say), core.ErrConflict)
	}
	return database.Write(ctx, r.DB, r.stepMode(step, says), "offer backlog", func(t *database.Tx) (*core.Claimed, error) {
		if _, err := sessions.Holding(t, ref); err != nil {
			return nil, err
		}
		for _, turn := range merge {
			if err := mergeWaiting(t, ref, turn); err != nil {
				return nil, err
			}
		}
		return writeStep(t, ref, &step, nil, says)
	})
}

func mergeWaiting(t *database.Tx, ref core.TurnRef, turn int64) error {
	if err := t.Change(fmt.Errorf("turn %d is not queued any more: %w", turn, core.ErrConflict), mergeStale, ref.TurnID, t.Now, turn); err != nil {
		return err
	}
	if _, err := t.Each([]string{mergeAlong, absorbMessages}, []any{ref.TurnID, turn}); err != nil {
		return err
	}
	_, err := sessions.Emit(t, ref.SessionID, sessions.TurnEvent(turn, "merged", "stale"))
	return err
}

// Resume notes that a turn is worked on again, and returns for how long in all nobody did, in pauses longer
// than stale.
func (r *Store) Resume(ctx context.Context, ref core.TurnRef, stale time.Duration) (away time.Duration, err error) {
	err = r.Write(ctx, database.Async, "resume turn", func(t *database.Tx) error {
		if _, err := sessions.Holding(t, ref); err != nil {
			return err
		}
		b, err := beginnings(t, ref)
		if err != nil {
			return err
		}
		var calls, tasks, said int64
		if _, err := t.Row(lastDone, []any{ref.TurnID, ref.TurnID, ref.TurnID}, &calls, &tasks, &said); err != nil {
			return err
		}
		if pause := t.Now - max(b.started, b.resumed, calls, tasks, said); pause > stale.Microseconds() {
			b.away += pause
			err = t.Do(setAway, b.away, t.Now, ref.TurnID)
		}
		away = time.Duration(b.away) * time.Microsecond
		return err
	})
	return away, err
}

package store

import (
	"context"

	"switchboard/agent"
	"switchboard/router"
)

const (
	// absorbable looks without a lock, under the fence.
	absorbable = `
		SELECT EXISTS (SELECT 1 FROM leases l JOIN owners o ON o.id = l.owner
				WHERE l.kind = 'session' AND l.name = ? AND l.fence = ? AND o.state = 'alive'),
			EXISTS (SELECT 1 FROM turns q JOIN turns t ON t.id = ?
				WHERE q.session_id = ? AND q.id > t.id AND q.state IN ('queued', 'running') AND q.state = 'queued' AND q.absorb = TRUE
				AND q.person = t.person)`
	queuedToAbsorb = `
		SELECT q.id FROM turns q JOIN turns t ON t.id = ?
		WHERE q.session_id = ? AND q.id > t.id AND q.state IN ('queued', 'running') AND q.state = 'queued' AND q.absorb = TRUE
		AND q.person = t.person ORDER BY q.id`
	// What was collected into an absorbed turn goes with it.
	absorbTurn = `
		UPDATE turns SET state = 'merged', outcome = 'absorbed', merged_into = ?, merged_from = ?, finished_at = ?
		WHERE id = ? OR merged_into = ?`
	absorbMessages = `UPDATE messages SET turn_id = ? WHERE turn_id = ? AND direction = 'in'`
)

// Absorb implements router.Steps.
func (r *Router) Absorb(ctx context.Context, ref router.TurnRef, from int) (list []agent.Incoming, err error) {
	var held, some bool
	err = r.db.read(ctx, "look for messages to absorb", func(t *tx) error {
		_, err := t.row(absorbable, []any{name(ref.SessionID), ref.Fence, ref.TurnID, ref.SessionID}, &held, &some)
		if err == nil && !held {
			err = router.ErrFenced
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

func (t *tx) absorb(ref router.TurnRef, from int) (list []agent.Incoming, err error) {
	if _, err := t.holding(ref); err != nil {
		return nil, err
	}
	var queued []struct{ ID int64 }
	if err := t.all(&queued, queuedToAbsorb, ref.TurnID, ref.SessionID); err != nil {
		return nil, err
	}
	for _, q := range queued {
		rows, err := t.incomings(loadOwn, q.ID)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			list = append(list, rows[i].incoming())
		}
		if _, err := t.exec(absorbTurn, ref.TurnID, from, t.now, q.ID, q.ID); err != nil {
			return nil, err
		}
		if _, err := t.exec(absorbMessages, ref.TurnID, q.ID); err != nil {
			return nil, err
		}
		if _, err := t.emit(ref.SessionID, turnEvent(q.ID, "merged", "absorbed")); err != nil {
			return nil, err
		}
	}
	return list, nil
}

package turns

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"switchboard/agent"
	"switchboard/router/core"
	routeroutbox "switchboard/router/outbox"
	"switchboard/router/turns"
	"switchboard/store/database"
	"switchboard/store/outbox"
	"switchboard/store/sessions"
)

const awaited = `SELECT t.cancel_requested, w.name FROM turns t JOIN people_away w ON w.name = t.person WHERE t.id = ?`

// mayAwait refuses to park a turn whose person is back, or that was asked to stop. Its session is
// locked: who comes back finds the turn afterwards.
func mayAwait(t *database.Tx, turn int64) error {
	var stop, name string
	away, err := t.Row(sessions.KeyShared(t, awaited, " OF w"), []any{turn}, &stop, &name)
	switch {
	case err != nil:
		return err
	case !away:
		return core.ErrNotAway
	case stop != "":
		return core.ErrStopped
	}
	return nil
}

const askedToStop = `SELECT cancel_requested FROM turns WHERE id = ?`

// Commit writes a step; says[i] renders step.Say[i].
func (r *Store) Commit(ctx context.Context, ref core.TurnRef, step agent.Step, says []routeroutbox.Reply) (next *core.Claimed, err error) {
	if len(says) != len(step.Say) {
		return nil, fmt.Errorf("commit step: %d messages for %d texts", len(says), len(step.Say))
	}
	away := step.End != nil && parks(step.End) && step.End.Outcome == agent.OutcomePersonAway
	if e := step.End; e != nil && !away && (parks(e) || !turns.TurnRunning.To(turns.TurnState(e.State))) {
		return nil, fmt.Errorf("commit step: a turn cannot end as %q: %w", e.State, core.ErrConflict)
	}
	if r.PG() && !away && len(step.Redact) == 0 && (step.Plan == nil || step.Plan.Question == 0) && !slices.ContainsFunc(says, outbox.Special) && !slices.ContainsFunc(step.Tasks, rare) { // what is rare, and many statements
		return r.callStep(ctx, ref, &step, says)
	}
	bodies := packCalls(step.Calls) // here, and not while everybody waits for the writer
	err = r.Write(ctx, r.stepMode(step, says), "commit step", func(t *database.Tx) error {
		if next, err = writeStep(t, ref, &step, bodies, says); err == nil && away {
			err = mayAwait(t, ref.TurnID)
		}
		return err
	})
	if errors.Is(err, database.ErrUnsynced) && r.stepMode(step, nil) == database.Async {
		r.unopen(ctx, says)
		err = nil
	}
	if err != nil {
		return nil, err
	}
	if len(step.Redact) > 0 {
		if err := r.EmptyLog(ctx); err != nil {
			r.Log.WarnContext(ctx, "a credential may stand in the write-ahead log until it is overwritten", "error", err)
		}
	}
	return next, nil
}

// PutOff is Commit of a step that queues its turn again, ahead of what has not begun: it is claimed once
// step.End.Wait is over, and nothing of its session before it. It is rare, so PostgreSQL takes the statements
// of SQLite.
func (r *Store) PutOff(ctx context.Context, ref core.TurnRef, step agent.Step, says []routeroutbox.Reply) (*core.Claimed, error) {
	if len(says) != len(step.Say) || step.End == nil || step.End.State != string(turns.TurnQueued) {
		return nil, fmt.Errorf("put a turn off: it has to be queued, with %d messages for %d texts: %w", len(says), len(step.Say), core.ErrConflict)
	}
	bodies := packCalls(step.Calls)
	return database.Write(ctx, r.DB, r.stepMode(step, says), "put a turn off", func(t *database.Tx) (*core.Claimed, error) {
		if _, err := sessions.Holding(t, ref); err != nil {
			return nil, err
		}
		if err := goesOn(t, ref.TurnID); err != nil {
			return nil, err
		}
		return writeStep(t, ref, &step, bodies, says)
	})
}

// goesOn refuses to let a turn wait that was asked to stop; ErrStopped.
func goesOn(t *database.Tx, turn int64) error {
	var stop string
	_, err := t.Row(askedToStop, []any{turn}, &stop)
	if err == nil && stop != "" {
		err = core.ErrStopped
	}
	return err
}

// unopen takes a part back that was begun and is not surely on the disk, so that it may
// not be sent. The step itself is committed, and needed no more than that.
func (r *Store) unopen(ctx context.Context, says []routeroutbox.Reply) {
	for _, say := range says {
		o := say.Open
		if o == nil || o.Begun == nil {
			continue
		}
		d := o.Begun
		o.Begun = nil
		if _, err := (&outbox.Store{DB: r.DB}).Settle(ctx, o.Lease, d, routeroutbox.Settlement{State: routeroutbox.DeliveryPending, FreeTry: true}); err != nil {
			r.Log.ErrorContext(ctx, "a part was begun that is not sent", "delivery_id", d.ID, "error", err)
		}
	}
}

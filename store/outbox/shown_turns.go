package outbox

import (
	"context"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/store/database"
	"switchboard/store/sessions"
)

const (
	showTurn   = `UPDATE turns SET shown = TRUE WHERE id = ? AND state = 'running'`
	shownTurns = `
		SELECT t.id AS turn, t.state AS is_in, t.outcome, m.platform_id AS message, ` + sessions.Columns + `
		FROM turns t JOIN messages m ON m.id = t.message_id JOIN conversations c ON c.id = m.conversation_id
		WHERE t.shown = TRUE AND c.channel = ? ORDER BY t.id`
	hideTurn = `UPDATE turns SET shown = FALSE WHERE id = ?`
)

// ShowTurn notes that a running turn is to be shown at work.
func (r *Store) ShowTurn(ctx context.Context, ref core.TurnRef) error {
	return r.Write(ctx, database.Async, "show turn", func(t *database.Tx) error {
		if _, err := sessions.Holding(t, ref); err != nil {
			return err
		}
		return t.Do(showTurn, ref.TurnID)
	})
}

// ShownTurns lists the channel's turns that may be shown at work, and what is to be shown of each now.
func (r *Store) ShownTurns(ctx context.Context, channel string) ([]outbox.ShownTurn, error) {
	type row struct {
		outbox.ShownTurn
		IsIn, Outcome string
	}
	return database.Look(ctx, r.DB, "list shown turns", func(t *database.Tx) ([]outbox.ShownTurn, error) {
		return database.Views(t, func(r *row) outbox.ShownTurn {
			switch r.State = channels.TurnDone; {
			case r.IsIn == "queued", r.IsIn == "running":
				r.State = channels.TurnWorking
			case r.IsIn == "waiting", r.Outcome == "asked":
				r.State = channels.TurnWaiting
			}
			return r.ShownTurn
		}, shownTurns, channel)
	})
}

// HideTurn notes that nothing is shown of a turn that has ended.
func (r *Store) HideTurn(ctx context.Context, hold outbox.Lease, turn int64) error {
	return r.held(ctx, database.Async, "hide turn", hold, func(t *database.Tx) error { return t.Do(hideTurn, turn) })
}

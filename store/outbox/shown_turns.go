package outbox

import (
	"context"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/store/database"
	"switchboard/store/engines"
	"switchboard/store/sessions"
)

const (
	showTurn   = `UPDATE turns SET shown = TRUE WHERE id = ? AND state = 'running'`
	shownTurns = `
		SELECT t.id, t.state, t.outcome, m.platform_id, c.channel, c.conversation, c.kind, c.place, c.title
		FROM turns t JOIN messages m ON m.id = t.message_id JOIN conversations c ON c.id = m.conversation_id
		WHERE t.shown = TRUE AND c.channel = ? ORDER BY t.id`
	hideTurn = `UPDATE turns SET shown = FALSE WHERE id = ?`
)

// ShowTurn implements delivery.ShownTurns.
func (r *Store) ShowTurn(ctx context.Context, ref core.TurnRef) error {
	return r.Write(ctx, database.Async, "show turn", func(t *database.Tx) error {
		if _, err := sessions.Holding(t, ref); err != nil {
			return err
		}
		_, err := t.Exec(showTurn, ref.TurnID)
		return err
	})
}

// ShownTurns implements delivery.ShownTurns.
func (r *Store) ShownTurns(ctx context.Context, channel string) (list []outbox.ShownTurn, err error) {
	err = r.Look(ctx, "list shown turns", func(t *database.Tx) error {
		list = nil
		var rows []struct {
			ID             int64
			State, Outcome string
			PlatformID     string `db:"platform_id"`
			sessions.ConversationRow
		}
		if err := t.All(&rows, shownTurns, database.Clean(channel)); err != nil {
			return err
		}
		for _, row := range rows {
			s := outbox.ShownTurn{
				Turn: row.ID, Conversation: row.Where(), Message: channels.MessageID(row.PlatformID), State: channels.TurnDone,
			}
			switch {
			case row.State == "queued", row.State == "running":
				s.State = channels.TurnWorking
			case row.State == "waiting", row.Outcome == "asked":
				s.State = channels.TurnWaiting
			}
			list = append(list, s)
		}
		return nil
	})
	return list, err
}

// HideTurn implements delivery.ShownTurns.
func (r *Store) HideTurn(ctx context.Context, hold outbox.Lease, turn int64) error {
	return r.Write(ctx, database.Async, "hide turn", func(t *database.Tx) error {
		if err := engines.Fenced(t, engines.Channel, database.Clean(hold.Channel), hold.Fence); err != nil {
			return err
		}
		_, err := t.Exec(hideTurn, turn)
		return err
	})
}

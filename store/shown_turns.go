package store

import (
	"context"

	"switchboard/channels"
	"switchboard/router/ledger"
	"switchboard/store/engines"
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
func (r *Router) ShowTurn(ctx context.Context, ref ledger.TurnRef) error {
	return r.db.write(ctx, rides, "show turn", func(t *tx) error {
		if _, err := t.holding(ref); err != nil {
			return err
		}
		_, err := t.Exec(showTurn, ref.TurnID)
		return err
	})
}

// ShownTurns implements delivery.ShownTurns.
func (r *Router) ShownTurns(ctx context.Context, channel string) (list []ledger.ShownTurn, err error) {
	err = r.db.look(ctx, "list shown turns", func(t *tx) error {
		list = nil
		var rows []struct {
			ID             int64
			State, Outcome string
			PlatformID     string `db:"platform_id"`
			conversationRow
		}
		if err := t.All(&rows, shownTurns, clean(channel)); err != nil {
			return err
		}
		for _, row := range rows {
			s := ledger.ShownTurn{
				Turn: row.ID, Conversation: row.conversation(), Message: channels.MessageID(row.PlatformID), State: channels.TurnDone,
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
func (r *Router) HideTurn(ctx context.Context, hold ledger.Hold, turn int64) error {
	return r.db.write(ctx, rides, "hide turn", func(t *tx) error {
		if err := t.Fenced(engines.Channel, clean(hold.Channel), hold.Fence); err != nil {
			return err
		}
		_, err := t.Exec(hideTurn, turn)
		return err
	})
}

package outbox

import (
	"context"

	"switchboard/router/outbox"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/sessions"
)

const (
	listUnnamed = `
		SELECT d.id AS delivery, d.message_id AS message, d.state = 'dropped' AS dropped, m.person, m.notice, d.created_at AS written, ` + sessions.Columns + `
		FROM deliveries d JOIN messages m ON m.id = d.message_id JOIN conversations c ON c.id = d.conversation_id
		WHERE d.channel = ? AND d.unnamed = TRUE ORDER BY d.id`
	// givenUp counts messages of which a part was dropped or refused: they do not come.
	givenUp = `
		SELECT count(DISTINCT d.message_id) FROM ` + LatestParts + `
		WHERE c.channel = ? AND c.conversation = ? AND d.state IN ('dropped', 'dead') AND d.draft = '' AND d.updated_at >= ?`
	setNamed = `UPDATE deliveries SET unnamed = FALSE WHERE unnamed = TRUE AND id IN (`
	// lostParts looks at the latest parts alone, like shownOutgoing.
	lostParts = `
		SELECT d.id, d.message_id FROM ` + LatestParts + `
		WHERE c.channel = ? AND c.conversation = ? AND d.state = 'unknown' AND d.settled = TRUE AND d.updated_at >= ? ORDER BY d.seq`
)

// Unnamed lists parts of the channel that ended unknown with Settlement.Unnamed, and were not named since.
func (r *Store) Unnamed(ctx context.Context, hold outbox.Lease) ([]outbox.Unnamed, error) {
	return database.Read(ctx, r.DB, "list unnamed parts", func(t *database.Tx) ([]outbox.Unnamed, error) {
		if err := fenced(t, hold); err != nil {
			return nil, err
		}
		return database.Select[outbox.Unnamed](t, listUnnamed, hold.Channel)
	})
}

// Name commits a message that names parts of one conversation to it, and notes that they are named.
func (r *Store) Name(ctx context.Context, hold outbox.Lease, lost []outbox.Unnamed, reply outbox.Reply) error {
	ids := make([]int64, len(lost))
	for i, u := range lost {
		ids[i] = u.Delivery
	}
	return r.held(ctx, database.Durable, "name lost parts", hold, func(t *database.Tx) error {
		marks, args := database.In(ids)
		n, err := t.Exec(setNamed+marks+`)`, args...)
		if err != nil || n == 0 {
			return err
		}
		return PostTo(t, lost[0].Conversation, &reply)
	})
}

// Resend does by hand what can be done about every part of a conversation that ended unknown.
func Resend(t *database.Tx, c *outbox.Resend) (a audit.Entry, err error) {
	type row struct{ ID, MessageID int64 }
	since := t.Now - outbox.ResendWithin.Microseconds()
	rows, err := database.Select[row](t, lostParts, c.Conversation.Channel, c.Conversation.ID, since)
	if err != nil {
		return a, err
	}
	messages := map[int64]bool{}
	c.Looked = false
	for _, d := range rows {
		one := &outbox.Change{ID: d.ID, Kind: outbox.RetryDelivery}
		if a, err = ChangeDelivery(t, one); err != nil {
			return a, err
		}
		messages[d.MessageID] = true
		c.Looked = c.Looked || one.Done.State == outbox.DeliveryUnknown
	}
	c.Messages = len(messages)
	if _, err := t.Row(givenUp, []any{c.Conversation.Channel, c.Conversation.ID, since}, &c.Dropped); err != nil {
		return a, err
	}
	return audit.Entry{Outcome: "done", Session: a.Session, Data: map[string]any{"parts": len(rows), "messages": c.Messages}}, nil
}

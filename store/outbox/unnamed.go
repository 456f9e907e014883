package outbox

import (
	"context"

	"switchboard/router/outbox"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/engines"
	"switchboard/store/sessions"
)

const (
	listUnnamed = `
		SELECT d.id, d.message_id, d.state = 'dropped' AS dropped, m.person, m.notice, d.created_at, c.channel, c.conversation, c.kind, c.place, c.title
		FROM deliveries d JOIN messages m ON m.id = d.message_id JOIN conversations c ON c.id = d.conversation_id
		WHERE d.channel = ? AND d.unnamed = TRUE ORDER BY d.id`
	// givenUp counts messages of which a part was dropped or refused: they do not come.
	givenUp = `
		SELECT count(DISTINCT d.message_id) FROM conversations c JOIN deliveries d ON d.conversation_id = c.id AND d.seq > c.next_seq - 1000
		WHERE c.channel = ? AND c.conversation = ? AND d.state IN ('dropped', 'dead') AND d.draft = '' AND d.updated_at >= ?`
	setNamed = `UPDATE deliveries SET unnamed = FALSE WHERE unnamed = TRUE AND id IN (`
	// lostParts looks at the latest parts alone, like shownOutgoing.
	lostParts = `
		SELECT d.id, d.message_id FROM conversations c JOIN deliveries d ON d.conversation_id = c.id AND d.seq > c.next_seq - 1000
		WHERE c.channel = ? AND c.conversation = ? AND d.state = 'unknown' AND d.settled = TRUE AND d.updated_at >= ? ORDER BY d.seq`
)

// Unnamed implements delivery.Outbox.
func (r *Store) Unnamed(ctx context.Context, hold outbox.Lease) (list []outbox.Unnamed, err error) {
	err = r.Read(ctx, "list unnamed parts", func(t *database.Tx) error {
		list = nil
		if err := engines.Fenced(t, engines.Channel, database.Clean(hold.Channel), hold.Fence); err != nil {
			return err
		}
		var rows []struct {
			sessions.ConversationRow
			ID      int64
			Message int64 `db:"message_id"`
			Dropped bool
			Person  string
			Notice  bool
			Written int64 `db:"created_at"`
		}
		err := t.All(&rows, listUnnamed, database.Clean(hold.Channel))
		for _, u := range rows {
			list = append(list, outbox.Unnamed{
				Delivery: u.ID, Message: u.Message, Dropped: u.Dropped, Conversation: u.Where(), Person: u.Person, Notice: u.Notice, Written: database.Instant(u.Written),
			})
		}
		return err
	})
	return list, err
}

// Name implements delivery.Outbox.
func (r *Store) Name(ctx context.Context, hold outbox.Lease, lost []outbox.Unnamed, reply outbox.Reply) error {
	ids := make([]int64, len(lost))
	for i, u := range lost {
		ids[i] = u.Delivery
	}
	return r.Write(ctx, database.Durable, "name lost parts", func(t *database.Tx) error {
		if err := engines.Fenced(t, engines.Channel, database.Clean(hold.Channel), hold.Fence); err != nil {
			return err
		}
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
	var rows []struct {
		ID      int64
		Message int64 `db:"message_id"`
	}
	since := t.Now - outbox.ResendWithin.Microseconds()
	if err := t.All(&rows, lostParts, database.Clean(c.Conversation.Channel), database.Clean(string(c.Conversation.ID)), since); err != nil {
		return a, err
	}
	messages := map[int64]bool{}
	c.Looked = false
	for _, d := range rows {
		one := &outbox.Change{ID: d.ID, Kind: outbox.RetryDelivery}
		if a, err = ChangeDelivery(t, one); err != nil {
			return a, err
		}
		messages[d.Message] = true
		c.Looked = c.Looked || one.Done.State == outbox.DeliveryUnknown
	}
	c.Messages = len(messages)
	if _, err := t.Row(givenUp, []any{database.Clean(c.Conversation.Channel), database.Clean(string(c.Conversation.ID)), since}, &c.Dropped); err != nil {
		return a, err
	}
	return audit.Entry{Outcome: "done", Session: a.Session, Data: map[string]any{"parts": len(rows), "messages": c.Messages}}, nil
}

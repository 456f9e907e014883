package store

import (
	"context"
	"time"

	"switchboard/channels"
	"switchboard/router/ledger"
)

const (
	// Also in sb_accept.
	noteMark = `
		INSERT INTO marks (channel, conversation, mark, noted_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (channel, conversation) DO UPDATE SET mark = excluded.mark, noted_at = excluded.noted_at`
	listMarks   = `SELECT conversation, mark AS value, noted_at FROM marks WHERE channel = ? ORDER BY noted_at DESC, conversation`
	deleteMarks = `
		DELETE FROM marks WHERE (channel, conversation) IN (
			SELECT channel, conversation FROM marks WHERE noted_at <= ? ORDER BY noted_at LIMIT 500)`
)

// marksLive is how long a mark is kept that does not move any more.
const marksLive = 365 * 24 * time.Hour

// note notes how far the event's channel has read a history.
func (t *tx) note(e *ledger.Entry) error {
	m := e.Event.Mark
	if m.Value == "" {
		return nil
	}
	_, err := t.Exec(noteMark, clean(e.Event.Conversation.Channel), clean(string(m.Conversation)), clean(m.Value), t.now)
	return err
}

// Marks implements router.Intake.
func (r *Router) Marks(ctx context.Context, channel string) (marks []channels.Mark, err error) {
	err = r.db.read(ctx, "look for marks", func(t *tx) error {
		var rows []struct {
			Conversation, Value string
			NotedAt             int64 `db:"noted_at"`
		}
		if err := t.All(&rows, listMarks, channel); err != nil {
			return err
		}
		marks = nil
		for _, row := range rows {
			marks = append(marks, channels.Mark{Conversation: channels.ConversationID(row.Conversation), Value: row.Value, At: instant(row.NotedAt)})
		}
		return nil
	})
	return marks, err
}

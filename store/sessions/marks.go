package sessions

import (
	"context"
	"time"

	"switchboard/channels"
	"switchboard/router/intake"
	"switchboard/store/database"
)

const (
	// Also in sb_accept.
	noteMark = `
		INSERT INTO marks (channel, conversation, mark, noted_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (channel, conversation) DO UPDATE SET mark = excluded.mark, noted_at = excluded.noted_at`
	listMarks = `SELECT conversation, mark AS value, noted_at AS at FROM marks WHERE channel = ? ORDER BY noted_at DESC, conversation`
	// DropMarks deletes old marks.
	DropMarks = `
		DELETE FROM marks WHERE (channel, conversation) IN (
			SELECT channel, conversation FROM marks WHERE noted_at <= ? ORDER BY noted_at LIMIT 500)`
)

// MarksLive is how long a mark is kept that does not move any more.
const MarksLive = 365 * 24 * time.Hour

// Note notes how far the event's channel has read a history.
func Note(t *database.Tx, e *intake.Entry) error {
	m := e.Event.Mark
	if m.Value == "" {
		return nil
	}
	return t.Do(noteMark, e.Event.Conversation.Channel, m.Conversation, m.Value, t.Now)
}

// Marks lists the newest mark of each conversation that events of the channel brought, the one noted last
// first.
func (r *Store) Marks(ctx context.Context, channel string) ([]channels.Mark, error) {
	return database.List[channels.Mark](ctx, r.DB, "look for marks", listMarks, channel)
}

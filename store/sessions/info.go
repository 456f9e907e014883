package sessions

import (
	"context"
	"fmt"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/sessions"
	"switchboard/store/database"
)

const (
	infoColumns = `
		SELECT s.key AS session, s.person, c.title, s.mode, s.model, s.next_event AS last_event, s.created_at, s.used_at,
			coalesce((SELECT min(n) FROM events e WHERE e.session_id = s.id), s.next_event + 1) AS first_event
		FROM sessions s JOIN conversations c ON c.id = s.conversation_id `
	oneInfo = infoColumns + `WHERE s.key = ?`
	posted  = `
		SELECT m.id, coalesce(m.turn_id, 0), coalesce(e.n, 0) FROM conversations c JOIN messages m ON m.conversation_id = c.id
		LEFT JOIN events e ON e.message_id = m.id
		WHERE c.channel = ? AND c.conversation = ? AND m.direction = 'in' AND substr(m.platform_id, 1, ?) = ? AND m.platform_id <> ''
		ORDER BY m.id DESC LIMIT 1`
)

// SessionInfo is what is known of the session with that key. ErrNotFound.
func (r *Store) SessionInfo(ctx context.Context, key string) (info sessions.Info, err error) {
	err = r.Read(ctx, "read a session", func(t *database.Tx) error {
		row, err := database.First[sessions.Info](t, oneInfo, database.Clean(key))
		if err == nil && row == nil {
			return fmt.Errorf("session: %w", core.ErrNotFound)
		} else if err == nil {
			info = *row
		}
		return err
	})
	return info, err
}

// Posted is the newest message in a conversation whose ID of the platform begins so. ErrNotFound.
func (r *Store) Posted(ctx context.Context, conv channels.Conversation, prefix string) (receipt channels.Receipt, err error) {
	conv = CleanConversation(conv)
	err = r.Read(ctx, "look for a message", func(t *database.Tx) error {
		found, err := t.Row(posted, []any{conv.Channel, string(conv.ID), len(prefix) + 1, prefix + "."}, &receipt.MessageID, &receipt.TurnID, &receipt.Event)
		if err == nil && !found {
			return fmt.Errorf("message: %w", core.ErrNotFound)
		}
		return err
	})
	return receipt, err
}

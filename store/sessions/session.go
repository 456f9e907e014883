// Package sessions has the rows of conversations, their sessions, events and marks, and of who speaks in them.
package sessions

import (
	"context"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/store/database"
)

// Store reads and writes them in transactions of its own; the functions that take a transaction
// are for what changes more than these. Its methods may be called from several goroutines at once.
type Store struct{ *database.DB }

const ownSession = `SELECT mode, model, language, timezone, private <> '' FROM sessions WHERE key = ?`

// Session is what the session of a conversation has of its own; where there is none, nothing.
func (r *Store) Session(ctx context.Context, conv channels.Conversation) (own core.Session, err error) {
	conv = CleanConversation(conv)
	_, err = r.ReadRow(ctx, "read a session", ownSession, []any{SessionKey(conv.Channel, conv.ID)}, &own.Mode, &own.Model, &own.Language, &own.TimeZone, &own.Private)
	return own, err
}

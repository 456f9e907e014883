package sessions

import (
	"context"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/store/database"
)

const (
	ownSession = `SELECT mode, model, language, timezone FROM sessions WHERE key = ?`
)

// Session implements router.Views.
func (r *Store) Session(ctx context.Context, conv channels.Conversation) (own core.Session, err error) {
	conv = CleanConversation(conv)
	err = r.Read(ctx, "read a session", func(t *database.Tx) error {
		_, err := t.Row(ownSession, []any{SessionKey(conv.Channel, conv.ID)}, &own.Mode, &own.Model, &own.Language, &own.TimeZone)
		return err
	})
	return own, err
}

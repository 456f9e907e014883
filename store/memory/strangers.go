package memory

import (
	"context"
	"fmt"
	"time"

	"switchboard/router/core"
	routermemory "switchboard/router/memory"
	"switchboard/store/database"
)

const (
	// strangers are the messages m that people who are not served wrote where a session s is, and that were not gone through yet: as they
	// were last edited, and what came while the group was served.
	strangers = `m.conversation_id = s.conversation_id AND m.session_id IS NULL AND m.class = 'stranger' AND m.id > s.reported_to AND m.id > s.reset_message
		AND m.rule IN ('people.unknown', 'channel.not_open', 'sender.unnamed') AND m.text <> '' AND substr(m.text, 1, 1) <> '/'
		AND NOT EXISTS (SELECT 1 FROM messages y WHERE y.conversation_id = m.conversation_id AND y.direction = 'in' AND y.platform_id = m.platform_id
			AND y.platform_id <> '' AND y.id > m.id)`
	strangersSpoke = `
		UPDATE sessions SET restless = TRUE WHERE restless = FALSE AND id IN (
			SELECT s.id FROM conversations c JOIN sessions s ON s.conversation_id = c.id WHERE c.channel IN (%s) AND c.kind <> 'direct'
			AND EXISTS (SELECT 1 FROM messages m WHERE ` + strangers + ` AND m.created_at <= ?))`
	strangersSaid = `
		SELECT m.id, m.text, CASE WHEN m.happened_at > 0 THEN m.happened_at ELSE m.created_at END AS at
		FROM messages m JOIN sessions s ON s.conversation_id = m.conversation_id WHERE s.id = ? AND ` + strangers + ` ORDER BY m.id DESC LIMIT ?`
	// report: one that was taken back since has no text.
	report   = `UPDATE messages SET report = ? WHERE id = ? AND text <> ''`
	reported = `UPDATE sessions SET reported_to = ? WHERE id = ? AND reported_to = ?` + asItWas
)

// StrangersSpoke implements routermemory.RestStore.
func (s *Store) StrangersSpoke(ctx context.Context, channels []string, before time.Time) error {
	marks, args := database.In(channels)
	return s.Write(ctx, database.Async, "look for what strangers said", func(t *database.Tx) error {
		return t.Do(fmt.Sprintf(strangersSpoke, marks), append(args, before)...)
	})
}

// StrangersSaid implements routermemory.RestStore.
func (s *Store) StrangersSaid(ctx context.Context, session int64, limit int) ([]routermemory.Spoken, error) {
	return database.List[routermemory.Spoken](ctx, s.DB, "read what strangers said", strangersSaid, session, limit)
}

// WriteReports implements routermemory.RestStore.
func (s *Store) WriteReports(ctx context.Context, r *routermemory.Resting, to int64, list []routermemory.Spoken) error {
	return s.did(ctx, "write what strangers said", r, func(t *database.Tx) error {
		for i := range list {
			if err := t.Do(report, database.Clean(list[i].Text), list[i].ID); err != nil {
				return err
			}
		}
		return t.Change(core.ErrConflict, reported, to, r.Session, r.ReportedTo, r.Reset, r.Private)
	})
}

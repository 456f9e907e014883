package store

import (
	"context"
	"slices"
	"time"

	"switchboard/store/database"
	"switchboard/store/people"
)

// peopleLive is how long anybody let in by an open policy is kept at least: twice as long
// as who writes may go without being noted as seen.
const peopleLive = 48 * time.Hour

const (
	batchConversations = 100
	batchPeople        = 100

	// conversationOver: conversations go with their sessions and the leases of these, once nothing is left in them and
	// nothing names them: no job, and nothing in Retention.Named. The instants are those up to which what was made for
	// somebody who is not served is old, and a session that was not used.
	conversationOver = `
		(x.created_at <= ? OR EXISTS (SELECT 1 FROM sessions s WHERE s.conversation_id = x.id))
		AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.conversation_id = x.id AND (s.used_at > ?
			OR EXISTS (SELECT 1 FROM messages m WHERE m.session_id = s.id)
			OR EXISTS (SELECT 1 FROM turns t WHERE t.session_id = s.id)
			OR EXISTS (SELECT 1 FROM events e WHERE e.session_id = s.id)
			OR EXISTS (SELECT 1 FROM attachments a WHERE a.session_id = s.id)
			OR EXISTS (SELECT 1 FROM people p WHERE p.name = s.person AND p.role = 'admin')))
		AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.session_id IS NULL AND m.conversation_id = x.id)
		AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.conversation_id = x.id)
		AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.conversation_id = x.id)
		AND NOT EXISTS (SELECT 1 FROM moved m WHERE m.conversation_id = x.id)`
	oldConversations = `
		SELECT x.id, x.channel, x.conversation, x.created_at > ? AS recent, ` + conversationOver + ` AS ready
		FROM (SELECT id, channel, conversation, created_at FROM conversations WHERE id > ? ORDER BY id LIMIT ?) AS x ORDER BY x.id`
	// On PostgreSQL who works on a conversation or a session now has it locked, and keeps
	// it; the writer of SQLite is alone.
	unlockedConversations = `SELECT id FROM conversations WHERE id IN (%s) ORDER BY id FOR UPDATE SKIP LOCKED`
	unlockedSessions      = `SELECT id FROM sessions WHERE conversation_id IN (%s) ORDER BY id FOR UPDATE SKIP LOCKED`
	stillOver             = `
		SELECT x.id, coalesce(s.id, 0) AS session FROM conversations x LEFT JOIN sessions s ON s.conversation_id = x.id
		WHERE x.id IN (%s) AND ` + conversationOver
	oldMoved = `
		SELECT channel, former, moved_at FROM moved
		WHERE moved_at <= ? AND (moved_at, channel, former) > (?, ?, ?) ORDER BY moved_at, channel, former LIMIT ?`
	deleteMoved = `DELETE FROM moved WHERE channel = ? AND former = ? AND moved_at = ?`
	oldPeople   = `
		SELECT name FROM people WHERE source = 'open' AND updated_at <= ?
		AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.person = people.name AND s.person <> '')
		AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.owner = people.name) ORDER BY updated_at LIMIT ?`
)

// deleteConversations delete what is left of sessions, then conversations.
var (
	deleteSessions = ofMany(batchConversations,
		`DELETE FROM recalled WHERE kind <> 'memory' AND session_id IN (%s)`,
		`DELETE FROM recalled WHERE substr(scope, 1, 8) = 'session:' AND session_id IN (%s)`,
		`UPDATE recalled SET session_id = NULL WHERE session_id IN (%s)`,
		`DELETE FROM memories WHERE substr(scope, 1, 8) = 'session:' AND session_id IN (%s)`,
		`UPDATE memories SET session_id = NULL WHERE session_id IN (%s)`,
		`DELETE FROM actions WHERE session_id IN (%s)`,
		`UPDATE approvals SET session_id = NULL WHERE scope = 'always' AND session_id IN (%s)`,
		`DELETE FROM actions WHERE approval_id IN (SELECT id FROM approvals WHERE session_id IN (%s))`,
		`DELETE FROM approvals WHERE session_id IN (%s)`,
		`DELETE FROM leases WHERE kind = 'session' AND name IN (SELECT CAST(id AS text) FROM sessions WHERE id IN (%s))`,
		`DELETE FROM sessions WHERE id IN (%s)`,
	)
	deleteConversations = ofMany(batchConversations, `DELETE FROM conversations WHERE id IN (%s)`)
	lockConversations   = marked(unlockedConversations, batchConversations)
	lockSessions        = marked(unlockedSessions, batchConversations)
	areStillOver        = marked(stillOver, batchConversations)
)

// conversations deletes conversations of which nothing is left, with their sessions.
func (s *sweeper) conversations(ctx context.Context) error {
	unserved, unused := s.before(s.keep.Strangers), s.before(s.keep.Sessions)
	return s.walk(ctx, oldConversations, batchConversations, []any{max(unserved, unused), unserved, unused}, func(t *database.Tx, ids []int64) (int64, error) {
		return dropConversations(t, ids, unserved, unused, s)
	})
}

// dropConversations looks again: something may have come since the sweeper looked.
func dropConversations(t *database.Tx, ids []int64, unserved, unused int64, s *sweeper) (int64, error) {
	s.dropped = nil
	held := map[int64]bool{0: true}
	if t.PG {
		locked, err := t.IDs(lockConversations, padded(ids, batchConversations)...)
		if err != nil || len(locked) == 0 {
			return 0, err
		}
		ids = locked
		if locked, err = t.IDs(lockSessions, padded(ids, batchConversations)...); err != nil {
			return 0, err
		}
		for _, id := range locked {
			held[id] = true
		}
	}
	type row struct{ ID, Session int64 }
	rows, err := database.Select[row](t, areStillOver, append(padded(ids, batchConversations), unserved, unused)...)
	if err != nil {
		return 0, err
	}
	ids = nil
	var sessions []int64
	for _, r := range rows {
		if t.PG && !held[r.Session] {
			continue
		}
		if ids = append(ids, r.ID); r.Session != 0 {
			sessions = append(sessions, r.Session)
		}
	}
	if len(sessions) > 0 {
		if _, err := t.Each(deleteSessions, padded(sessions, batchConversations)); err != nil {
			return 0, err
		}
	}
	if len(ids) == 0 {
		return 0, nil
	}
	s.dropped = sessions
	return t.Each(deleteConversations, padded(ids, batchConversations))
}

// moves forgets former IDs of conversations, but for those that something still names.
func (s *sweeper) moves(ctx context.Context) error {
	type row struct {
		Channel, Former string
		MovedAt         int64
	}
	before, last := s.before(s.keep.Sessions), row{}
	for {
		rows, err := database.List[row](ctx, s.db.DB, "look for old moves", oldMoved, before, last.MovedAt, last.Channel, last.Former, batchRows)
		if err != nil || len(rows) == 0 {
			return err
		}
		last = rows[len(rows)-1]
		old := slices.DeleteFunc(rows, func(r row) bool { return s.keep.named(r.Channel, r.Former) })
		if len(old) == 0 {
			continue
		}
		if _, err := s.batch(ctx, func(t *database.Tx) (n int64, err error) {
			for _, r := range old {
				if err := t.Do(deleteMoved, r.Channel, r.Former, r.MovedAt); err != nil {
					return 0, err
				}
			}
			return int64(len(old)), nil
		}); err != nil {
			return err
		}
	}
}

// people forgets those let in by an open policy who were not seen for as long as their
// session would be kept, and have none.
func (s *sweeper) people(ctx context.Context) error {
	before := s.before(max(s.keep.Sessions, peopleLive))
	for {
		n, err := s.batch(ctx, func(t *database.Tx) (int64, error) {
			names, err := t.Names(t.Free(oldPeople), before, batchPeople)
			if err != nil {
				return 0, err
			}
			for _, name := range names {
				if err := people.RemovePerson(t, name); err != nil {
					return 0, err
				}
			}
			return int64(len(names)), nil
		})
		if err != nil || n < batchPeople {
			return err
		}
	}
}

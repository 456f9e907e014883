package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"switchboard/store/browsers"
	"switchboard/store/database"
	"switchboard/store/engines"
	"switchboard/store/memory"
	"switchboard/store/sessions"
	"switchboard/store/turns"
)

const ownersLive = 90 * 24 * time.Hour

// What goes, table by table. The queries that look go through an index from its old end;
// a test holds them to it on both databases.
const (
	oldSessions = `
		SELECT s.id, coalesce((SELECT e.created_at FROM events e WHERE e.session_id = s.id ORDER BY e.n LIMIT 1) <= ?, FALSE) AS ready,
			FALSE AS recent
		FROM sessions s WHERE s.id > ? ORDER BY s.id LIMIT ?`
	deleteEvents = `
		DELETE FROM events WHERE session_id = ? AND n IN (
			SELECT x.n FROM (SELECT n, created_at, turn_id FROM events WHERE session_id = ? ORDER BY n LIMIT 500) x
			WHERE x.created_at <= ? AND NOT EXISTS (
				SELECT 1 FROM turns t WHERE t.id = x.turn_id AND t.state IN ('queued', 'running', 'waiting')))`
	// oldTurns: a merged turn goes with the one that answers it, and nothing goes that is
	// open, still on its way out, or what an open retry goes by: the first turn and its other
	// retries.
	oldTurns = `
		SELECT t.id, t.created_at > ? AS recent,
			t.state IN ('done', 'failed', 'cancelled') AND t.audited = TRUE AND t.finished_at <= ? AND t.merged_into IS NULL
			AND NOT EXISTS (SELECT 1 FROM turns y WHERE y.merged_into = t.id AND (y.finished_at IS NULL OR y.finished_at > ? OR y.audited = FALSE))
			AND NOT EXISTS (SELECT 1 FROM turns y WHERE y.retry_of = t.id AND y.state IN ('queued', 'running', 'waiting'))
			AND NOT EXISTS (SELECT 1 FROM turns y WHERE y.retry_of = t.retry_of AND y.state IN ('queued', 'running', 'waiting'))
			AND NOT EXISTS (SELECT 1 FROM messages m JOIN deliveries d ON d.message_id = m.id WHERE m.turn_id = t.id AND d.settled = FALSE)
			AS ready
		FROM turns t WHERE t.id > ? ORDER BY t.id LIMIT ?`
	// oldMessages are commands, notices, notes and whatever else no turn answers. A new text
	// of a message is kept with it: a retry of its turn goes by it.
	oldMessages = `
		SELECT m.id, m.created_at > ? AS recent,
			m.turn_id IS NULL AND m.session_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.message_id = m.id)
			AND NOT EXISTS (SELECT 1 FROM messages x WHERE x.id = m.replaces)
			AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.message_id = m.id AND d.settled = FALSE) AS ready
		FROM messages m WHERE m.id > ? ORDER BY m.id LIMIT ?`
	deleteStrangers = `
		DELETE FROM messages WHERE id IN (
			SELECT x.id FROM (SELECT id, created_at, class, audited FROM messages WHERE session_id IS NULL ORDER BY id LIMIT 500) x
			WHERE x.created_at <= ? AND (x.class <> 'stranger' OR x.audited = TRUE))`
	deleteRejected = `
		DELETE FROM rejected WHERE id IN (
			SELECT x.id FROM (SELECT id, created_at FROM rejected WHERE id > 0 ORDER BY id LIMIT 500) x WHERE x.created_at <= ?)`
	// oldBodies: a turn that is not finished still needs its answers.
	oldBodies = `
		SELECT b.turn_id AS id FROM llm_bodies b JOIN turns t ON t.id = b.turn_id
		WHERE b.expires_at <= ? AND t.state IN ('done', 'failed', 'cancelled', 'merged') ORDER BY b.expires_at LIMIT 500`
	deleteKeys = `
		DELETE FROM event_keys WHERE key IN (SELECT key FROM event_keys WHERE expires_at <= ? ORDER BY expires_at LIMIT 500)`
	// A job that is over, or whose owner is gone, goes after its last run. What was not read is kept as long as a session.
	deleteRuns = `
		DELETE FROM runs WHERE id IN (
			SELECT id FROM runs WHERE finished_at IS NOT NULL AND finished_at <= ? ORDER BY finished_at LIMIT 500)`
	deleteJobs = `
		DELETE FROM jobs WHERE id IN (
			SELECT x.id FROM jobs x WHERE x.state <> 'active' AND x.updated_at <= ?
			AND (x.state IN ('done', 'removed') OR x.owner <> '' AND NOT EXISTS (SELECT 1 FROM people p WHERE p.name = x.owner)
				AND NOT EXISTS (SELECT 1 FROM people_away w WHERE w.name = x.owner))
			AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.job_id = x.id) ORDER BY x.updated_at LIMIT 500)`
	deleteNotifications = `
		DELETE FROM notifications WHERE id IN (
			SELECT id FROM notifications WHERE created_at <= ? AND (read_at IS NOT NULL OR created_at <= ?) ORDER BY created_at LIMIT 500)`
	// oldMade are files made here whose bytes are gone. Those that came go with their
	// message.
	oldMade = `
		SELECT a.id, a.created_at > ? AS recent, a.message_id IS NULL AND a.state = 'gone' AS ready
		FROM attachments a WHERE a.id > ? ORDER BY a.id LIMIT ?`
	// What is known of engines is kept for as long as somebody may ask who did something.
	// One that died may be named by leases that nobody wanted since.
	// The database's clock judges who is old, as it judges who lives: %[1]s is now, %[2]s
	// alive, and what says so is locked until they are gone.
	oldOwners    = `SELECT o.id FROM owners o WHERE coalesce(o.ended_at, o.expires_at) <= %[1]s - ? AND NOT %[2]s ORDER BY o.id LIMIT 500`
	forgetOwner  = `UPDATE leases SET owner = NULL WHERE owner IN (%s)`
	deleteOwners = `DELETE FROM owners WHERE id IN (%s)`
)

// deleteTurns delete turns with all that is theirs, in an order that leaves no row
// without the one it names; deleteMessages and deleteBodies likewise.
var (
	deleteTurns = ofMany(batchTurns,
		`DELETE FROM recalled WHERE kind = 'result' AND ref IN (%s)`,
		`DELETE FROM recalled WHERE kind = 'message' AND ref IN (SELECT id FROM messages WHERE turn_id IN (%s))`,
		`DELETE FROM reviews WHERE turn_id IN (%s)`,
		`DELETE FROM tasks WHERE turn_id IN (%s)`,
		`DELETE FROM plans WHERE turn_id IN (%s)`,
		`DELETE FROM llm_bodies WHERE turn_id IN (%s)`,
		`DELETE FROM llm_calls WHERE turn_id IN (%s)`,
		`UPDATE memories SET turn_id = NULL WHERE turn_id IN (%s)`,
		`DELETE FROM actions WHERE turn_id IN (%s)`,
		`DELETE FROM actions WHERE approval_id IN (SELECT id FROM approvals WHERE turn_id IN (%s))`,
		`UPDATE approvals SET turn_id = NULL WHERE scope IN ('session', 'always') AND revoked_at IS NULL AND turn_id IN (%s)`,
		`DELETE FROM approvals WHERE turn_id IN (%s)`,
		`DELETE FROM actions WHERE message_id IN (SELECT id FROM messages WHERE turn_id IN (%s))`,
		`DELETE FROM deliveries WHERE message_id IN (SELECT id FROM messages WHERE turn_id IN (%s))`,
		`DELETE FROM turns WHERE merged_into IN (%s)`,
		`DELETE FROM turns WHERE id IN (%s)`,
		`DELETE FROM messages WHERE turn_id IN (%s)`,
	)
	deleteMessages = ofMany(batchRows,
		`DELETE FROM recalled WHERE kind = 'message' AND ref IN (%s)`,
		`DELETE FROM actions WHERE message_id IN (%s)`,
		`DELETE FROM deliveries WHERE message_id IN (%s)`,
		`DELETE FROM messages WHERE id IN (%s)`,
	)
	deleteMade    = ofMany(batchRows, `DELETE FROM attachments WHERE id IN (%s)`)
	deleteEngines = ofMany(batchRows, forgetOwner, deleteOwners)
	deleteBodies  = marked(`DELETE FROM llm_bodies WHERE turn_id IN (%s) AND expires_at <= ?`, batchRows)
)

// events deletes the oldest events of each session. They are numbered within it, so
// that the old ones are the first.
func (s *sweeper) events(ctx context.Context) error {
	before := s.before(s.keep.Turns)
	var old []int64
	after := int64(0)
	for {
		rows, err := database.List[page](ctx, s.db.DB, "look for old events", oldSessions, before, after, batchRows)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if after = r.ID; r.Ready {
				old = append(old, r.ID)
			}
		}
		if len(rows) < batchRows {
			break
		}
	}
	for _, session := range old {
		if err := s.until(ctx, deleteEvents, session, session, before); err != nil {
			return err
		}
	}
	return nil
}

func (s *sweeper) turns(ctx context.Context) error {
	before := s.before(s.keep.Turns)
	return s.walk(ctx, oldTurns, batchTurns, []any{before, before, before}, func(t *database.Tx, ids []int64) (int64, error) {
		if _, err := t.Each(deleteTurns, padded(ids, batchTurns)); err != nil {
			return 0, err
		}
		return int64(len(ids)), nil
	})
}

// messages deletes those that no turn answers, and files that nobody sent.
func (s *sweeper) messages(ctx context.Context) error {
	before := []any{s.before(s.keep.Turns)}
	err := s.walk(ctx, oldMessages, batchRows, before, func(t *database.Tx, ids []int64) (int64, error) {
		return t.Each(deleteMessages, padded(ids, batchRows))
	})
	if err != nil {
		return err
	}
	return s.walk(ctx, oldMade, batchRows, before, func(t *database.Tx, ids []int64) (int64, error) {
		return t.Each(deleteMade, padded(ids, batchRows))
	})
}

func (s *sweeper) strangers(ctx context.Context) error {
	before := s.before(s.keep.Strangers)
	if err := s.until(ctx, deleteStrangers, before); err != nil {
		return err
	}
	return s.until(ctx, deleteRejected, before)
}

// bodies deletes what was said to models and by them. Rows say when they expire by
// bodiesLive, so that what is kept longer or shorter is counted from there.
func (s *sweeper) bodies(ctx context.Context) error {
	before := s.before(s.keep.Prompts) + turns.BodiesLive.Microseconds()
	for {
		ids, err := database.Read(ctx, s.db.DB, "look for old prompts", func(t *database.Tx) ([]int64, error) { return t.IDs(oldBodies, before) })
		if err != nil || len(ids) == 0 {
			return err
		}
		slices.Sort(ids)
		ids = slices.Compact(ids)
		if _, err := s.batch(ctx, func(t *database.Tx) (int64, error) {
			return t.Exec(deleteBodies, append(padded(ids, batchRows), before)...)
		}); err != nil {
			return err
		}
	}
}

// plain deletes what needs no thought.
func (s *sweeper) plain(ctx context.Context) error {
	if err := s.until(ctx, deleteKeys, s.before(0)); err != nil {
		return err
	}
	if err := s.until(ctx, sessions.DropChats, s.before(sessions.ChatsLive)); err != nil {
		return err
	}
	if err := s.until(ctx, browsers.DropBrowsers, s.before(0)); err != nil {
		return err
	}
	if err := s.until(ctx, sessions.DropMarks, s.before(sessions.MarksLive)); err != nil {
		return err
	}
	return s.memories(ctx)
}

// memories deletes those that are over, and records of what became of them.
func (s *sweeper) memories(ctx context.Context) error {
	if err := s.until(ctx, memory.DropOver, s.before(max(s.keep.Turns, memory.OverLive))); err != nil {
		return err
	}
	for n := int64(batchRows); n == batchRows; {
		var err error
		n, err = s.batch(ctx, func(t *database.Tx) (int64, error) { return memory.DropRecords(t, s.before(memory.RecordsLive)) })
		if err != nil {
			return err
		}
	}
	return nil
}

// jobs deletes what became of jobs, and those that are over.
func (s *sweeper) jobs(ctx context.Context) error {
	before := s.before(s.keep.Runs)
	if err := s.until(ctx, deleteRuns, before); err != nil {
		return err
	}
	if err := s.until(ctx, deleteJobs, before); err != nil {
		return err
	}
	return s.until(ctx, deleteNotifications, before, s.before(max(s.keep.Runs, s.keep.Sessions)))
}

// engines forgets engines that ended or died long ago.
func (s *sweeper) engines(ctx context.Context) error {
	long := max(ownersLive, s.keep.Turns).Microseconds()
	_, err := s.batch(ctx, func(t *database.Tx) (int64, error) {
		ids, err := t.IDs(t.Locked(fmt.Sprintf(oldOwners, engines.Clock(t), engines.Alive(t))), long)
		if err != nil || len(ids) == 0 {
			return 0, err
		}
		return t.Each(deleteEngines, padded(ids, batchRows))
	})
	return err
}

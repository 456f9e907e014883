package jobs

import (
	"context"
	"time"

	"switchboard/router/jobs"
	"switchboard/store/database"
)

const (
	waitingTurns = `
		SELECT count(*), coalesce(min(CASE WHEN not_before > created_at THEN not_before ELSE created_at END), 0)
		FROM turns WHERE state = 'queued' AND rank IS NOT NULL AND not_before <= ?`
	healthSeen  = `SELECT seen FROM jobs WHERE owner = '' AND name = 'health'`
	lastMessage = `SELECT coalesce(max(id), 0) FROM messages`
	// newMessages are those that the agent was asked to answer by somebody.
	newMessages = `
		SELECT count(*) FROM (
			SELECT 1 FROM messages WHERE id > ? AND direction = 'in' AND class = 'turn' AND origin <> 'job' AND (? = '' OR person = ?) LIMIT 1000) AS n`
	lastNotification = `SELECT coalesce(max(id), 0) FROM notifications WHERE person = ?`
	newNotifications = `SELECT count(*) FROM (SELECT 1 FROM notifications WHERE person = ? AND id > ? LIMIT 1000) AS n`
	// newFailures say nothing that a person wrote: the job may be another's, or made of what was read.
	newFailures = `
		SELECT r.job_id AS job, CASE WHEN j.owner = '' THEN j.name ELSE '' END AS name, r.reason, r.finished_at AS at
		FROM runs r JOIN jobs j ON j.id = r.job_id
		WHERE r.finished_at > ? AND r.state = 'failed' AND r.job_id <> ? AND (? = '' OR j.owner = ?) ORDER BY r.finished_at LIMIT 1000`
)

// Queue says what waits to be done, or was given up.
func (db *Store) Queue(ctx context.Context) (q jobs.Queue, err error) {
	err = db.Read(ctx, "look at the queue", func(t *database.Tx) error {
		var oldest int64
		err := t.Run(database.Row(waitingTurns, []any{t.Now}, &q.Waiting, &oldest), database.Row(lostFacts, nil, &q.Dead, new(int64)))
		if oldest != 0 {
			q.Oldest = time.Duration(max(t.Now-oldest, 0)) * time.Microsecond
		}
		return err
	})
	return q, err
}

// News is what came about for a person since what a heartbeat saw, or, with nil, how far all is.
func (r *Store) News(ctx context.Context, job int64, person string, since *jobs.News) (n jobs.News, err error) {
	err = r.Read(ctx, "look for news", func(t *database.Tx) error {
		n = jobs.News{Failed: t.Now}
		if err := t.Run(
			database.Row(lastMessage, nil, &n.Message),
			database.Row(lastNotification, []any{person}, &n.Notification),
			database.Row(healthSeen, nil, &n.Health),
		); err != nil || since == nil {
			return err
		}
		if err := t.Run(
			database.Row(newMessages, []any{since.Message, person, person}, &n.Messages),
			database.Row(newNotifications, []any{person, since.Notification}, &n.Notifications),
		); err != nil {
			return err
		}
		if n.Failures, err = database.Select[jobs.Failure](t, newFailures, since.Failed, job, person, person); err != nil {
			return err
		}
		n.Failed = since.Failed
		if last := len(n.Failures) - 1; last >= 0 {
			n.Failed = database.Micros(n.Failures[last].At)
		}
		return nil
	})
	return n, err
}

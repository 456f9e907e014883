// Package jobs has the rows of jobs, their runs, and of what is told of them.
package jobs

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/jobs"
	routersessions "switchboard/router/sessions"
	"switchboard/scheduler"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/sessions"
)

// Store reads and writes them in transactions of its own; the functions that take a transaction
// are for what changes more than these. Its methods may be called from several goroutines at once.
type Store struct{ *database.DB }

// jobFields and runFields are selected as "job.id" and so on, so that a row may have both.
var (
	jobFields = fields("j", "job", "id", "owner", "name", "payload", "text", "spec", "rules", "taint", "state", "reason", "slot",
		"version", "runs", "failures", "seen", "created_at") +
		`, j.due_at AS "job.due", coalesce(c.channel, '') AS "job.target.channel", coalesce(c.conversation, '') AS "job.target.conversation"`
	runFields = fields("r", "run", "id", "job_id", "slot", "try", "state", "reason", "start_at", "calls", "tokens_in", "tokens_out", "cost") + `,
		r.last_slot AS "run.last", r.slots AS "run.count", coalesce(r.engine, 0) AS "run.engine", coalesce(r.turn_id, 0) AS "run.turn",
		coalesce(r.message_id, 0) AS "run.message", r.created_at AS "run.claimed", coalesce(r.started_at, 0) AS "run.started",
		coalesce(r.finished_at, 0) AS "run.finished"`
)

func fields(table, prefix string, columns ...string) string {
	for i, c := range columns {
		columns[i] = table + "." + c + ` AS "` + prefix + "." + c + `"`
	}
	return strings.Join(columns, ", ")
}

var (
	jobsFrom = `SELECT ` + jobFields + `, NOT ` + sessions.NotAway + ` AS "job.away" FROM jobs j LEFT JOIN conversations c ON c.id = j.conversation_id `
	oneJob   = jobsFrom + `WHERE j.id = ?`
	openJobs = jobsFrom + `WHERE j.state NOT IN ('done', 'removed') AND j.id > ? ORDER BY j.id LIMIT ?`
	jobsOf   = jobsFrom + `WHERE j.owner = ? AND j.state NOT IN ('done', 'removed') AND j.id > ? ORDER BY j.id LIMIT ?`
	// assumedJobs are those whose time zone nobody said.
	assumedJobs = `SELECT id FROM jobs WHERE owner = ? AND state NOT IN ('done', 'removed') AND spec LIKE '%"assumed":true%' ORDER BY id`
	// runsOf: what is said of a turn that still runs is added; delivered is what all parts are. Drafts have
	// no place in their conversation, and do not count.
	runsOf = `
		SELECT ` + runFields + `, coalesce(t.calls, 0) AS calls, coalesce(t.tokens_in, 0) AS tokens_in, coalesce(t.tokens_out, 0) AS tokens_out,
			coalesce(t.cost, 0) AS cost, coalesce((
				SELECT max(CASE d.state WHEN 'sent' THEN 1 WHEN 'pending' THEN 2 WHEN 'sending' THEN 2 WHEN 'unknown' THEN 3
					WHEN 'dropped' THEN 4 ELSE 5 END)
				FROM deliveries d WHERE d.seq IS NOT NULL AND d.message_id IN (
					SELECT r.message_id UNION ALL SELECT m.id FROM messages m WHERE m.turn_id = r.turn_id AND m.direction = 'out')), 0) AS delivery
		FROM runs r LEFT JOIN turns t ON t.id = r.turn_id AND r.state = 'running'
		WHERE r.job_id = ? AND (? = 0 OR r.id < ?) ORDER BY r.id DESC LIMIT ?`
	listNotifications = `
		SELECT id, coalesce(job_id, 0) AS job, text, taint, created_at AS at, coalesce(read_at, 0) AS read FROM notifications
		WHERE person = ? AND (? = 0 OR id < ?) AND (? = FALSE OR read_at IS NULL) ORDER BY id DESC LIMIT ?`
)

const readThem = `UPDATE notifications SET read_at = ? WHERE person = ? AND id = ? AND read_at IS NULL`

// deliveries are what runsOf calls what became of what a run said.
var delivered = [...]string{"", "delivered", "pending", "unknown", "dropped", "dead"}

// A jobRow is a job as it is read.
type jobRow struct {
	scheduler.Job
	Spec, Rules string
}

func (r *jobRow) job() scheduler.Job {
	j := r.Job
	// What cannot be read is zero: Spec.Check refuses it, so that the job is disabled and keeps no other from running.
	_ = json.Unmarshal([]byte(r.Spec), &j.Spec)
	_ = json.Unmarshal([]byte(r.Rules), &j.Rules)
	return j
}

// aJob is a row of a job alone.
type aJob struct{ Job jobRow }

func (r *aJob) job() scheduler.Job { return r.Job.job() }

// findJob reads a job; ErrNotFound: there is none, or it is not of that person (empty: of whomever).
func findJob(t *database.Tx, query string, id int64, of string) (*scheduler.Job, error) {
	row, err := database.First[aJob](t, query, id)
	if err != nil {
		return nil, err
	}
	if row == nil || of != "" && database.Clean(of) != row.Job.Owner {
		return nil, core.ErrNotFound
	}
	job := row.job()
	return &job, nil
}

// Jobs lists jobs that are neither done nor removed, by number from after on; of one person, or, where that is
// empty, of everybody and of the program itself.
func (r *Store) Jobs(ctx context.Context, of string, after int64, limit int) ([]scheduler.Job, error) {
	query, args := openJobs, []any{after, limit}
	if of != "" {
		query, args = jobsOf, append([]any{of}, args...)
	}
	return database.Listed(ctx, r.DB, "list jobs", (*aJob).job, query, args...)
}

// JobsOf is Jobs of whom something is listed.
func (r *Store) JobsOf(ctx context.Context, whose routersessions.Whose, after int64, limit int) ([]scheduler.Job, error) {
	condition, people := sessions.Of("j.owner", whose)
	query := jobsFrom + `WHERE ` + condition + ` AND j.state NOT IN ('done', 'removed') AND j.id > ? ORDER BY j.id LIMIT ?`
	return database.Listed(ctx, r.DB, "list jobs", (*aJob).job, query, append(people, after, limit)...)
}

// AskedIn is the message that a turn answers, as its platform knows it.
func (r *Store) AskedIn(ctx context.Context, turn int64) (channels.MessageID, error) {
	return database.Value[channels.MessageID](ctx, r.DB, "read what a turn answers",
		`SELECT m.platform_id FROM turns t JOIN messages m ON m.id = t.message_id WHERE t.id = ?`, turn)
}

// Assumes says that somebody has jobs whose time zone nobody said.
func (r *Store) Assumes(ctx context.Context, person string) (bool, error) {
	return r.ReadRow(ctx, "look for an assumed time zone", assumedJobs, []any{person})
}

// Job is one job, in whatever state.
func (r *Store) Job(ctx context.Context, id int64, of string) (*scheduler.Job, error) {
	return database.Read(ctx, r.DB, "read a job", func(t *database.Tx) (*scheduler.Job, error) { return findJob(t, oneJob, id, of) })
}

// Runs lists runs of a job, the newest first, before a number; 0: from the newest of all.
func (r *Store) Runs(ctx context.Context, job, before int64, limit int) ([]scheduler.Run, error) {
	type row struct {
		Run                 scheduler.Run
		Calls, Delivery     int
		TokensIn, TokensOut int64
		Cost                float64
	}
	return database.Listed(ctx, r.DB, "list runs", func(r *row) scheduler.Run {
		run := r.Run
		run.Calls += r.Calls
		run.TokensIn += r.TokensIn
		run.TokensOut += r.TokensOut
		run.Cost = database.ShownCost(run.Cost + r.Cost)
		run.Delivery = delivered[r.Delivery]
		return run
	}, runsOf, job, before, before, limit)
}

// Notifications lists what a person was told, before a number (0: from the newest), the newest first.
func (r *Store) Notifications(ctx context.Context, person string, before int64, limit int, unread bool) ([]jobs.Notification, error) {
	return database.List[jobs.Notification](ctx, r.DB, "list notifications", listNotifications, person, before, before, unread, limit)
}

// ReadNotifications marks notifications as read.
func ReadNotifications(t *database.Tx, c *jobs.NotificationsRead) (a audit.Entry, err error) {
	for _, id := range c.IDs {
		if err := t.Do(readThem, t.Now, c.Person, id); err != nil {
			return a, err
		}
	}
	return audit.Entry{Outcome: "done", Data: map[string]any{"ids": c.IDs}}, nil
}

// at is an instant as it is compared and stored.
func at(t *database.Tx) time.Time { return database.Instant(t.Now) }

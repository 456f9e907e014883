package jobs

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/jobs"
	"switchboard/scheduler"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/sessions"
)

// jobFields and runFields are selected as "job.id" and so on, so that a row may have both.
var (
	jobFields = fields("j", "job", "id", "owner", "name", "payload", "text", "spec", "rules", "taint", "state", "reason", "slot", "due_at",
		"version", "runs", "failures", "seen", "created_at") +
		`, coalesce(c.channel, '') AS "job.channel", coalesce(c.conversation, '') AS "job.conversation"`
	runFields = fields("r", "run", "id", "job_id", "slot", "last_slot", "slots", "try", "state", "reason", "start_at", "calls", "tokens_in",
		"tokens_out", "cost", "created_at") + `,
		coalesce(r.engine, 0) AS "run.engine", coalesce(r.turn_id, 0) AS "run.turn_id", coalesce(r.message_id, 0) AS "run.message_id",
		coalesce(r.started_at, 0) AS "run.started_at", coalesce(r.finished_at, 0) AS "run.finished_at"`
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
		SELECT id, coalesce(job_id, 0) AS job_id, text, taint, created_at, coalesce(read_at, 0) AS read_at FROM notifications
		WHERE person = ? AND (? = 0 OR id < ?) AND (? = FALSE OR read_at IS NULL) ORDER BY id DESC LIMIT ?`
)

const (
	readThem = `UPDATE notifications SET read_at = ? WHERE person = ? AND id = ? AND read_at IS NULL`
)

// deliveries are what runsOf calls what became of what a run said.
var delivered = [...]string{"", "delivered", "pending", "unknown", "dropped", "dead"}

type jobRow struct {
	ID                                                    int64
	Owner, Name, Payload, Text, Spec, Rules, Taint, State string
	Reason                                                string
	Slot                                                  int64
	DueAt                                                 int64 `db:"due_at"`
	Version                                               int64
	Runs, Failures                                        int
	Seen                                                  string
	CreatedAt                                             int64 `db:"created_at"`
	Channel, Conversation                                 string
	Away                                                  bool
}

func (r *jobRow) job() scheduler.Job {
	j := scheduler.Job{
		ID: r.ID, Owner: r.Owner, Name: r.Name, Payload: scheduler.Payload(r.Payload), Text: r.Text, Taint: r.Taint,
		Target: scheduler.Target{Channel: r.Channel, Conversation: r.Conversation},
		State:  scheduler.JobState(r.State), Reason: r.Reason, Slot: database.Instant(r.Slot), Due: database.Instant(r.DueAt),
		Version: r.Version, Runs: r.Runs, Failures: r.Failures, Seen: r.Seen, CreatedAt: database.Instant(r.CreatedAt), Away: r.Away,
	}
	// What cannot be read is zero: Spec.Check refuses it, so that the job is disabled and keeps no other from running.
	_ = json.Unmarshal([]byte(r.Spec), &j.Spec)
	_ = json.Unmarshal([]byte(r.Rules), &j.Rules)
	return j
}

// aJob is a row of a job alone.
type aJob struct{ Job jobRow }

func (r *aJob) job() scheduler.Job { return r.Job.job() }

type runRow struct {
	ID         int64
	JobID      int64 `db:"job_id"`
	Slot       int64
	LastSlot   int64 `db:"last_slot"`
	Slots, Try int
	State      string
	Reason     string
	StartAt    int64 `db:"start_at"`
	Engine     int64
	TurnID     int64 `db:"turn_id"`
	MessageID  int64 `db:"message_id"`
	Calls      int
	TokensIn   int64 `db:"tokens_in"`
	TokensOut  int64 `db:"tokens_out"`
	Cost       float64
	CreatedAt  int64 `db:"created_at"`
	StartedAt  int64 `db:"started_at"`
	FinishedAt int64 `db:"finished_at"`
}

func (r *runRow) run() scheduler.Run {
	return scheduler.Run{
		ID: r.ID, JobID: r.JobID, Slot: database.Instant(r.Slot), Last: database.Instant(r.LastSlot), Count: r.Slots, Try: r.Try,
		State: scheduler.RunState(r.State), Reason: r.Reason, StartAt: database.Instant(r.StartAt), Engine: r.Engine, Turn: r.TurnID, Message: r.MessageID,
		Calls: r.Calls, TokensIn: r.TokensIn, TokensOut: r.TokensOut, Cost: r.Cost,
		Claimed: database.Instant(r.CreatedAt), Started: database.Instant(r.StartedAt), Finished: database.Instant(r.FinishedAt),
	}
}

// findJob reads a job; ErrNotFound: there is none, or it is not of that person (empty: of whomever).
func findJob(t *database.Tx, query string, id int64, of string) (*scheduler.Job, error) {
	var rows []aJob
	if err := t.All(&rows, query, id); err != nil {
		return nil, err
	}
	if len(rows) == 0 || of != "" && database.Clean(of) != rows[0].Job.Owner {
		return nil, core.ErrNotFound
	}
	job := rows[0].job()
	return &job, nil
}

// Jobs implements jobs.Ledger.
func (r *Store) Jobs(ctx context.Context, of string, after int64, limit int) ([]scheduler.Job, error) {
	query, args := openJobs, []any{after, limit}
	if of != "" {
		query, args = jobsOf, append([]any{database.Clean(of)}, args...)
	}
	return database.Listed(ctx, r.DB, "list jobs", (*aJob).job, query, args...)
}

// AskedIn implements jobs.Ledger.
func (r *Store) AskedIn(ctx context.Context, turn int64) (id channels.MessageID, err error) {
	err = r.Read(ctx, "read what a turn answers", func(t *database.Tx) error {
		_, err := t.Row(`SELECT m.platform_id FROM turns t JOIN messages m ON m.id = t.message_id WHERE t.id = ?`, []any{turn}, &id)
		return err
	})
	return id, err
}

// Assumes implements router.Ledger.
func (r *Store) Assumes(ctx context.Context, person string) (assumes bool, err error) {
	err = r.Read(ctx, "look for an assumed time zone", func(t *database.Tx) error {
		ids, err := t.IDs(assumedJobs, database.Clean(person))
		assumes = len(ids) > 0
		return err
	})
	return assumes, err
}

// Job implements jobs.Ledger.
func (r *Store) Job(ctx context.Context, id int64, of string) (job *scheduler.Job, err error) {
	err = r.Read(ctx, "read a job", func(t *database.Tx) error {
		job, err = findJob(t, oneJob, id, of)
		return err
	})
	return job, err
}

// Runs implements jobs.Ledger.
func (r *Store) Runs(ctx context.Context, job, before int64, limit int) ([]scheduler.Run, error) {
	type row struct {
		Run       runRow
		Calls     int
		TokensIn  int64 `db:"tokens_in"`
		TokensOut int64 `db:"tokens_out"`
		Cost      float64
		Delivery  int
	}
	return database.Listed(ctx, r.DB, "list runs", func(r *row) scheduler.Run {
		run := r.Run.run()
		run.Calls += r.Calls
		run.TokensIn += r.TokensIn
		run.TokensOut += r.TokensOut
		run.Cost = database.ShownCost(run.Cost + r.Cost)
		run.Delivery = delivered[r.Delivery]
		return run
	}, runsOf, job, before, before, limit)
}

// Notifications implements jobs.Ledger.
func (r *Store) Notifications(ctx context.Context, person string, before int64, limit int, unread bool) ([]jobs.Notification, error) {
	type row struct {
		ID          int64
		JobID       int64 `db:"job_id"`
		Text, Taint string
		CreatedAt   int64 `db:"created_at"`
		ReadAt      int64 `db:"read_at"`
	}
	return database.Listed(ctx, r.DB, "list notifications", func(r *row) jobs.Notification {
		return jobs.Notification{ID: r.ID, Job: r.JobID, Text: r.Text, Taint: tools.Taint(r.Taint), At: database.Instant(r.CreatedAt), Read: database.Instant(r.ReadAt)}
	}, listNotifications, database.Clean(person), before, before, unread, limit)
}

// ReadNotifications marks notifications as read.
func ReadNotifications(t *database.Tx, c *jobs.NotificationsRead) (a audit.Entry, err error) {
	for _, id := range c.IDs {
		if _, err := t.Exec(readThem, t.Now, database.Clean(c.Person), id); err != nil {
			return a, err
		}
	}
	return audit.Entry{Outcome: "done", Data: map[string]any{"ids": c.IDs}}, nil
}

// at is an instant as it is compared and stored.
func at(t *database.Tx) time.Time { return database.Instant(t.Now) }

package jobs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"switchboard/agent"
	"switchboard/scheduler"
	"switchboard/store/database"
	"switchboard/store/engines"
	"switchboard/store/sessions"
	"switchboard/store/turns"
)

// Scheduler is the scheduler's view of the database, for an engine.
type Scheduler struct {
	db       *database.DB
	owner    int64
	harmless []string
}

// Scheduler is the scheduler's view, for the engine of owner. A turn that used nothing but harmless tools did not act.
func (db *Store) Scheduler(owner int64, harmless ...string) *Scheduler {
	return &Scheduler{db.DB, owner, append(harmless, "")}
}

var (
	// jobsDue: %s is within reach. What is of somebody who is away waits.
	jobsDue = `
		SELECT ` + jobFields + `, (SELECT count(*) FROM runs r WHERE r.job_id = j.id AND r.state IN ('due', 'running')) AS open
		FROM jobs j LEFT JOIN conversations c ON c.id = j.conversation_id
		WHERE j.state = 'active' AND j.due_at > 0 AND j.due_at <= ? AND %s AND ` + sessions.NotAway + ` ORDER BY j.due_at LIMIT ?`
	jobsAhead = jobsFrom + `
		WHERE j.state = 'active' AND j.id > ? AND j.id IN (SELECT r.job_id FROM runs r WHERE r.finished_at > ?) ORDER BY j.id LIMIT ?`
	// runsDue leaves out those that wait for a former run of their job.
	runsDue = `
		SELECT ` + jobFields + `, ` + runFields + `
		FROM runs r JOIN jobs j ON j.id = r.job_id LEFT JOIN conversations c ON c.id = j.conversation_id
		WHERE r.state = 'due' AND r.start_at <= ? AND %s AND ` + sessions.NotAway + ` AND (r.beside = TRUE OR NOT EXISTS (
			SELECT 1 FROM runs x WHERE x.job_id = r.job_id AND x.state IN ('due', 'running') AND x.id < r.id))
		ORDER BY r.start_at LIMIT ?`
	// runsEnded: %s are harmless tools, and is alive. What was begun has acted, however it ended.
	runsEnded = `
		SELECT ` + jobFields + `, ` + runFields + `,
			CASE WHEN r.turn_id IS NULL THEN 'dead' ELSE coalesce(t.state, 'gone') END AS ended, coalesce(t.outcome, '') AS outcome,
			EXISTS (SELECT 1 FROM tasks k WHERE k.turn_id = r.turn_id AND k.started_at IS NOT NULL AND k.outcome <> 'refused' AND (k.type = 'exec' OR k.type = 'tool' AND k.tool NOT IN (%s))) AS acted,
			coalesce(t.terms, '') AS terms
		FROM runs r JOIN jobs j ON j.id = r.job_id LEFT JOIN conversations c ON c.id = j.conversation_id LEFT JOIN turns t ON t.id = r.turn_id
		WHERE r.state = 'running' AND CASE WHEN r.turn_id IS NULL
			THEN NOT EXISTS (SELECT 1 FROM owners o WHERE o.id = r.engine AND %s)
			ELSE t.id IS NULL OR t.state IN ('done', 'failed', 'cancelled', 'merged') END
		ORDER BY r.id LIMIT ?`
	// runsUntold are those of one person, whose oldest is the oldest of all; %s is within reach.
	runsUntold = `
		SELECT ` + jobFields + `, ` + runFields + `
		FROM runs r CROSS JOIN jobs j LEFT JOIN conversations c ON c.id = j.conversation_id
		WHERE r.state = 'missed' AND r.told = FALSE AND r.created_at <= ? AND j.id = r.job_id AND %[1]s AND j.owner = (
			SELECT j.owner FROM runs x CROSS JOIN jobs j LEFT JOIN conversations c ON c.id = j.conversation_id
			WHERE x.state = 'missed' AND x.told = FALSE AND j.id = x.job_id AND %[1]s AND ` + sessions.NotAway + ` ORDER BY x.id LIMIT 1)
		ORDER BY r.id LIMIT 100`
)

const (
	ofMaintenance = `j.owner = '' AND j.payload = 'maintenance'`
	// nextJob and nextRun are within anybody's reach: to look in vain costs little.
	nextJob = `SELECT coalesce(min(due_at), 0) FROM jobs WHERE state = 'active' AND due_at > 0 AND due_at > ?`
	nextOwn = `SELECT coalesce(min(j.due_at), 0) FROM jobs j WHERE j.state = 'active' AND j.due_at > ? AND ` + ofMaintenance
	nextRun = `SELECT coalesce(min(start_at), 0) FROM runs WHERE state = 'due' AND start_at > ?`
	// runningSince leaves out who is only not known to be dead yet.
	runningSince = `SELECT coalesce(min(started_at), 0) FROM owners WHERE id = ? OR state = 'alive' AND renewed_at >= (SELECT started_at FROM owners WHERE id = ?)`
	countRunning = `SELECT count(*) FROM runs WHERE state = 'running'`
)

// untoldFor is how old a missed run is before its owner is told, so that one message says them all.
const untoldFor = 5 * time.Second

// clockNow reads the clock by which slots are due.
func clockNow(t *database.Tx) (now int64, err error) {
	_, err = t.Row(`SELECT `+engines.Clock(t), nil, &now)
	return now, err
}

// within is the condition that a job is within reach. One that speaks nowhere in particular is within everybody's.
func within(of scheduler.Reach) (condition string, args []any) {
	if len(of.Channels) == 0 {
		return ofMaintenance, nil
	}
	marks, args := database.In(of.Channels)
	return `(` + ofMaintenance + ` OR j.conversation_id IS NULL OR c.channel IN (` + marks + `))`, args
}

// RunningSince is from when on, by the database's clock, this engine or one that runs beside it has run.
func (s *Scheduler) RunningSince(ctx context.Context) (time.Time, error) {
	return database.Value[time.Time](ctx, s.db, "look since when an engine runs", runningSince, s.owner, s.owner)
}

// DueJobs are active jobs within reach whose Due has come by the database's clock, now, the longest waiting
// first, at most limit.
func (s *Scheduler) DueJobs(ctx context.Context, limit int, of scheduler.Reach) (jobs []scheduler.DueJob, now, next time.Time, err error) {
	err = s.db.Read(ctx, "look for jobs that are due", func(t *database.Tx) error {
		at, err := clockNow(t)
		if err != nil {
			return err
		}
		type row struct {
			aJob
			Open int
		}
		reach, args := within(of)
		if jobs, err = database.Views(t, func(r *row) scheduler.DueJob { return scheduler.DueJob{Job: r.job(), Open: r.Open} },
			fmt.Sprintf(jobsDue, reach), slices.Concat([]any{at}, args, []any{limit})...); err != nil {
			return err
		}
		query := nextJob
		if len(of.Channels) == 0 {
			query = nextOwn
		}
		now = database.Instant(at)
		_, err = t.Row(query, []any{at}, &next)
		return err
	})
	return jobs, now, next, err
}

// JobsAhead are active jobs that had a run end after now, which they can only by a clock that was set back
// since; those behind the number after, at most limit.
func (s *Scheduler) JobsAhead(ctx context.Context, now time.Time, after int64, limit int) ([]scheduler.Job, error) {
	return database.Listed(ctx, s.db, "look for jobs that are ahead", (*aJob).job, jobsAhead, after, now, limit)
}

// DueRuns are runs within reach in state due that are to be started by now, with their jobs, the longest
// waiting first.
func (s *Scheduler) DueRuns(ctx context.Context, limit int, of scheduler.Reach) (runs []scheduler.DueRun, next time.Time, err error) {
	err = s.db.Read(ctx, "look for runs that are due", func(t *database.Tx) error {
		at, err := clockNow(t)
		if err != nil {
			return err
		}
		reach, args := within(of)
		if runs, err = dueRuns(t, fmt.Sprintf(runsDue, reach), slices.Concat([]any{at}, args, []any{limit})...); err != nil {
			return err
		}
		_, err = t.Row(nextRun, []any{at}, &next)
		return err
	})
	return runs, next, err
}

func dueRuns(t *database.Tx, query string, args ...any) (runs []scheduler.DueRun, err error) {
	type row struct {
		aJob
		Run scheduler.Run
	}
	return database.Views(t, func(r *row) scheduler.DueRun { return scheduler.DueRun{Job: r.job(), Run: r.Run} }, query, args...)
}

// EndedRuns are running runs whose turns have ended, or whose engines are dead.
func (s *Scheduler) EndedRuns(ctx context.Context, limit int) (ended []scheduler.EndedRun, open int, err error) {
	err = s.db.Read(ctx, "look for runs that have ended", func(t *database.Tx) error {
		if _, err := t.Row(countRunning, nil, &open); err != nil || open == 0 {
			return err
		}
		type row struct {
			aJob
			Run                   scheduler.Run
			Ended, Outcome, Terms string
			Acted                 bool
		}
		marks, args := database.In(s.harmless)
		ended, err = database.Views(t, func(r *row) scheduler.EndedRun {
			return scheduler.EndedRun{
				Job: r.job(), Run: r.Run, Ended: r.Ended, Outcome: r.Outcome, Final: r.Acted || agent.Hopeless(r.Outcome), Seen: turns.TermsOf(r.Terms).Seen,
			}
		}, fmt.Sprintf(runsEnded, marks, engines.Alive(t)), append(args, limit)...)
		open = max(open-len(ended), 0)
		return err
	})
	return ended, open, err
}

// Untold are missed stretches of which their jobs' owner was not told yet, of one owner.
func (s *Scheduler) Untold(ctx context.Context, of scheduler.Reach) ([]scheduler.DueRun, error) {
	reach, args := within(of)
	return database.Read(ctx, s.db, "look for missed runs", func(t *database.Tx) ([]scheduler.DueRun, error) {
		return dueRuns(t, fmt.Sprintf(runsUntold, reach), slices.Concat([]any{t.Now - untoldFor.Microseconds()}, args, args)...)
	})
}

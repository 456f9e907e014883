package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchboard/agent"
	"switchboard/scheduler"
	"switchboard/store/database"
)

// Scheduler implements scheduler.Store for an engine.
type Scheduler struct {
	db       *DB
	owner    int64
	harmless []string
}

// Scheduler is the scheduler's view, for the engine of owner. A turn that used nothing but harmless tools did not act.
func (db *DB) Scheduler(owner int64, harmless ...string) *Scheduler {
	return &Scheduler{db, owner, append(harmless, "")}
}

// A job's row is locked before those of its runs.
var (
	// jobsDue: %s is within reach.
	jobsDue = `
		SELECT ` + jobFields + `, (SELECT count(*) FROM runs r WHERE r.job_id = j.id AND r.state IN ('due', 'running')) AS open
		FROM jobs j LEFT JOIN conversations c ON c.id = j.conversation_id
		WHERE j.state = 'active' AND j.due_at > 0 AND j.due_at <= ? AND %s ORDER BY j.due_at LIMIT ?`
	// runsDue leaves out those that wait for a former run of their job.
	runsDue = `
		SELECT ` + jobFields + `, ` + runFields + `
		FROM runs r JOIN jobs j ON j.id = r.job_id LEFT JOIN conversations c ON c.id = j.conversation_id
		WHERE r.state = 'due' AND r.start_at <= ? AND %s AND (r.beside = TRUE OR NOT EXISTS (
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
			WHERE x.state = 'missed' AND x.told = FALSE AND j.id = x.job_id AND %[1]s ORDER BY x.id LIMIT 1)
		ORDER BY r.id LIMIT 100`
)

const (
	ofMaintenance = `j.owner = '' AND j.payload = 'maintenance'`
	// nextJob and nextRun are within anybody's reach: to look in vain costs little.
	nextJob      = `SELECT coalesce(min(due_at), 0) FROM jobs WHERE state = 'active' AND due_at > 0 AND due_at > ?`
	nextOwn      = `SELECT coalesce(min(j.due_at), 0) FROM jobs j WHERE j.state = 'active' AND j.due_at > ? AND ` + ofMaintenance
	nextRun      = `SELECT coalesce(min(start_at), 0) FROM runs WHERE state = 'due' AND start_at > ?`
	countRunning = `SELECT count(*) FROM runs WHERE state = 'running'`
	lockJobs     = `SELECT id, state, version FROM jobs WHERE id IN (%s) ORDER BY id`
	// setClaimed: the first row of values says their types.
	setClaimed = `
		UPDATE jobs SET slot = v.column2, due_at = v.column3, runs = runs + v.column4, state = v.column5, reason = v.column6,
			version = version + 1, updated_at = ?
		FROM (VALUES (CAST(? AS bigint), CAST(? AS bigint), CAST(? AS bigint), CAST(? AS bigint), CAST(? AS text), CAST(? AS text))%s) AS v
		WHERE jobs.id = v.column1`
	insertRuns = `
		INSERT INTO runs (job_id, slot, last_slot, slots, state, reason, start_at, beside, told, created_at, finished_at) VALUES %s
		ON CONFLICT (job_id, slot) DO NOTHING RETURNING id, job_id, slot, state`
	beginRun = `
		UPDATE runs SET state = 'running', engine = ?, turn_id = NULL, started_at = coalesce(started_at, ?)
		WHERE id = ? AND try = ? AND state = 'due'`
	// settleRun counts what the turn of this try used.
	settleRun = `
		UPDATE runs SET state = ?, reason = ?, try = ?, start_at = ?, finished_at = ?, engine = NULL,
			calls = calls + coalesce((SELECT t.calls FROM turns t WHERE t.id = runs.turn_id AND runs.state = 'running'), 0),
			tokens_in = tokens_in + coalesce((SELECT t.tokens_in FROM turns t WHERE t.id = runs.turn_id AND runs.state = 'running'), 0),
			tokens_out = tokens_out + coalesce((SELECT t.tokens_out FROM turns t WHERE t.id = runs.turn_id AND runs.state = 'running'), 0),
			cost = cost + coalesce((SELECT t.cost FROM turns t WHERE t.id = runs.turn_id AND runs.state = 'running'), 0)
		WHERE id = ? AND try = ? AND state = ?`
	// settleJob: the failures count on or end; a job that is over or was paused stays so.
	settleJob = `
		UPDATE jobs SET failures = CASE WHEN ? THEN failures + 1 WHEN ? THEN 0 ELSE failures END, seen = CASE WHEN ? = '' THEN seen ELSE ? END,
			updated_at = ? WHERE id = ?`
	stopJob = `UPDATE jobs SET state = ?, reason = ?, version = version + 1 WHERE id = ? AND state = 'active'`
	// dropDue ends what was claimed and not started.
	dropDue    = `UPDATE runs SET state = 'skipped', reason = ?, finished_at = ? WHERE job_id = ? AND state = 'due'`
	lockUntold = `SELECT id FROM runs WHERE id IN (%s) AND told = FALSE ORDER BY id`
	setTold    = `UPDATE runs SET told = TRUE WHERE id IN (%s)`
)

const (
	batchRuns = 50
	// untoldFor is how old a missed run is before its owner is told, so that one message says them all.
	untoldFor = 5 * time.Second
)

// clockNow reads the clock by which slots are due.
func (t *tx) clockNow() (now int64, err error) {
	_, err = t.Row(`SELECT `+t.Clock(t.now), nil, &now)
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

// DueJobs implements scheduler.Store.
func (s *Scheduler) DueJobs(ctx context.Context, limit int, of scheduler.Reach) (jobs []scheduler.DueJob, now, next time.Time, err error) {
	err = s.db.read(ctx, "look for jobs that are due", func(t *tx) error {
		at, err := t.clockNow()
		if err != nil {
			return err
		}
		var rows []struct {
			Job  jobRow
			Open int
		}
		reach, args := within(of)
		if err := t.All(&rows, fmt.Sprintf(jobsDue, reach), slices.Concat([]any{at}, args, []any{limit})...); err != nil {
			return err
		}
		jobs = nil
		for i := range rows {
			jobs = append(jobs, scheduler.DueJob{Job: rows[i].Job.job(), Open: rows[i].Open})
		}
		var first int64
		query := nextJob
		if len(of.Channels) == 0 {
			query = nextOwn
		}
		_, err = t.Row(query, []any{at}, &first)
		now, next = instant(at), instant(first)
		return err
	})
	return jobs, now, next, err
}

// Claim implements scheduler.Store.
func (s *Scheduler) Claim(ctx context.Context, claims []scheduler.Claim) (due []scheduler.Run, err error) {
	err = s.db.write(ctx, rides, "claim runs", func(t *tx) error {
		due = nil
		for some := range slices.Chunk(claims, batchRuns) {
			ids := make([]int64, len(some))
			for i := range some {
				ids[i] = some[i].Job.ID
			}
			was, err := t.lockJobs(ids)
			if err != nil {
				return err
			}
			some = slices.DeleteFunc(slices.Clone(some), func(c scheduler.Claim) bool {
				return was[c.Job.ID] != lockedJob{c.Job.ID, scheduler.JobActive, c.Job.Version}
			})
			list, err := t.claimRuns(some)
			if err != nil {
				return err
			}
			due = append(due, list...)
		}
		return nil
	})
	return due, err
}

type lockedJob struct {
	ID      int64
	State   scheduler.JobState
	Version int64
}

// lockJobs reads jobs that stay as they are to the end of the transaction.
func (t *tx) lockJobs(ids []int64) (map[int64]lockedJob, error) {
	var rows []lockedJob
	marks, args := database.In(ids)
	if err := t.All(&rows, t.Locked(fmt.Sprintf(lockJobs, marks)), args...); err != nil {
		return nil, err
	}
	jobs := map[int64]lockedJob{}
	for _, r := range rows {
		jobs[r.ID] = r
	}
	return jobs, nil
}

// claimRuns claims slots of jobs that are locked.
func (t *tx) claimRuns(claims []scheduler.Claim) (due []scheduler.Run, err error) {
	if len(claims) == 0 {
		return nil, nil
	}
	args := []any{t.now}
	var runs []newRun
	for _, c := range claims {
		state, count := scheduler.JobActive, 0
		switch {
		case c.Disable != "":
			state = scheduler.JobDisabled
		case c.Slot.IsZero():
			state = scheduler.JobDone
		}
		for _, r := range c.Runs {
			runs = append(runs, newRun{r, &c.Job})
			if r.State == scheduler.RunDue {
				count++
			}
		}
		args = append(args, c.Job.ID, micros(c.Slot), micros(c.Due), count, string(state), clean(c.Disable))
	}
	if _, err := t.Exec(fmt.Sprintf(setClaimed, strings.Repeat(", (?, ?, ?, ?, ?, ?)", len(claims)-1)), args...); err != nil {
		return nil, err
	}
	for some := range slices.Chunk(runs, batchRuns) {
		list, err := t.insertRuns(some)
		if err != nil {
			return nil, err
		}
		due = append(due, list...)
	}
	return due, nil
}

// A newRun is a run that is not there yet.
type newRun struct {
	scheduler.Run
	of *scheduler.Job
}

// insertRuns writes runs and returns those that are due. A slot that has one already has no other.
func (t *tx) insertRuns(runs []newRun) (due []scheduler.Run, err error) {
	var args []any
	for _, r := range runs {
		finished, told := any(nil), r.of.Payload == scheduler.PayloadMaintenance || r.of.Payload == scheduler.PayloadHeartbeat
		if r.State != scheduler.RunDue {
			finished = t.now
		}
		args = append(args, r.of.ID, micros(r.Slot), micros(r.Last), max(r.Count, 1), string(r.State), clean(r.Reason), micros(r.StartAt),
			r.of.Rules.Overlap == scheduler.OverlapAllow, told, t.now, finished)
	}
	var rows []struct {
		ID    int64
		JobID int64 `db:"job_id"`
		Slot  int64
		State string
	}
	query := fmt.Sprintf(insertRuns, strings.TrimSuffix(strings.Repeat("(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?), ", len(runs)), ", "))
	if err := t.All(&rows, query, args...); err != nil {
		return nil, err
	}
	for _, row := range rows {
		i := slices.IndexFunc(runs, func(r newRun) bool { return r.of.ID == row.JobID && micros(r.Slot) == row.Slot })
		if run := runs[i].Run; run.State == scheduler.RunDue {
			run.ID, run.JobID, run.Try, run.Claimed = row.ID, row.JobID, 1, t.at()
			due = append(due, run)
		}
	}
	return due, nil
}

// DueRuns implements scheduler.Store.
func (s *Scheduler) DueRuns(ctx context.Context, limit int, of scheduler.Reach) (runs []scheduler.DueRun, next time.Time, err error) {
	err = s.db.read(ctx, "look for runs that are due", func(t *tx) error {
		at, err := t.clockNow()
		if err != nil {
			return err
		}
		reach, args := within(of)
		if runs, err = t.dueRuns(fmt.Sprintf(runsDue, reach), slices.Concat([]any{at}, args, []any{limit})...); err != nil {
			return err
		}
		var first int64
		_, err = t.Row(nextRun, []any{at}, &first)
		next = instant(first)
		return err
	})
	return runs, next, err
}

func (t *tx) dueRuns(query string, args ...any) (runs []scheduler.DueRun, err error) {
	type row struct {
		Job jobRow
		Run runRow
	}
	return views(t, func(r *row) scheduler.DueRun { return scheduler.DueRun{Job: r.Job.job(), Run: r.Run.run()} }, query, args...)
}

// Begin implements scheduler.Store.
func (s *Scheduler) Begin(ctx context.Context, run scheduler.Run) (begun bool, err error) {
	err = s.db.write(ctx, rides, "begin a run", func(t *tx) error {
		n, err := t.Exec(beginRun, s.owner, t.now, run.ID, run.Try)
		begun = n > 0
		return err
	})
	return begun && err == nil, err
}

// EndedRuns implements scheduler.Store.
func (s *Scheduler) EndedRuns(ctx context.Context, limit int) (ended []scheduler.EndedRun, open int, err error) {
	err = s.db.read(ctx, "look for runs that have ended", func(t *tx) error {
		if _, err := t.Row(countRunning, nil, &open); err != nil || open == 0 {
			return err
		}
		type row struct {
			Job                   jobRow
			Run                   runRow
			Ended, Outcome, Terms string
			Acted                 bool
		}
		marks, args := database.In(s.harmless)
		ended, err = views(t, func(r *row) scheduler.EndedRun {
			return scheduler.EndedRun{
				Job: r.Job.job(), Run: r.Run.run(), Ended: r.Ended, Outcome: r.Outcome, Final: r.Acted || agent.Hopeless(r.Outcome), Seen: termsOf(r.Terms).Seen,
			}
		}, fmt.Sprintf(runsEnded, marks, t.Alive()), append(args, limit)...)
		open = max(open-len(ended), 0)
		return err
	})
	return ended, open, err
}

// Settle implements scheduler.Store.
func (s *Scheduler) Settle(ctx context.Context, settled []scheduler.Settled) error {
	settled = slices.SortedFunc(slices.Values(settled), func(a, b scheduler.Settled) int { return cmp.Compare(a.Run.JobID, b.Run.JobID) })
	return s.db.write(ctx, rides, "settle runs", func(t *tx) error {
		for i := range settled {
			if err := t.settleRun(settled[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *tx) settleRun(s scheduler.Settled) error {
	jobs, err := t.lockJobs([]int64{s.Run.JobID})
	if err != nil {
		return err
	}
	is := jobs[s.Run.JobID].State
	if s.State == scheduler.RunDue && is != scheduler.JobActive && is != scheduler.JobDone { // nothing of it is tried again
		s.State, s.Reason, s.RetryAt = scheduler.RunFailed, string(is)+": "+s.Reason, time.Time{}
	}
	try, finished := s.Run.Try, any(t.now)
	if s.State == scheduler.RunDue {
		try, finished = try+1, nil
	}
	n, err := t.Exec(settleRun, string(s.State), clean(s.Reason), try, micros(s.RetryAt), finished, s.Run.ID, s.Run.Try, string(s.Run.State))
	if err != nil || n == 0 {
		return err
	}
	job, seen := s.Run.JobID, clean(s.Seen)
	if _, err := t.Exec(settleJob, s.Failed, s.State == scheduler.RunDone, seen, seen, t.now, job); err != nil {
		return err
	}
	if !s.Disable && !s.Pause {
		return nil
	}
	stopped := scheduler.JobPaused
	if s.Disable {
		stopped = scheduler.JobDisabled
	}
	return t.run(
		statement{stopJob, []any{string(stopped), clean(s.Reason), job}},
		statement{dropDue, []any{clean(string(stopped) + ": " + s.Reason), t.now, job}},
	)
}

// Untold implements scheduler.Store.
func (s *Scheduler) Untold(ctx context.Context, of scheduler.Reach) (runs []scheduler.DueRun, err error) {
	err = s.db.read(ctx, "look for missed runs", func(t *tx) error {
		reach, args := within(of)
		runs, err = t.dueRuns(fmt.Sprintf(runsUntold, reach), slices.Concat([]any{t.now - untoldFor.Microseconds()}, args, args)...)
		return err
	})
	return runs, err
}

// Told implements scheduler.Store.
func (s *Scheduler) Told(ctx context.Context, missed []int64) error {
	return s.db.write(ctx, rides, "note who was told", func(t *tx) error {
		_, err := t.tell(missed)
		return err
	})
}

// tell marks missed runs as told. False: one of them was, and none is marked.
func (t *tx) tell(missed []int64) (bool, error) {
	if len(missed) == 0 {
		return true, nil
	}
	marks, args := database.In(missed)
	untold, err := t.ids(t.Locked(fmt.Sprintf(lockUntold, marks)), args...)
	if err != nil || len(untold) < len(missed) {
		return false, err
	}
	_, err = t.Exec(fmt.Sprintf(setTold, marks), args...)
	return err == nil, err
}

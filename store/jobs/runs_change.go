package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchboard/scheduler"
	"switchboard/store/database"
)

// A job's row is locked before those of its runs.
const (
	lockJobs = `SELECT id, state, version FROM jobs WHERE id IN (%s) ORDER BY id`
	// setClaimed: the first row of values says their types.
	setClaimed = `
		UPDATE jobs SET slot = v.column2, due_at = v.column3, runs = runs + v.column4, state = v.column5, reason = v.column6,
			version = version + 1, updated_at = ?
		FROM (VALUES (CAST(? AS bigint), CAST(? AS bigint), CAST(? AS bigint), CAST(? AS bigint), CAST(? AS text), CAST(? AS text))%s) AS v
		WHERE jobs.id = v.column1`
	insertRuns = `
		INSERT INTO runs (job_id, slot, last_slot, slots, state, reason, start_at, beside, told, created_at, finished_at) VALUES %s
		ON CONFLICT (job_id, slot) DO NOTHING RETURNING id`
	// startBy: no other run waits for those of a job that is done.
	startBy = `
		UPDATE runs SET start_at = CASE WHEN slot > ? AND (SELECT j.state FROM jobs j WHERE j.id = runs.job_id) = 'done' THEN slot ELSE ? END
		WHERE state = 'due' AND try = ? AND start_at > ?`
	beginRun = `
		UPDATE runs SET state = 'running', engine = ?, turn_id = NULL, started_at = coalesce(started_at, ?)
		WHERE id = ? AND try = ? AND state = 'due'`
	// settleRun counts what the turn of this try used.
	settleRun = `
		UPDATE runs SET state = ?, reason = ?, try = ?, start_at = ?, finished_at = ?, engine = NULL,
			calls = calls + coalesce((SELECT t.calls` + ofTry + `), 0), tokens_in = tokens_in + coalesce((SELECT t.tokens_in` + ofTry + `), 0),
			tokens_out = tokens_out + coalesce((SELECT t.tokens_out` + ofTry + `), 0), cost = cost + coalesce((SELECT t.cost` + ofTry + `), 0)
		WHERE id = ? AND try = ? AND state = ?`
	ofTry = ` FROM turns t WHERE t.id = runs.turn_id AND runs.state = 'running'`
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

// batchRuns is how many rows one statement writes.
const batchRuns = 50

// Claim claims slots, each if its job is still in the version of the claim: with what others claimed it does
// nothing.
func (s *Scheduler) Claim(ctx context.Context, claims []scheduler.Claim) error {
	return s.db.Write(ctx, database.Async, "claim runs", func(t *database.Tx) error {
		for some := range slices.Chunk(claims, batchRuns) {
			ids := make([]int64, len(some))
			for i := range some {
				ids[i] = some[i].Job.ID
			}
			was, err := lockAll(t, ids)
			if err != nil {
				return err
			}
			some = slices.DeleteFunc(slices.Clone(some), func(c scheduler.Claim) bool {
				return was[c.Job.ID] != lockedJob{c.Job.ID, scheduler.JobActive, c.Job.Version}
			})
			if err := claimRuns(t, some); err != nil {
				return err
			}
		}
		return nil
	})
}

type lockedJob struct {
	ID      int64
	State   scheduler.JobState
	Version int64
}

// lockAll reads jobs that stay as they are to the end of the transaction.
func lockAll(t *database.Tx, ids []int64) (map[int64]lockedJob, error) {
	marks, args := database.In(ids)
	rows, err := database.Select[lockedJob](t, t.Locked(fmt.Sprintf(lockJobs, marks)), args...)
	if err != nil {
		return nil, err
	}
	jobs := map[int64]lockedJob{}
	for _, r := range rows {
		jobs[r.ID] = r
	}
	return jobs, nil
}

// claimRuns claims slots of jobs that are locked.
func claimRuns(t *database.Tx, claims []scheduler.Claim) error {
	if len(claims) == 0 {
		return nil
	}
	args := []any{t.Now}
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
		args = append(args, c.Job.ID, database.Micros(c.Slot), database.Micros(c.Due), count, string(state), database.Clean(c.Disable))
	}
	if err := t.Do(fmt.Sprintf(setClaimed, strings.Repeat(", (?, ?, ?, ?, ?, ?)", len(claims)-1)), args...); err != nil {
		return err
	}
	for some := range slices.Chunk(runs, batchRuns) {
		if _, err := putRuns(t, some); err != nil {
			return err
		}
	}
	return nil
}

// A newRun is a run that is not there yet.
type newRun struct {
	scheduler.Run
	of *scheduler.Job
}

// putRuns writes runs and returns the numbers of those that are new: a slot that has one already has no other.
func putRuns(t *database.Tx, runs []newRun) ([]int64, error) {
	var args []any
	for _, r := range runs {
		finished, told := any(nil), r.of.Payload == scheduler.PayloadMaintenance || r.of.Payload == scheduler.PayloadHeartbeat
		if r.State != scheduler.RunDue {
			finished = t.Now
		}
		args = append(args, r.of.ID, database.Micros(r.Slot), database.Micros(r.Last), max(r.Count, 1), string(r.State), database.Clean(r.Reason), database.Micros(r.StartAt),
			r.of.Rules.Overlap == scheduler.OverlapAllow, told, t.Now, finished)
	}
	return t.IDs(fmt.Sprintf(insertRuns, strings.TrimSuffix(strings.Repeat("(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?), ", len(runs)), ", ")), args...)
}

// Begin sets a due run running that has no turn: this engine works on it.
func (s *Scheduler) Begin(ctx context.Context, run scheduler.Run) (bool, error) {
	return database.Write(ctx, s.db, database.Async, "begin a run", func(t *database.Tx) (bool, error) {
		n, err := t.Exec(beginRun, s.owner, t.Now, run.ID, run.Try)
		return n > 0, err
	})
}

// StartBy has due runs of the first try start by the first of some instants, of the second by the second, and
// so on.
func (s *Scheduler) StartBy(ctx context.Context, latest []time.Time) error {
	return s.db.Write(ctx, database.Async, "bring runs back that wait", func(t *database.Tx) error {
		for i, by := range latest {
			if err := t.Do(startBy, by, by, i+1, by); err != nil {
				return err
			}
		}
		return nil
	})
}

// Settle writes what became of runs, each if it is still the same try in the same state.
func (s *Scheduler) Settle(ctx context.Context, settled []scheduler.Settled) error {
	settled = slices.SortedFunc(slices.Values(settled), func(a, b scheduler.Settled) int { return cmp.Compare(a.Run.JobID, b.Run.JobID) })
	return s.db.Write(ctx, database.Async, "settle runs", func(t *database.Tx) error {
		for i := range settled {
			if err := settle(t, settled[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func settle(t *database.Tx, s scheduler.Settled) error {
	jobs, err := lockAll(t, []int64{s.Run.JobID})
	if err != nil {
		return err
	}
	is := jobs[s.Run.JobID].State
	if s.State == scheduler.RunDue && is != scheduler.JobActive && is != scheduler.JobDone { // nothing of it is tried again
		s.State, s.Reason, s.RetryAt = scheduler.RunFailed, string(is)+": "+s.Reason, time.Time{}
	}
	try, finished := s.Run.Try, any(t.Now)
	if s.State == scheduler.RunDue {
		try, finished = try+1, nil
	}
	n, err := t.Exec(settleRun, s.State, s.Reason, try, s.RetryAt, finished, s.Run.ID, s.Run.Try, s.Run.State)
	if err != nil || n == 0 {
		return err
	}
	job, seen := s.Run.JobID, database.Clean(s.Seen)
	if err := t.Do(settleJob, s.Failed, s.State == scheduler.RunDone, seen, seen, t.Now, job); err != nil {
		return err
	}
	if !s.Disable && !s.Pause {
		return nil
	}
	stopped := scheduler.JobPaused
	if s.Disable {
		stopped = scheduler.JobDisabled
	}
	return t.Run(
		database.Do(stopJob, stopped, s.Reason, job),
		database.Do(dropDue, string(stopped)+": "+s.Reason, t.Now, job),
	)
}

// Told marks missed runs as told: there is nobody to tell.
func (s *Scheduler) Told(ctx context.Context, missed []int64) error {
	return s.db.Write(ctx, database.Async, "note who was told", func(t *database.Tx) error {
		_, err := Tell(t, missed)
		return err
	})
}

// Tell marks missed runs as told. False: one of them was, and none is marked.
func Tell(t *database.Tx, missed []int64) (bool, error) {
	if len(missed) == 0 {
		return true, nil
	}
	marks, args := database.In(missed)
	untold, err := t.IDs(t.Locked(fmt.Sprintf(lockUntold, marks)), args...)
	if err != nil || len(untold) < len(missed) {
		return false, err
	}
	return true, t.Do(fmt.Sprintf(setTold, marks), args...)
}

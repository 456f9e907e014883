package scheduler

import (
	"context"
	"time"
)

// Store keeps jobs and runs. Every write is one transaction, conditional on what the caller knows;
// instants are compared with the database's clock.
type Store interface {
	Jobs
	Runs
	Missed
}

// Jobs are claimed when they are due.
type Jobs interface {
	// DueJobs are active jobs within reach whose Due has come by the database's clock, now, the longest
	// waiting first, at most limit. Next is when the next one after them is due; zero: none is.
	DueJobs(ctx context.Context, limit int, of Reach) (jobs []DueJob, now, next time.Time, err error)
	// RunningSince is from when on, by the database's clock, this engine or one that runs at the same time has run.
	RunningSince(ctx context.Context) (time.Time, error)
	// JobsAhead are active jobs that had a run end after now, which they can only by a clock that was set back since; those
	// behind the number after, at most limit.
	JobsAhead(ctx context.Context, now time.Time, after int64, limit int) ([]Job, error)
	// Claim claims slots, each if its job is still in the version of the claim: with what others claimed it does nothing.
	Claim(ctx context.Context, claims []Claim) error
}

// Runs are started, and settled once they have ended.
type Runs interface {
	// StartBy has due runs of the first try start by the first of some instants, of the second by the second, and so on. What
	// nothing comes after waits for its slot.
	StartBy(ctx context.Context, latest []time.Time) error
	// DueRuns are runs within reach in state due that are to be started by now, with their jobs, the longest
	// waiting first. Those that wait for a former run of their job to end are left out, unless its Overlap
	// is allow. Next is when the next one is; zero: none.
	DueRuns(ctx context.Context, limit int, of Reach) (runs []DueRun, next time.Time, err error)
	// Begin sets a due run running that has no turn: this engine works on it. False: it is not due any more.
	Begin(ctx context.Context, run Run) (bool, error)
	// EndedRuns are running runs whose turns have ended, or whose engines are dead. Open is how many
	// others run.
	EndedRuns(ctx context.Context, limit int) (ended []EndedRun, open int, err error)
	// Settle writes what became of runs, each if it is still the same try in the same state.
	Settle(ctx context.Context, settled []Settled) error
}

// Missed are the runs of which their jobs' owners are told.
type Missed interface {
	// Untold are missed stretches of which their jobs' owner was not told yet, of one owner; Teller.Tell
	// marks them. Those of the last seconds are left out, so that one message says them all.
	Untold(ctx context.Context, of Reach) ([]DueRun, error)
	// Told marks missed runs as told: there is nobody to tell.
	Told(ctx context.Context, missed []int64) error
}

// Reach is what an engine claims and starts: maintenance, and jobs that speak in its channels.
type Reach struct{ Channels []string }

// A DueJob is a job whose slot has come.
type DueJob struct {
	Job  Job
	Open int // how many runs of it are open
}

// A Claim is what becomes of a job's slots up to now, in one transaction: what Decide says. The job's Runs
// grow by those of its runs that are due.
type Claim struct {
	Job Job // as it was read
	// Slot and Due are the job's next; zero: none is left, and the job is done.
	Slot, Due time.Time
	Runs      []Run // due, missed or skipped
	// Disable: its spec cannot be reckoned with any more, and it is disabled for that reason.
	Disable string
}

// A DueRun is a run that is to be started.
type DueRun struct {
	Job Job
	Run Run
}

// An EndedRun is a run whose work is over.
type EndedRun struct {
	Job     Job
	Run     Run
	Ended   string // how its turn ended, one of EndedDone and so on
	Outcome string // of the turn
	// Final: another try would only fail in the same way, or do a second time what the turn did.
	Final bool
	// Seen is what a heartbeat has seen once the run is done.
	Seen string
}

// Settled is what became of a run.
type Settled struct {
	Run    Run // as it was read
	State  RunState
	Reason string
	// RetryAt is when the next try (one more than Run.Try) is to be started, with State RunDue.
	RetryAt time.Time
	// Failed adds to the job's failures in a row; a run that is done ends them.
	Failed bool
	// Disable: the job is disabled, for Reason.
	Disable bool
	// Pause: the job is paused for Reason.
	Pause bool
	// Seen is what a heartbeat saw; empty: as before.
	Seen string
}

// A Starter starts runs.
type Starter interface {
	// Start puts the work of a run into the database under run.Key, in one transaction that sets the run
	// running (or done, where there is no turn), so that repeating it is harmless. Else it returns why the run is not
	// started. An error says that nobody knows, or the database cannot: it is tried again.
	Start(ctx context.Context, run DueRun) (NotStarted, error)
}

// NotStarted says why a run was not started; the zero value: it was.
type NotStarted struct {
	State  RunState // skipped or failed; done: there was nothing to do
	Reason string
	// Pause: the job is paused for Reason, and an admin notified: its owner may not any more.
	Pause bool
	// Seen is what a heartbeat saw; empty: as before.
	Seen string
}

// A Teller says what nobody waits for.
type Teller interface {
	// Tell says something to a person, once by its key; the missed runs are marked as told by the same
	// transaction. False: there is no chat to say it in.
	Tell(ctx context.Context, person, key, text string, missed ...int64) (bool, error)
	// Warn notifies the admins of what became of a job.
	Warn(ctx context.Context, job Job, text string)
}

// A Maintainer does what the program's own jobs of payload maintenance are for.
type Maintainer interface {
	// Maintain does one pass of what job.Name says. An error is tried again, as that of any run.
	Maintain(ctx context.Context, job *Job) (Maintained, error)
}

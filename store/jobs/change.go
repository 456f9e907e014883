package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"switchboard/agent/tools"
	"switchboard/internal/words"
	"switchboard/router/core"
	"switchboard/router/jobs"
	"switchboard/scheduler"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/sessions"
)

// mostJobs is how many jobs of a person may be open: a program that makes them by mistake has an end.
const mostJobs = 200

const (
	insertJob = `
		INSERT INTO jobs (owner, name, payload, text, spec, rules, conversation_id, taint, state, slot, due_at, seen, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'active', ?, ?, ?, ?, ?) RETURNING id`
	setJob = `
		UPDATE jobs SET name = ?, text = ?, spec = ?, rules = ?, conversation_id = coalesce(?, conversation_id), taint = ?, state = ?, reason = ?,
			slot = ?, due_at = ?, failures = ?, version = version + 1, updated_at = ?
		WHERE id = ?`
	countJobs = `SELECT count(*) FROM jobs WHERE owner = ? AND state NOT IN ('done', 'removed')`
	// unskip: whoever gives a job a time that they had skipped wants it after all.
	unskip   = `DELETE FROM runs WHERE job_id = ? AND slot = ? AND state = 'skipped' AND reason = 'asked'`
	hasRow   = `SELECT 1 FROM runs WHERE job_id = ? AND slot = ?`
	openRuns = `SELECT count(*) FROM runs WHERE job_id = ? AND state IN ('due', 'running')`
)

// Change makes, changes or ends a job. What a change of its state leaves behind of runs that were claimed
// and not started does not start any more.
func Change(t *database.Tx, c *jobs.Change) (a audit.Entry, err error) {
	job, err := jobToChange(t, c)
	if err != nil {
		return a, err
	}
	was := job.State
	change := map[jobs.ChangeKind]func(*database.Tx, *jobs.Change, *scheduler.Job) error{
		jobs.AddJob: add, jobs.EditJob: edit, jobs.PauseJob: pause, jobs.ResumeJob: resume,
		jobs.RemoveJob: remove, jobs.SkipJob: skip, jobs.RunJob: runNow, jobs.SnoozeJob: snooze,
	}[c.Kind]
	if change == nil {
		return a, fmt.Errorf("%q is nothing to do with a job", c.Kind)
	}
	if err := change(t, c, job); err != nil {
		return a, err
	}
	if job.State != was && job.State != scheduler.JobActive {
		if err := t.Do(dropDue, job.State, t.Now, job.ID); err != nil {
			return a, err
		}
	}
	if c.Done, err = findJob(t, oneJob, job.ID, ""); err != nil {
		return a, err
	}
	return audit.Entry{Outcome: string(c.Done.State), Data: map[string]any{
		"was": was, "owner": c.Done.Owner, "payload": c.Done.Payload, "spec": c.Done.Spec, "target": c.Done.Target,
	}}, nil
}

// jobToChange is the job of a change, which stays as it is to the end of the transaction; of one that
// makes a job it is that one.
func jobToChange(t *database.Tx, c *jobs.Change) (*scheduler.Job, error) {
	if c.Kind == jobs.AddJob {
		if c.Job == nil {
			return nil, errors.New("add a job: there is none")
		}
		job := *c.Job
		return &job, nil
	}
	if _, err := lockAll(t, []int64{c.ID}); err != nil {
		return nil, err
	}
	job, err := findJob(t, oneJob, c.ID, c.Of)
	if err == nil && job.State == scheduler.JobRemoved && c.Kind != jobs.SnoozeJob {
		err = core.ErrNotFound
	}
	return job, err
}

func cannot(job *scheduler.Job, why string) error {
	return &core.StateError{Sentence: fmt.Sprintf("Job %d %s.", job.ID, why)}
}

// arm sets the job's next slot, which there has to be.
func arm(t *database.Tx, job *scheduler.Job) error {
	if job.Spec.Every > 0 && job.Spec.Anchor.IsZero() {
		job.Spec.Anchor = at(t)
	}
	if err := job.Spec.Check(); err != nil {
		return &core.StateError{Sentence: "That is no time for a job: " + err.Error() + "."}
	}
	if most := job.Spec.Most; most > 0 && job.Runs >= most {
		return cannot(job, fmt.Sprintf("has run %s, and this allows %d: allow more", words.Count(job.Runs, "time"), most))
	}
	if job.Arm(at(t)); job.Slot.IsZero() {
		return noneLeft
	}
	return nil
}

var noneLeft error = &core.StateError{Sentence: "That time has passed, and no later one is left: give it another one."}

// saved writes what a change may set of a job.
func saved(t *database.Tx, job *scheduler.Job, conversation any) error {
	return t.Do(setJob, job.Name, job.Text, database.JSONText(job.Spec), database.JSONText(job.Rules), conversation, job.Taint,
		job.State, job.Reason, job.Slot, job.Due, job.Failures, t.Now, job.ID)
}

// target finds or makes where a job speaks; nil: it is not said.
func target(t *database.Tx, c *jobs.Change) (conversation any, err error) {
	if c.Target == nil {
		return nil, nil
	}
	p, err := sessions.Place(t, sessions.CleanConversation(*c.Target))
	return p.Id, err
}

func add(t *database.Tx, c *jobs.Change, job *scheduler.Job) error {
	if c.Target == nil && job.Payload != scheduler.PayloadMaintenance {
		return &core.StateError{Sentence: "A job needs a chat to speak in: say in which, or make it there."}
	}
	if job.Owner != "" {
		if person, err := sessions.Person(t, database.Clean(job.Owner)); err != nil {
			return err
		} else if person == nil {
			return &core.StateError{Sentence: "Nobody here is called " + job.Owner + "."}
		}
		if err := roomForJob(t, job.Owner); err != nil {
			return err
		}
	}
	if err := arm(t, job); err != nil {
		return err
	}
	conversation, err := target(t, c)
	if err != nil {
		return err
	}
	return insert(t, job, conversation)
}

// insert makes a job that is active.
func insert(t *database.Tx, job *scheduler.Job, conversation any) (err error) {
	job.State = scheduler.JobActive
	job.ID, err = t.Insert(insertJob, job.Owner, job.Name, job.Payload, job.Text, database.JSONText(job.Spec), database.JSONText(job.Rules),
		conversation, job.Taint, job.Slot, job.Due, job.Seen, t.Now, t.Now)
	return err
}

// roomForJob refuses a person one more job who has mostJobs.
func roomForJob(t *database.Tx, owner string) error {
	var open int
	if _, err := t.Row(countJobs, []any{owner}, &open); err != nil || open < mostJobs {
		return err
	}
	return &core.StateError{Sentence: fmt.Sprintf("%s has %d jobs, and there can be no more: delete some first.", owner, open)}
}

func edit(t *database.Tx, c *jobs.Change, job *scheduler.Job) error {
	if c.Job == nil {
		return errors.New("edit a job: nothing is said of it")
	}
	if c.Job.Version != job.Version { // what it was edited from would come back
		return cannot(job, "was changed meanwhile: look at it, and say it again")
	}
	job.Name, job.Text, job.Rules = c.Job.Name, c.Job.Text, c.Job.Rules
	job.Taint = string(tools.Taint(job.Taint).Join(tools.Taint(c.Job.Taint)))
	changed := c.Job.Spec != job.Spec // else its slots stay as they are
	job.Spec = c.Job.Spec
	var err error
	switch {
	case changed && c.NewTime:
		if job.State == scheduler.JobDone {
			job.State = scheduler.JobActive
		}
		if err = arm(t, job); err == nil {
			err = t.Do(unskip, job.ID, job.Slot)
		}
	case changed && job.State != scheduler.JobDone: // what is over stays so
		err = rearm(t, job)
	}
	if err != nil {
		return err
	}
	conversation, err := target(t, c)
	if err != nil {
		return err
	}
	return saved(t, job, conversation)
}

// rearm arms a job that was given no new time: a slot that has its row, as one that was skipped, does not come again.
func rearm(t *database.Tx, job *scheduler.Job) error {
	if err := arm(t, job); err != nil {
		return err
	}
	for ; !job.Slot.IsZero(); job.Arm(job.Slot) {
		if had, err := t.Has(hasRow, job.ID, job.Slot); err != nil || !had {
			return err
		}
	}
	return noneLeft
}

func pause(t *database.Tx, _ *jobs.Change, job *scheduler.Job) error {
	if job.State != scheduler.JobActive {
		return cannot(job, "is "+string(job.State)+" already")
	}
	job.State, job.Reason = scheduler.JobPaused, ""
	return saved(t, job, nil)
}

// resume goes on with the next slot: those that passed meanwhile were not wanted, and are not missed.
func resume(t *database.Tx, _ *jobs.Change, job *scheduler.Job) error {
	if job.State != scheduler.JobPaused && job.State != scheduler.JobDisabled {
		return cannot(job, "is "+string(job.State)+", not paused")
	}
	job.State, job.Reason, job.Failures = scheduler.JobActive, "", 0
	if err := rearm(t, job); err != nil {
		return err
	}
	return saved(t, job, nil)
}

func remove(t *database.Tx, _ *jobs.Change, job *scheduler.Job) error {
	if job.Payload == scheduler.PayloadMaintenance {
		return cannot(job, "is the program's own: pause it instead")
	}
	job.State, job.Reason, job.Slot, job.Due = scheduler.JobRemoved, "", time.Time{}, time.Time{}
	return saved(t, job, nil)
}

func skip(t *database.Tx, _ *jobs.Change, job *scheduler.Job) error {
	if job.State != scheduler.JobActive {
		return cannot(job, "is "+string(job.State)+": nothing is next")
	}
	_, err := putRuns(t, []newRun{{scheduler.Run{Slot: job.Slot, Last: job.Slot, State: scheduler.RunSkipped, Reason: "asked"}, job}})
	if err != nil {
		return err
	}
	if job.Arm(job.Slot); job.Slot.IsZero() {
		job.State = scheduler.JobDone
	}
	return saved(t, job, nil)
}

func runNow(t *database.Tx, c *jobs.Change, job *scheduler.Job) error {
	var open int
	if _, err := t.Row(openRuns, []any{job.ID}, &open); err != nil {
		return err
	}
	switch {
	case open > 0 && cmp.Or(job.Rules.Overlap, scheduler.OverlapSkip) == scheduler.OverlapSkip:
		return cannot(job, "is running, or about to: see its history")
	case open >= scheduler.MostOpen:
		return cannot(job, fmt.Sprintf("has %d runs that have not ended: see its history", open))
	}
	due, err := putRuns(t, []newRun{{scheduler.Run{Slot: at(t), Last: at(t), State: scheduler.RunDue, StartAt: at(t)}, job}})
	if err == nil && len(due) == 0 {
		err = cannot(job, "began this very moment")
	}
	if err == nil {
		c.Run = due[0]
	}
	return err
}

// snooze makes a one-shot with the same text. Its time is in UTC where the local one is there twice.
func snooze(t *database.Tx, c *jobs.Change, job *scheduler.Job) error {
	const local = "2006-01-02T15:04:05"
	until := c.Until.Truncate(time.Second)
	spec := scheduler.Spec{Zone: job.Spec.Zone}
	if zone, err := time.LoadLocation(spec.Zone); err == nil {
		spec.At = until.In(zone).Format(local)
	}
	if slot, ok := spec.Next(at(t)); !ok || !slot.Equal(until) {
		spec = scheduler.Spec{At: until.UTC().Format(local), Zone: "UTC"}
	}
	again := scheduler.Job{
		Owner: job.Owner, Name: job.Name, Payload: job.Payload, Text: job.Text, Spec: spec, Rules: job.Rules, Taint: job.Taint,
	}
	if err := roomForJob(t, again.Owner); err != nil {
		return err
	}
	if err := arm(t, &again); err != nil {
		return err
	}
	var conversation int64
	if _, err := t.Row(`SELECT coalesce(conversation_id, 0) FROM jobs WHERE id = ?`, []any{job.ID}, &conversation); err != nil {
		return err
	}
	*job = again
	return insert(t, job, sessions.OrNull(conversation))
}

package jobs

import (
	"context"

	"switchboard/channels"
	"switchboard/scheduler"
	"switchboard/store/database"
	"switchboard/store/sessions"
)

const (
	ownJobs    = `SELECT id, name, payload, spec, rules, coalesce(conversation_id, 0) AS conversation_id, state FROM jobs WHERE owner = '' ORDER BY id`
	makeOwnJob = `
		INSERT INTO jobs (owner, name, payload, text, spec, rules, conversation_id, state, slot, due_at, created_at, updated_at)
		VALUES ('', ?, ?, ?, ?, ?, ?, 'active', ?, ?, ?, ?) ON CONFLICT (name) WHERE owner = '' DO NOTHING`
	setOwnJob = `
		UPDATE jobs SET spec = ?, rules = ?, conversation_id = ?, state = 'active', reason = '', failures = 0, slot = ?, due_at = ?, version = version + 1, updated_at = ?
		WHERE id = ?`
	endOwnJob  = `UPDATE jobs SET state = 'removed', slot = 0, due_at = 0, version = version + 1, updated_at = ? WHERE id = ? AND state <> 'removed'`
	endOwnRuns = `UPDATE runs SET state = 'skipped', reason = 'removed', finished_at = ? WHERE job_id = ? AND state = 'due'`
)

// KeepOwn makes the program's own jobs those of list, each once by its name whichever engines do it. One of
// maintenance stays as an admin has set it, paused or at another time; the heartbeat is as the settings say.
// One that was disabled begins again.
func (r *Store) KeepOwn(ctx context.Context, list []scheduler.Job) error {
	return r.Write(ctx, database.Async, "keep the program's own jobs", func(t *database.Tx) error {
		rows, err := database.Select[ownJob](t, t.Locked(ownJobs))
		if err != nil {
			return err
		}
		there := map[string]ownJob{}
		for _, row := range rows {
			there[row.Name] = row
		}
		for i := range list {
			if err := keepOwn(t, list[i], there[list[i].Name]); err != nil {
				return err
			}
			delete(there, list[i].Name)
		}
		for _, row := range there {
			if err := t.Run(database.Do(endOwnJob, t.Now, row.ID), database.Do(endOwnRuns, t.Now, row.ID)); err != nil {
				return err
			}
		}
		return nil
	})
}

// An ownJob is one of the program's own, as it is.
type ownJob struct {
	ID, ConversationID                int64
	Name, Payload, Spec, Rules, State string
}

// keepOwn makes a job, or makes what there is of it like it.
func keepOwn(t *database.Tx, job scheduler.Job, was ownJob) error {
	var conversation int64
	if job.Target != (scheduler.Target{}) {
		p, err := sessions.Place(t, sessions.CleanConversation(channels.Conversation{Channel: job.Target.Channel, ID: channels.ConversationID(job.Target.Conversation)}))
		if err != nil {
			return err
		}
		conversation = p.Id
	}
	if err := job.Spec.Check(); err != nil {
		return err
	}
	job.Arm(database.Instant(t.Now))
	spec, rules, to := database.JSONText(job.Spec), database.JSONText(job.Rules), sessions.OrNull(conversation)
	over := was.State == string(scheduler.JobRemoved) || was.State == string(scheduler.JobDisabled)
	same := !over &&
		(job.Payload == scheduler.PayloadMaintenance || was.Spec == spec && was.Rules == rules && was.ConversationID == conversation)
	var err error
	switch {
	case was.ID == 0:
		err = t.Do(makeOwnJob, job.Name, job.Payload, job.Text, spec, rules, to, job.Slot, job.Due, t.Now, t.Now)
	case !same:
		err = t.Do(setOwnJob, spec, rules, to, job.Slot, job.Due, t.Now, was.ID)
	}
	return err
}

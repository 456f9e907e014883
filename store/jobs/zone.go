package jobs

import (
	"errors"
	"time"

	"switchboard/router/core"
	"switchboard/router/sessions"
	"switchboard/scheduler"
	"switchboard/store/database"
)

const (
	setZone = `UPDATE people SET timezone = ? WHERE name = ?`
	zoneOf  = `SELECT timezone FROM people WHERE name = ?`
)

// SetZone gives somebody a time zone of their own, and moves their jobs to it of which nobody said the zone. core.ErrNotFound: there is nobody
// of that name.
func SetZone(t *database.Tx, c *sessions.Change) error {
	if err := t.Must(core.ErrNotFound, zoneOf, []any{c.Person}, &c.Was); err != nil {
		return err
	}
	if err := t.Do(setZone, c.To, c.Person); err != nil {
		return err
	}
	return MoveTo(t, c)
}

// MoveTo moves the jobs of somebody whose zone nobody said to the one that was told now, which is theirs from then on. One that would be over there is
// due at once.
func MoveTo(t *database.Tx, c *sessions.Change) error {
	ids, err := t.IDs(assumedJobs, c.Person)
	if err != nil || len(ids) == 0 {
		return err
	}
	if err := t.Do(setZone, c.To, c.Person); err != nil {
		return err
	}
	if _, err := lockAll(t, ids); err != nil {
		return err
	}
	for _, id := range ids {
		job, err := findJob(t, oneJob, id, "")
		if err == nil {
			err = job.Spec.Move(c.To)
		}
		if err != nil {
			return err
		}
		if job.State == scheduler.JobActive {
			err = arm(t, job)
			if errors.Is(err, noneLeft) && job.Spec.At != "" {
				job.Spec.At = at(t).Add(time.Second).UTC().Format(time.RFC3339)
				err = arm(t, job)
			}
		}
		if err == nil {
			err = saved(t, job, nil)
		}
		if err != nil {
			return err
		}
	}
	c.Moved = ids
	return nil
}

package store

import (
	"context"
	"fmt"
	"time"

	"switchboard/store/database"
	"switchboard/store/jobs"
	"switchboard/store/people"
)

// Write runs statements in one transaction.
func (db *DB) WriteText(ctx context.Context, full bool, statements ...string) error {
	return db.WriteFunc(ctx, full, func(exec func(string) error) error {
		for _, s := range statements {
			if err := exec(s); err != nil {
				return err
			}
		}
		return nil
	})
}

// WriteFunc runs fn in one transaction.
func (db *DB) WriteFunc(ctx context.Context, durable bool, fn func(exec func(string) error) error) error {
	mode := database.Async
	if durable {
		mode = database.Durable
	}
	return db.Write(ctx, mode, "test", func(t *database.Tx) error {
		return fn(func(s string) error {
			_, err := t.Exec(s)
			return err
		})
	})
}

// SetNow replaces the clock of instants in rows.
func (db *DB) SetNow(now func() time.Time) { db.Now = now }

// Join makes a person another one, as a link code does.
func (r *Router) Join(ctx context.Context, maker, former string) error {
	return r.db.Write(ctx, database.Durable, "join", func(t *database.Tx) error { return people.JoinRows(t, maker, former) })
}

// DueQueries are the statements by which the scheduler looks, by a name.
func DueQueries() map[string]string {
	q := jobs.Queries()
	reach := "(" + q["ofMaintenance"] + " OR j.conversation_id IS NULL OR c.channel IN (?))"
	return map[string]string{
		"jobs due": literal(fmt.Sprintf(q["jobsDue"], reach), "1", "'tg'"), "maintenance due": fmt.Sprintf(q["jobsDue"], q["ofMaintenance"]), "runs due": literal(fmt.Sprintf(q["runsDue"], reach), "1", "'tg'"),
		"next job": q["nextJob"], "ahead": q["jobsAhead"], "next maintenance": q["nextOwn"], "next run": q["nextRun"], "running": q["countRunning"],
		"untold": literal(fmt.Sprintf(q["runsUntold"], reach), "1", "'tg'", "'tg'"), "history": q["runsOf"], "list": q["openJobs"], "list of one": literal(q["jobsOf"], "'a'"), "notifications": literal(q["listNotifications"], "'a'", "1", "1", "TRUE"),
	}
}

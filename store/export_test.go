package store

import (
	"context"
	"fmt"
	"time"

	"switchboard/scheduler"
)

// Write runs statements in one transaction.
func (db *DB) Write(ctx context.Context, full bool, statements ...string) error {
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
	mode := rides
	if durable {
		mode = full
	}
	return db.write(ctx, mode, "test", func(t *tx) error {
		return fn(func(s string) error {
			_, err := t.Exec(s)
			return err
		})
	})
}

// SetNow replaces the clock of instants in rows.
func (db *DB) SetNow(now func() time.Time) { db.now = now }

// Join makes a person another one, as a link code does.
func (r *Router) Join(ctx context.Context, maker, former string) error {
	return r.db.write(ctx, full, "join", func(t *tx) error { return t.joinRows(maker, former) })
}

// DueQueries are the statements by which the scheduler looks, by a name.
func DueQueries() map[string]string {
	reach, _ := within(scheduler.Reach{Channels: []string{"tg"}})
	return map[string]string{
		"jobs due": literal(fmt.Sprintf(jobsDue, reach), "1", "'tg'"), "maintenance due": fmt.Sprintf(jobsDue, ofMaintenance), "runs due": literal(fmt.Sprintf(runsDue, reach), "1", "'tg'"),
		"next job": nextJob, "ahead": jobsAhead, "next maintenance": nextOwn, "next run": nextRun, "running": countRunning,
		"untold": literal(fmt.Sprintf(runsUntold, reach), "1", "'tg'", "'tg'"), "history": runsOf, "list": openJobs, "list of one": literal(jobsOf, "'a'"), "notifications": literal(listNotifications, "'a'", "1", "1", "TRUE"),
	}
}

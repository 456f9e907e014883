package store

import (
	"context"
	"time"

	"switchboard/store/database"
	"switchboard/store/engines"
)

const leaseRun = "run" // the kind of the leases of the program's own work

// lease takes a lease of the program's own work; ok: no other engine has it.
func (db *DB) lease(ctx context.Context, name string, owner int64) (fence int64, ok bool, err error) {
	err = db.Write(ctx, db.ForLeases(), "lease "+name, func(t *database.Tx) error {
		fence, ok, err = engines.Take(t, leaseRun, name, owner)
		return err
	})
	return fence, ok, err
}

// endLease gives a lease back, whatever ctx is.
func (db *DB) endLease(ctx context.Context, name string, fence int64) {
	giving, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := db.Write(giving, db.ForLeases(), "give back "+name, func(t *database.Tx) error {
		return engines.Release(t, leaseRun, name, fence)
	}); err != nil {
		db.Log.WarnContext(ctx, "a lease was not given back", "lease", name, "error", err)
	}
}

// clocksApart is how far our clock may be from the database's for us to say what is old.
const clocksApart = time.Hour

// knowsTheTime says whether our clock is about the database's. What it finds is in the log
// once.
func (db *DB) knowsTheTime(ctx context.Context) (bool, error) {
	if !db.PG() {
		return true, nil
	}
	theirs, err := database.Value[time.Time](ctx, db.DB, "read the clock", `SELECT sb_clock()`)
	if err != nil {
		return false, err
	}
	ahead := db.Now().Sub(theirs)
	if ahead.Abs() <= clocksApart {
		db.astray.Store(false)
		return true, nil
	}
	if !db.astray.Swap(true) {
		db.Log.ErrorContext(ctx, "the clocks of this machine and of the database differ; old rows are not cleared away until one of them is set right",
			"ahead", ahead.Round(time.Second).String())
	}
	return false, nil
}

// Optimize has PostgreSQL renew what it knows of its tables. SQLite gives back what its write-ahead log took of the
// disk; it is told nothing of its tables: what it finds in small ones would lead it past the indexes of those
// that have grown since, and our queries are written for their indexes.
func (db *DB) Optimize(ctx context.Context) error {
	if !db.PG() {
		return db.ShrinkLog(ctx)
	}
	return db.Write(ctx, database.Async, "optimize", func(t *database.Tx) error {
		return t.Do(`ANALYZE`)
	})
}

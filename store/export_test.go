package store

import (
	"context"
	"errors"
	"time"
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
			_, err := t.exec(s)
			return err
		})
	})
}

// Count runs a query that gives one number.
func (db *DB) Count(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = db.read(ctx, "count", func(t *tx) error {
		_, err := t.row(query, args, &n)
		return err
	})
	return n, err
}

// SetNow replaces the clock of instants in rows.
func (db *DB) SetNow(now func() time.Time) { db.now = now }

// Renew renews the owner once.
func (e *Engine) Renew(ctx context.Context) error { return e.renew(ctx) }

// Aged pretends that the latest renewal was begun that long ago.
func (e *Engine) Aged(d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.renewed = e.renewed.ago(d)
}

// Slept pretends that the wall clock went on by so much while this process did not run.
func (e *Engine) Slept(d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	clock := e.clock
	e.clock = func() moment {
		m := clock()
		m.wall = m.wall.Add(d)
		return m
	}
}

// The rules of Safe on PostgreSQL.
var (
	SafeAfter = safeAfter
	Leapt     = leapt
)

// Abandon lets go of every lock as a killed process does, and waits until PostgreSQL has
// seen it.
func (e *Engine) Abandon() error {
	e.lose()
	e.dropLock()
	for end := time.Now().Add(5 * time.Second); e.db.PG() && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if n, err := e.db.Count(context.Background(), "SELECT CASE WHEN sb_locked(?) THEN 1 ELSE 0 END", e.id); n == 0 || err != nil {
			break
		}
	}
	err := e.file.release(false)
	if e.lock != nil {
		err = errors.Join(err, e.lock.f.Close())
	}
	return err
}

// Die lets go of every lock as a killed process does, and lets others find it dead.
func (e *Engine) Die(ctx context.Context) error {
	if err := e.Abandon(); err != nil || !e.db.PG() {
		return err
	}
	return e.db.write(ctx, full, "die", func(t *tx) error {
		_, err := t.exec("UPDATE owners SET declared_at = sb_clock() WHERE id = ?", e.id)
		return err
	})
}

// Look looks once for dead engines.
func (e *Engine) Look(ctx context.Context) error {
	_, err := e.look(ctx)
	return err
}

// Looked pretends that the latest look was that long ago.
func (e *Engine) Looked(d time.Duration) {
	for id, s := range e.seen {
		s.since = s.since.Add(-d)
		e.seen[id] = s
	}
}

// CutLock ends the lock connection on the server's side, as an administrator does.
func (e *Engine) CutLock(ctx context.Context) error {
	return e.db.write(ctx, full, "cut", func(t *tx) error {
		_, err := t.exec("SELECT pg_terminate_backend(l) FROM sb_lockers(?) l", e.id)
		return err
	})
}

// LostFor pretends that the lock was lost that long ago.
func (e *Engine) LostFor(d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lostAt = e.clock().ago(d)
}

func (m moment) ago(d time.Duration) moment { return moment{m.ran.Add(-d), m.wall.Add(-d)} }

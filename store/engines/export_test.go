package engines

import (
	"context"
	"errors"
	"time"

	"switchboard/store/database"
)

var ErrLost = errLost

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
	for end := time.Now().Add(time.Minute); e.db.PG() && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		var locked bool
		err := e.db.Read(context.Background(), "look", func(t *database.Tx) error {
			_, err := t.Row("SELECT sb_locked(?)", []any{e.id}, &locked)
			return err
		})
		if !locked || err != nil {
			break
		}
	}
	err := e.file.release(false)
	if e.lock != nil {
		err = errors.Join(err, e.lock.f.Close())
	}
	return err
}

// Look looks once for dead engines.
func (e *Engine) Look(ctx context.Context) error {
	_, err := e.poll(ctx)
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
	return e.db.Write(ctx, database.Durable, "cut", func(t *database.Tx) error {
		_, err := t.Exec("SELECT pg_terminate_backend(l) FROM sb_lockers(?) l", e.id)
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

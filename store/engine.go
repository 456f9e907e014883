package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// How long an owner lives without renewal, by DESIGN §6.
const (
	renewEvery   = 5 * time.Second
	ownerExpires = 15 * time.Second
	safetyMargin = 3 * time.Second
	sweepEvery   = time.Hour
)

// ErrEngineLost is returned by Engine.Run when the owner row is not alive any
// more: somebody declared this engine dead. It must stop.
var ErrEngineLost = errors.New("this engine was declared dead; stop and start it again")

const (
	insertOwner = `INSERT INTO owners (state, host, pid, started_at, renewed_at) VALUES ('alive', ?, ?, ?, ?) RETURNING id`
	// On SQLite the lock file says that nobody else runs.
	voidOwners = `UPDATE owners SET state = 'voided', ended_at = ? WHERE state = 'alive' AND id < ?`
	renewOwner = `
		UPDATE owners SET
			renewed_at = CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint),
			expires_at = CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint) + ?
		WHERE id = ? AND state = 'alive'`
	endOwner  = `UPDATE owners SET state = 'ended', ended_at = ? WHERE id = ? AND state = 'alive'`
	freeOwned = `UPDATE leases SET owner = NULL WHERE owner = ?`
)

// An Engine is this program as one that claims work: a row in owners that leases
// name. Its methods may be called from several goroutines at once.
type Engine struct {
	db   *DB
	log  *slog.Logger
	id   int64
	lock *lockFile // SQLite only

	mu      sync.Mutex
	renewed time.Time // when the latest renewal that succeeded was begun
	lost    bool
}

// StartEngine makes this program an engine and brings the schema up to date. On
// SQLite it first takes the lock file beside the database (ErrEngineRunning while
// another process has it), and it voids all older owners at once, so that a
// restart never waits for its own leases. On PostgreSQL the owner lives 15 s
// unless Run renews it. The caller closes it.
func (db *DB) StartEngine(ctx context.Context) (*Engine, error) { return db.startEngine(ctx, false) }

// StartPassingEngine is StartEngine for a program that will end by itself in a
// moment; others that find the database held learn it from EngineRunningError.
func (db *DB) StartPassingEngine(ctx context.Context) (*Engine, error) {
	return db.startEngine(ctx, true)
}

func (db *DB) startEngine(ctx context.Context, passing bool) (*Engine, error) {
	e := &Engine{db: db, log: db.log}
	if db.lite != nil {
		var err error
		if e.lock, err = takeLockFile(db.lite.path+".lock", passing); err != nil {
			return nil, err
		}
	}
	// Under the lock, so that nobody changes the schema below a running engine.
	if err := db.Migrate(ctx); err != nil {
		return nil, errors.Join(err, e.lock.release())
	}
	host, _ := os.Hostname() // a label only
	begun := time.Now()
	err := db.write(ctx, full, "start engine", func(t *tx) error {
		id, err := t.insert(insertOwner, clean(host), os.Getpid(), t.now, t.now)
		if err != nil {
			return err
		}
		e.id = id
		if t.pg {
			_, err = t.exec(renewOwner, ownerExpires.Microseconds(), id)
			return err
		}
		_, err = t.exec(voidOwners, t.now, id)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, e.lock.release())
	}
	e.renewed = begun
	if err := e.lock.write(e.id); err != nil {
		return nil, errors.Join(err, e.Close(context.WithoutCancel(ctx)))
	}
	return e, nil
}

// ID names the owner row in leases.
func (e *Engine) ID() int64 { return e.id }

// Safe says whether a side effect may begin now. On PostgreSQL it is false from
// 3 s before the owner expires until a renewal succeeds, judged by the wall clock
// and by the time this process ran: a machine that slept is not safe.
func (e *Engine) Safe() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lost {
		return false
	}
	if e.db.lite != nil {
		return e.lock.held()
	}
	now := time.Now()
	return safeAfter(now.Sub(e.renewed), now.Round(0).Sub(e.renewed.Round(0)))
}

// safeAfter says whether an owner is safe when this process ran for so long since
// its renewal, and so much passed by the wall clock.
func safeAfter(ran, wall time.Duration) bool {
	const limit = ownerExpires - safetyMargin
	return ran < limit && wall < limit && wall > -time.Second
}

// Run renews the owner and clears away what has expired, until ctx ends (nil) or
// the owner is not alive any more (ErrEngineLost). It keeps trying while the
// database is away; Safe is false then.
func (e *Engine) Run(ctx context.Context) error {
	renew := time.NewTicker(renewEvery)
	defer renew.Stop()
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-sweep.C:
			if err := e.db.Sweep(ctx); err != nil && ctx.Err() == nil {
				e.log.WarnContext(ctx, "clearing expired rows failed", "error", err)
			}
		case <-renew.C:
			err := e.renew(ctx)
			switch {
			case ctx.Err() != nil:
				return nil
			case errors.Is(err, ErrEngineLost):
				return err
			case err != nil:
				e.log.WarnContext(ctx, "renewing the engine failed", "error", err)
				renew.Reset(time.Second)
			default:
				renew.Reset(renewEvery)
			}
		}
	}
}

func (e *Engine) renew(ctx context.Context) error {
	if e.db.lite != nil {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, renewEvery)
	defer stop()
	begun := time.Now()
	var n int64
	// Durable: an owner must not seem younger after the server's crash.
	err := e.db.write(ctx, full, "renew engine", func(t *tx) (err error) {
		n, err = t.exec(renewOwner, ownerExpires.Microseconds(), e.id)
		return err
	})
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if n == 0 {
		e.lost = true
		return ErrEngineLost
	}
	e.renewed = begun
	return nil
}

// Close ends the owner and gives its leases back. Run must have returned.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.lost = true
	e.mu.Unlock()
	err := e.db.write(ctx, full, "end engine", func(t *tx) error {
		if _, err := t.exec(freeOwned, e.id); err != nil {
			return err
		}
		_, err := t.exec(endOwner, t.now, e.id)
		return err
	})
	if err := errors.Join(err, e.lock.release()); err != nil {
		return fmt.Errorf("engine %d: %w", e.id, err)
	}
	return nil
}

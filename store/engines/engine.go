// Package engines says who works on the database: the row and locks of each engine, how one
// that died is noticed, leases and their fences, and how engines wake each other.
package engines

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"switchboard/internal/retry"
	"switchboard/store/database"
)

// How long an owner lives without renewal.
const (
	renewEvery   = 5 * time.Second
	ownerExpires = 15 * time.Second
	safetyMargin = 3 * time.Second
	// onTime is the longest that two renewals in time lie apart: one that
	// fails is tried again each second.
	onTime = 8 * time.Second
)

// errLost is returned by Engine.Run when the owner row is not there any more:
// somebody ended it. The engine must stop.
var errLost = errors.New("this engine's row in the database was ended; stop and start it again")

const (
	isRestored  = `SELECT 1 WHERE EXISTS (SELECT 1 FROM conversations) AND NOT EXISTS (SELECT 1 FROM owners)`
	insertOwner = `INSERT INTO owners (state, host, pid, started_at, renewed_at) VALUES ('alive', ?, ?, ?, ?) RETURNING id`
	// insertKnown: the number was drawn before, so that nobody sees the row without
	// the locks that go with it.
	insertKnown = `
		INSERT INTO owners (id, state, host, pid, started_at, renewed_at, expires_at, in_time_since)
		VALUES (?, 'alive', ?, ?, ?, sb_clock(), sb_clock() + ?, sb_clock())`
	// selectFirst finds the first engine of a new database. A restored one goes on with the
	// numbers of its backup, and so has none.
	selectFirst = `SELECT started_at FROM owners WHERE id = 1`
	drawOwner   = `SELECT nextval(pg_get_serial_sequence('owners', 'id'))`
	// On SQLite the lock file says that nobody else runs.
	voidOwners = `UPDATE owners SET state = 'voided', ended_at = ? WHERE state = 'alive' AND id < ?`
	// renewOwner says whether others had found the owner dead. What was in the future was
	// written before the clock was set back.
	renewOwner = `
		UPDATE owners o SET renewed_at = sb_clock(), expires_at = sb_clock() + ?, declared_at = NULL,
			in_time_since = CASE WHEN was.declared_at IS NOT NULL OR was.renewed_at < sb_clock() - ?
				OR was.renewed_at > sb_clock() OR o.in_time_since > sb_clock() THEN sb_clock() ELSE o.in_time_since END
		FROM (SELECT id, declared_at, renewed_at FROM owners WHERE id = ? AND state = 'alive' FOR UPDATE) was
		WHERE o.id = was.id RETURNING was.declared_at IS NOT NULL`
	endOwner  = `UPDATE owners SET state = 'ended', ended_at = ? WHERE id = ? AND state = 'alive'`
	freeOwned = `UPDATE leases SET owner = NULL WHERE owner = ?`
)

// An Engine is this program as one that claims work: a row in owners that leases
// name. Its methods may be called from several goroutines at once.
type Engine struct {
	db  *database.DB
	log *slog.Logger
	id  int64
	// first is FirstStart.
	first time.Time
	lock  *lockFile  // SQLite only
	file  *ownerFile // nil without a data folder

	clock    func() moment
	seen     map[int64]freeOwner // Run's own, see poll
	unlocked chan struct{}       // the lock connection was lost
	watchers sync.WaitGroup      // of lock connections

	mu      sync.Mutex
	renewed moment // when the latest renewal that succeeded was begun
	lost    bool
	conn    *lockConn // PostgreSQL: holds the advisory lock; nil: nobody does
	lostAt  moment    // since when the lock was not held and renewed under
	guards  map[*guard]struct{}
	watch   *time.Timer // ends the guards in time; nil while there are none
}

// Start makes this program an engine and brings the schema up to date. On
// SQLite it first takes the lock file beside the database (ErrRunning while
// another process has it), and it voids all older owners at once, so that a
// restart never waits for its own leases. On PostgreSQL the owner lives 15 s
// unless Run renews it; owners whose process is surely gone are declared dead at
// once, and a data folder that is not the database's is database.ErrCluster. The caller
// closes it. passing: this program will end by itself in a moment, which others that find
// the database held learn from RunningError.
func Start(ctx context.Context, db *database.DB, passing bool) (_ *Engine, err error) {
	e := &Engine{
		db: db, log: db.Log, clock: now, seen: map[int64]freeOwner{}, unlocked: make(chan struct{}, 1), guards: map[*guard]struct{}{},
	}
	if !db.PG() {
		if e.lock, err = takeLockFile(db.Path()+".lock", passing); err != nil {
			return nil, err
		}
	}
	// Under the lock, so that nobody changes the schema below a running engine.
	if err = db.Migrate(ctx); err != nil {
		return nil, errors.Join(err, e.lock.release())
	}
	if err = e.sayRestored(ctx); err != nil {
		return nil, errors.Join(err, e.lock.release())
	}
	host, _ := os.Hostname() // a label only
	host = strings.ToValidUTF8(host, "")
	if !db.PG() {
		err = e.enlist(ctx, host)
	} else if err = db.JoinCluster(ctx); err == nil {
		err = e.enlistShared(ctx, host)
	}
	if err == nil {
		err = e.lock.write(e.id)
	}
	if err != nil {
		return nil, errors.Join(err, e.Close(context.WithoutCancel(ctx)))
	}
	e.clear(ctx)
	return e, nil
}

// sayRestored logs that the database was restored and no engine was on it since: somebody who
// saw the restore cut off learns that it is whole.
func (e *Engine) sayRestored(ctx context.Context) error {
	restored, err := e.db.ReadRow(ctx, "look whether the database was restored", isRestored, nil)
	if restored {
		e.log.InfoContext(ctx, "the database was restored, and is whole; this is the first start on it")
	}
	return err
}

// enlist makes the row of SQLite's one engine and voids all before it.
func (e *Engine) enlist(ctx context.Context, host string) error {
	err := e.db.Write(ctx, database.Durable, "start engine", func(t *database.Tx) error {
		now := time.Now().UnixMicro()
		id, err := t.Insert(insertOwner, host, os.Getpid(), now, now)
		if err != nil {
			return err
		}
		e.id = id
		return t.Run(database.Row(selectFirst, nil, &e.first), database.Do(voidOwners, now, id))
	})
	if err == nil {
		e.renewed = e.clock()
		e.holdFile(ctx)
	}
	return err
}

// enlistShared makes the row of an engine among several, with its locks taken
// before anybody can see it.
func (e *Engine) enlistShared(ctx context.Context, host string) error {
	id, err := database.Value[int64](ctx, e.db, "number engine", drawOwner)
	if err != nil {
		return err
	}
	e.id = id
	e.holdFile(ctx)
	if err := e.takeLock(false); err != nil {
		return fmt.Errorf("lock engine %d: %w", e.id, database.Explain(err))
	}
	begun := e.clock()
	err = e.db.Write(ctx, database.Durable, "start engine", func(t *database.Tx) error {
		return t.Run(
			database.Do(insertKnown, e.id, host, os.Getpid(), time.Now(), ownerExpires.Microseconds()),
			database.Row(selectFirst, nil, &e.first),
		)
	})
	if err == nil {
		e.begin(begun)
	}
	return err
}

// FirstStart is when the first engine on this database started. It is zero for a restored
// database, and months after that start, when its row is cleared away.
func (e *Engine) FirstStart() time.Time { return e.first }

// ID names the owner row in leases.
func (e *Engine) ID() int64 { return e.id }

// Run renews the owner, finds dead ones and clears away what has expired, until ctx
// ends (nil) or the owner's row is ended (errLost). It keeps trying while the
// database is away; Safe is false then.
func (e *Engine) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var parts sync.WaitGroup
	defer parts.Wait()
	defer stop()
	if e.db.PG() {
		parts.Go(func() { e.keepLock(ctx) })
		parts.Go(func() { e.keepPolling(ctx) })
	}
	for pause := e.untilRenewal(); retry.Sleep(ctx, pause); {
		err := e.renew(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errLost):
			return err
		case err != nil:
			e.log.WarnContext(ctx, "renewing the engine failed", "error", err)
			pause = time.Second
		default:
			pause = renewEvery
		}
	}
	return nil
}

// untilRenewal is how long the first renewal has time: what came after Start, such as a thousand people who
// were written, may have taken most of it.
func (e *Engine) untilRenewal() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	ran, wall := e.clock().since(e.renewed)
	return max(0, renewEvery-max(ran, wall))
}

// renew makes the owner live 15 s from now. Whoever was declared dead and comes back
// goes on with what was not taken over.
func (e *Engine) renew(ctx context.Context) error {
	if !e.db.PG() {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, renewEvery)
	defer stop()
	begun := e.clock()
	var declared bool
	// Durable: an owner must not seem newer after the server's crash.
	found, err := e.db.Own(ctx, renewOwner, []any{ownerExpires.Microseconds(), onTime.Microseconds(), e.id}, &declared)
	if err != nil {
		return fmt.Errorf("renew engine: %w", err)
	}
	if !found {
		e.lose()
		return errLost
	}
	e.begin(begun)
	if declared {
		e.log.WarnContext(ctx, "other engines had found this one dead; it goes on with what they left")
	}
	return nil
}

// Close ends the owner, gives its leases back and tells the other engines. Run must
// have returned.
func (e *Engine) Close(ctx context.Context) error {
	e.lose()
	var err error
	if e.id != 0 {
		err = e.end(ctx)
		for try := 0; errors.Is(err, database.ErrUnavailable) && try < 2 && ctx.Err() == nil; try++ {
			err = e.end(ctx) // the answer was lost, and to end twice is to end
		}
	}
	if err == nil {
		wakeAll(ctx, e.db)
	}
	// Where the row could not be ended the file stays, unlocked: others see by it
	// that this process is gone.
	e.dropLock()
	if err := errors.Join(err, e.file.release(err == nil), e.lock.release()); err != nil {
		return fmt.Errorf("engine %d: %w", e.id, err)
	}
	return nil
}

// end ends the owner's row and gives its leases back.
func (e *Engine) end(ctx context.Context) error {
	return e.db.Write(ctx, database.Durable, "end engine", func(t *database.Tx) error {
		return t.Run(database.Do(freeOwned, e.id), database.Do(endOwner, time.Now().UnixMicro(), e.id))
	})
}

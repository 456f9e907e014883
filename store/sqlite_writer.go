package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
)

// errClosed is returned by writes after Close.
var errClosed = errors.New("the database is closed")

// maxBatch bounds how many transactions share one commit, and so how long the
// first of them waits.
const maxBatch = 256

// A writer is the only one to write to a SQLite file. It commits in groups: all
// transactions that are queued when it looks go into one BEGIN … COMMIT, each
// behind a savepoint of its own, so that many of them pay for one fsync and a
// failing one takes no other with it. Everything runs under the writer's own
// context: a caller's that ends inside a statement would roll back the group.
type writer struct {
	db    *sqlx.DB
	conn  *sqlx.Conn
	stmts map[string]*sqlx.Stmt
	mode  durability // of the connection now
	log   batchLog
	tight time.Time // when a full disk could last not be relieved

	queue   chan *job
	closing chan struct{}
	once    sync.Once
	stopped error // what closing said
	done    sync.WaitGroup
}

// A job is one transaction that waits for the writer.
type job struct {
	ctx   context.Context //nolint:containedctx // asked once, before fn begins
	mode  durability
	fn    func(querier) error
	taken atomic.Bool // by the writer, or by a caller who went away
	err   error
	ready chan struct{}
}

func startWriter(db *sqlx.DB, conn *sqlx.Conn) *writer {
	w := &writer{
		db: db, conn: conn, stmts: map[string]*sqlx.Stmt{},
		queue: make(chan *job, maxBatch), closing: make(chan struct{}),
	}
	w.done.Go(w.run)
	return w
}

// write hands fn to the writer and waits. When ctx ends before fn began, fn is
// never run.
func (w *writer) write(ctx context.Context, mode durability, fn func(querier) error) error {
	j := &job{ctx: ctx, mode: mode, fn: fn, ready: make(chan struct{})}
	select {
	case <-w.closing:
		return errClosed
	default:
	}
	select {
	case w.queue <- j:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.closing:
		return errClosed
	}
	select {
	case <-j.ready:
		return j.err
	case <-ctx.Done():
		if j.taken.CompareAndSwap(false, true) {
			return ctx.Err()
		}
	case <-w.closing:
		if j.taken.CompareAndSwap(false, true) {
			return errClosed
		}
	}
	<-j.ready
	return j.err
}

// stop is safe to call again; it then returns what it returned.
func (w *writer) stop() error {
	w.once.Do(func() {
		close(w.closing)
		w.done.Wait()
		var errs []error
		for _, s := range w.stmts {
			errs = append(errs, s.Close())
		}
		w.stopped = errors.Join(append(errs, w.conn.Close(), w.db.Close())...)
	})
	return w.stopped
}

func (w *writer) run() {
	for {
		select {
		case j := <-w.queue:
			w.commit(w.gather(j))
		case <-w.closing:
			return
		}
	}
}

// gather takes what else is queued, without waiting for more.
func (w *writer) gather(first *job) []*job {
	batch := make([]*job, 0, 8)
	for j := first; ; {
		// A caller whose time is over has given up or is about to.
		if j.ctx.Err() == nil && j.taken.CompareAndSwap(false, true) {
			batch = append(batch, j)
		} else if j.taken.CompareAndSwap(false, true) {
			j.err = j.ctx.Err()
			close(j.ready)
		}
		if len(batch) == maxBatch {
			return batch
		}
		select {
		case j = <-w.queue:
		default:
			return batch
		}
	}
}

// commit runs a group and answers each of its jobs.
func (w *writer) commit(batch []*job) {
	if len(batch) == 0 {
		return
	}
	mode := rides
	for _, j := range batch {
		mode = mode || j.mode
	}
	err := w.group(batch, mode)
	if err != nil {
		// Nothing of the group is in the database, whatever its parts said.
		_, _ = w.exec("ROLLBACK")
		if errors.Is(explain(err), ErrFull) && w.relieve() {
			for _, j := range batch {
				j.err = nil
			}
			if err = w.group(batch, mode); err != nil {
				_, _ = w.exec("ROLLBACK")
			}
		}
	}
	if err != nil {
		for _, j := range batch {
			if j.err == nil {
				j.err = err
			}
		}
	}
	w.log.add(Batch{Full: bool(mode), Transactions: len(batch)})
	for _, j := range batch {
		close(j.ready)
	}
}

// relieve makes room on a full disk: it moves the write-ahead log into the
// database file, which may have free pages, so that the next commit overwrites the
// log instead of adding to it. SQLite itself looks at that only after a commit
// that worked, of which there may be none any more.
func (w *writer) relieve() bool {
	if time.Since(w.tight) < time.Second {
		return false // it did not help a moment ago, and it is much to write
	}
	rows, err := w.query("PRAGMA wal_checkpoint(PASSIVE)")
	if err == nil {
		var busy, frames, moved int
		if rows.Next() && rows.Scan(&busy, &frames, &moved) == nil && busy == 0 && frames == moved {
			return rows.Close() == nil
		}
		_ = rows.Close()
	}
	w.tight = time.Now()
	return false
}

// group is one transaction of the database. An error means that it was not
// committed.
func (w *writer) group(batch []*job, mode durability) error {
	if mode != w.mode {
		pragma := "PRAGMA synchronous = NORMAL"
		if mode == full {
			pragma = "PRAGMA synchronous = FULL"
		}
		if _, err := w.exec(pragma); err != nil {
			return err
		}
		w.mode = mode
	}
	if _, err := w.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for _, j := range batch {
		if _, err := w.exec("SAVEPOINT one"); err != nil {
			return err
		}
		j.err = j.fn(w)
		if j.err != nil {
			// A full disk rolls everything back by itself; then there is no
			// savepoint any more, and the group is lost.
			if _, err := w.exec("ROLLBACK TO one"); err != nil {
				return fmt.Errorf("another transaction of the same commit failed: %w", j.err)
			}
		}
		if _, err := w.exec("RELEASE one"); err != nil {
			return err
		}
	}
	_, err := w.exec("COMMIT")
	return err
}

// exec and query make the writer the querier of its own transactions. Statements
// are compiled once; there are as many as this package has queries.
func (w *writer) exec(query string, args ...any) (sql.Result, error) {
	s, err := w.prepared(query)
	if err != nil {
		return nil, err
	}
	return s.Exec(args...)
}

func (w *writer) query(query string, args ...any) (*sqlx.Rows, error) {
	s, err := w.prepared(query)
	if err != nil {
		return nil, err
	}
	return s.Queryx(args...)
}

func (w *writer) prepared(query string) (*sqlx.Stmt, error) {
	if s, ok := w.stmts[query]; ok {
		return s, nil
	}
	s, err := w.conn.PreparexContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	w.stmts[query] = s
	return s, nil
}

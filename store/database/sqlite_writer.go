package database

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
	sqlite3 "modernc.org/sqlite"

	"switchboard/router/core"
)

// resultWaits is for how long new work may keep the result of a send from being recorded:
// a commit with more to do is cut there. What was sent and not recorded is sent twice
// when the process is killed.
const resultWaits = 2 * time.Millisecond

// maxBatch bounds how many transactions share one commit, and so how long the
// first of them waits.
const maxBatch = 256

// A writer is the only one to write to a SQLite file. It commits in groups: all
// transactions that are queued when it looks go into one BEGIN … COMMIT, so that
// many of them pay for one fsync, and a failing one takes no other with it.
//
// It has no goroutine: the caller who finds nobody at work does the work of all
// who wait, which saves the one who is alone two changes of goroutine. No
// statement knows a caller's context: one that ends inside a statement would roll
// back the group.
type writer struct {
	db    *sqlx.DB
	conn  *sqlx.Conn
	lite  *liteConn
	wal   syncer
	tight time.Time // when a full disk could last not be relieved

	queue   chan *job
	results chan *job     // what goes before everything in queue
	token   chan struct{} // whoever took it writes
	closing chan struct{}
	once    sync.Once
	stopped error // what closing said

	counting sync.Mutex
	commits  Commits
}

// A job is one transaction that waits for the writer.
type job struct {
	ctx   context.Context //nolint:containedctx // asked once, before fn begins
	mode  Durability
	fn    func(querier) error
	taken atomic.Bool // by the writer, or by a caller who went away
	wrote bool        // it began to change something
	err   error
	ready chan struct{}
}

func startWriter(db *sqlx.DB, conn *sqlx.Conn, path string) *writer {
	w := &writer{
		db: db, conn: conn, lite: &liteConn{stmts: map[string]*liteStmt{}}, wal: syncer{path: path + "-wal"},
		queue: make(chan *job, maxBatch), results: make(chan *job, maxBatch), token: make(chan struct{}, 1), closing: make(chan struct{}),
	}
	w.token <- struct{}{}
	return w
}

// write runs fn in a transaction and waits for its commit. When ctx ends before
// fn began, fn is never run. It may be run twice, the second time with nothing
// left of the first.
func (w *writer) write(ctx context.Context, mode Durability, fn func(querier) error) error {
	queue := w.queue
	if mode == Result {
		queue = w.results
	}
	j := &job{ctx: ctx, mode: mode, fn: fn, ready: make(chan struct{})}
	select {
	case <-w.closing:
		return errClosed
	default:
	}
	select {
	case queue <- j:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.closing:
		return errClosed
	}
	for {
		select {
		case <-j.ready:
			return j.err
		case <-w.token:
			w.commit(w.drain(w.queue, w.drain(w.results, make([]*job, 0, 8)))) // without waiting for more
			w.token <- struct{}{}
		case <-ctx.Done():
			return j.leave(ctx.Err())
		case <-w.closing:
			return j.leave(errClosed)
		}
	}
}

// leave is why it is never run, or what became of it where it was taken before.
func (j *job) leave(why error) error {
	if j.taken.CompareAndSwap(false, true) {
		return why
	}
	<-j.ready
	return j.err
}

// stop is safe to call again; it then returns what it returned.
func (w *writer) stop() error {
	w.once.Do(func() {
		close(w.closing)
		<-w.token // for good
		w.stopped = errors.Join(w.raw(func() error { return w.lite.forgetStmts() }), w.wal.close(), w.conn.Close(), w.db.Close())
	})
	return w.stopped
}

// raw runs fn while the connection is the writer's.
func (w *writer) raw(fn func() error) error {
	return w.conn.Raw(func(c any) error {
		w.lite.raw = c.(driver.Conn)
		return fn()
	})
}

// drain adds to batch what is in queue.
func (w *writer) drain(queue chan *job, batch []*job) []*job {
	for len(batch) < maxBatch {
		select {
		case j := <-queue:
			// A caller whose time is over has given up or is about to.
			if gone := j.ctx.Err(); !j.taken.CompareAndSwap(false, true) {
				continue
			} else if gone != nil {
				j.err = gone
				close(j.ready)
				continue
			}
			batch = append(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// commit runs a group and answers each of its jobs. What need not survive a loss of power
// is answered as soon as it is committed; one sync is for all the others.
func (w *writer) commit(batch []*job) {
	var durable []*job
	writers := 0
	for p := (piece{rest: batch}); len(p.rest) > 0; {
		p = piece{jobs: p.rest}
		err := w.raw(func() error { return w.attempt(&p) })
		for _, j := range p.jobs {
			if j.err == nil {
				j.err = err
			}
			if j.wrote {
				writers++
			}
			if j.mode == Durable {
				durable = append(durable, j)
			} else {
				close(j.ready)
			}
		}
	}
	if writers > 0 {
		w.counting.Lock()
		w.commits.All++
		w.commits.Synced += min(len(durable), 1)
		w.commits.Transactions += writers
		w.counting.Unlock()
		w.sync(durable)
	}
	for _, j := range durable {
		close(j.ready)
	}
}

// A piece is what goes into one COMMIT. Where results came meanwhile, part of its jobs
// may be left as rest.
type piece struct {
	jobs, rest []*job
}

// sync makes what was committed survive a loss of power. When that fails, all is in
// the database, but whoever wanted to be sure is told that it is not: what they do
// bears being done again, as it does after a crash here.
func (w *writer) sync(batch []*job) {
	if !slices.ContainsFunc(batch, func(j *job) bool { return j.err == nil }) {
		return
	}
	err := w.wal.sync()
	if err == nil {
		return
	}
	for _, j := range batch {
		if j.err == nil {
			j.err = &problem{ErrUnavailable, "the disk of the database reports an error", fmt.Errorf("%w: %w", ErrUnsynced, err)}
		}
	}
}

// attempt commits the piece. It does so without savepoints, which cost as much as
// a short transaction, and goes back to them when one of its parts fails.
func (w *writer) attempt(p *piece) error {
	err := w.group(p, false)
	if err == nil {
		return nil
	}
	w.rollback()
	if len(p.jobs) == 1 && isConclusive(p.jobs[0].err) {
		return p.jobs[0].err // there is nobody to be saved from it
	}
	for again := true; ; again = false {
		for _, j := range p.jobs {
			j.err = nil
		}
		if err = w.group(p, true); err == nil {
			return nil
		}
		// Nothing of the group is in the database, whatever its parts said.
		w.rollback()
		if !again || !errors.Is(Explain(err), ErrFull) || !w.relieve() {
			return err
		}
	}
}

func (w *writer) rollback() { _, _ = w.lite.Exec("ROLLBACK") }

// relieve makes room on a full disk: it moves the write-ahead log into the
// database file, which may have free pages, so that the next commit overwrites the
// log instead of adding to it. SQLite itself looks at that only after a commit
// that worked, of which there may be none any more.
func (w *writer) relieve() bool {
	if time.Since(w.tight) < time.Second {
		return false // it did not help a moment ago, and it is much to write
	}
	rows, err := w.lite.Query("PRAGMA wal_checkpoint(PASSIVE)")
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

// errFailed says that a part of a group failed, and that the others have to be
// run again without it.
var errFailed = errors.New("another transaction of the same commit failed")

// group is one transaction of the database. An error means that it was not
// committed.
func (w *writer) group(p *piece, savepoints bool) error {
	// Deferred, so that who only looks locks nothing: nobody else writes.
	begin := "BEGIN"
	if savepoints {
		begin = "BEGIN IMMEDIATE"
	}
	if _, err := w.lite.Exec(begin); err != nil {
		return err
	}
	cut := false
	for i, began := 0, time.Now(); i < len(p.jobs); i++ {
		if err := w.part(p.jobs[i], savepoints); err != nil {
			return err
		}
		if !cut && len(w.results) > 0 && time.Since(began) >= resultWaits {
			p.rest = append(slices.Clone(p.jobs[i+1:]), p.rest...)
			p.jobs, cut = p.jobs[:i+1:i+1], true
		}
		if i == len(p.jobs)-1 {
			p.jobs = w.drain(w.results, p.jobs)
		}
	}
	_, err := w.lite.Exec("COMMIT")
	return err
}

// part runs one job. An error means that the group is lost.
func (w *writer) part(j *job, savepoint bool) error {
	if !savepoint {
		j.err = w.run(j)
		if j.err == nil || !j.wrote && isConclusive(j.err) {
			return nil // what only looked leaves nothing to take back
		}
		return errFailed
	}
	if _, err := w.lite.Exec("SAVEPOINT one"); err != nil {
		return err
	}
	j.err = w.run(j)
	if j.err != nil {
		// A full disk rolls everything back by itself; then there is no
		// savepoint any more, and the group is lost.
		if _, err := w.lite.Exec("ROLLBACK TO one"); err != nil {
			return fmt.Errorf("%w: %w", errFailed, j.err)
		}
	}
	_, err := w.lite.Exec("RELEASE one")
	return err
}

// run calls the job's function. A panic of it is its own error: it must not end
// another caller, in whose goroutine it may be, nor keep the writer.
func (w *writer) run(j *job) (err error) {
	w.lite.wrote = false
	defer func() {
		j.wrote = w.lite.wrote
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v\n%s", fault, debug.Stack())
		}
	}()
	return j.fn(w.lite)
}

// isConclusive says of a job's error that the job itself is its cause, and not the
// state of the disk or of the connection.
func isConclusive(err error) bool {
	if err == nil {
		return false
	}
	_, theirs := errors.AsType[*sqlite3.Error](err)
	return !theirs || errors.Is(Explain(err), core.ErrConflict) || errors.Is(Explain(err), core.ErrRefused)
}

package engines

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lib/pq"

	"switchboard/internal/retry"
)

// On PostgreSQL an engine holds an advisory lock for as long as one connection of
// its own lives. The server frees it with the connection, and the connection ends
// with the process: so a lock that is free says more, and sooner, than a row that
// was not renewed.

const (
	// lockOwner: on a later take the connection that had it before may not have ended
	// on the server's side; it is ours, so it is ended.
	lockOwner = `DO $$ BEGIN
		IF NOT sb_lock(%d) THEN RAISE EXCEPTION 'the engine''s lock is held by another connection' USING ERRCODE = '55P03'; END IF;
	END $$`
	endLockers = `DO $$ BEGIN
		PERFORM pg_terminate_backend(l) FROM sb_lockers(%d) l WHERE l <> pg_backend_pid();
	END $$`
	// A server that lost touch with us keeps the lock for a while, longer than the row
	// lives: whoever cannot be reached may still be at work.
	lockPatience = `DO $$ BEGIN
		PERFORM set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false),
			set_config('tcp_keepalives_count', '2', false), set_config('tcp_user_timeout', '20000', false);
	END $$`

	askEvery   = 5 * time.Second // whether the lock connection still answers
	askPatient = 10 * time.Second
)

// A lockConn is a connection that holds the advisory lock. It is read from all the
// time, so that its end is known at once.
type lockConn struct {
	pq    *pq.ListenerConn
	taken time.Time
	notes chan *pq.Notification // closed when the connection has ended; nothing else comes
}

func (c *lockConn) exec(statement string, patience time.Duration) error {
	impatient := time.AfterFunc(patience, func() { _ = c.pq.Close() })
	defer impatient.Stop()
	_, err := c.pq.ExecSimpleQuery(statement)
	return err
}

func (c *lockConn) close() {
	_ = c.pq.Close()
	for range c.notes {
	}
}

// takeLock takes the advisory lock on a new connection. It may wait for 5 s to
// connect and as long for the answer.
func (e *Engine) takeLock(again bool) error {
	c := &lockConn{notes: make(chan *pq.Notification, 1)}
	var err error
	if c.pq, err = e.db.Connect("switchboard lock", c.notes); err != nil {
		return err
	}
	// Where the connection is no TCP connection, nothing has to be patient.
	_ = c.exec(lockPatience, renewEvery)
	if again {
		_ = c.exec(fmt.Sprintf(endLockers, e.id), renewEvery)
	}
	if err := c.exec(fmt.Sprintf(lockOwner, e.id), renewEvery); err != nil {
		c.close()
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lost {
		c.close()
		return errLost
	}
	c.taken = e.clock().ran
	e.conn = c
	e.watchers.Go(func() {
		for range c.notes {
		}
		e.lockLost(c)
	})
	return nil
}

// lockLost notes that a lock connection has ended.
func (e *Engine) lockLost(c *lockConn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.conn != c {
		return
	}
	e.conn = nil
	if e.lostAt.never() {
		e.lostAt = e.clock()
	}
	if e.watch != nil {
		e.watch.Reset(e.nextWatch())
	}
	retry.Signal(e.unlocked)
}

// dropLock ends the lock connection.
func (e *Engine) dropLock() {
	e.mu.Lock()
	c := e.conn
	e.conn = nil
	e.mu.Unlock()
	if c != nil {
		_ = c.pq.Close()
	}
	e.watchers.Wait()
}

// keepLock asks the lock connection whether it lives, and takes the lock again when
// it does not. Nothing is safe before the owner was renewed under the new lock.
func (e *Engine) keepLock(ctx context.Context) {
	ask := time.NewTicker(askEvery)
	defer ask.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.unlocked:
			if !e.relock(ctx) {
				return
			}
		case <-ask.C:
			if c := e.lockConn(); c != nil {
				_ = c.exec("", askPatient) // one that does not answer is closed, and so lost
			}
		}
	}
}

func (e *Engine) lockConn() *lockConn {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.conn
}

// relock takes the lock again, however long it takes; false: there is no more use.
func (e *Engine) relock(ctx context.Context) bool {
	e.log.WarnContext(ctx, "the connection with this engine's lock was lost; nothing is begun until it is back")
	begun := time.Now()
	for range retry.Doubling(ctx, 50*time.Millisecond, time.Second) {
		err := error(nil)
		if e.lockConn() == nil {
			err = e.takeLock(true)
		}
		if err == nil {
			err = e.renew(ctx)
		}
		switch {
		case err == nil:
			e.log.InfoContext(ctx, "this engine has its lock again", "duration", time.Since(begun).Round(time.Millisecond))
			return true
		case errors.Is(err, errLost):
			return false // Run finds out as well
		}
		e.log.DebugContext(ctx, "taking the engine's lock failed", "error", err)
	}
	return false
}

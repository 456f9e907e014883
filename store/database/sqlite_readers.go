package database

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync"

	"github.com/jmoiron/sqlx"
)

// maxReaders bounds how many read at once.
const maxReaders = 8

// readers are connections to read from, opened when they are needed. Another
// connection's commit empties their page caches, so what is read for every message
// is read on the writer's.
type readers struct {
	pool *sqlx.DB
	slot chan struct{} // one for each that may read

	mu     sync.Mutex
	idle   []*readerConn // the latest used last
	closed bool
}

type readerConn struct {
	conn *sqlx.Conn
	lite *liteConn
}

func newReaders(pool *sqlx.DB) *readers {
	pool.SetMaxOpenConns(maxReaders)
	pool.SetMaxIdleConns(maxReaders)
	return &readers{pool: pool, slot: make(chan struct{}, maxReaders)}
}

// read runs fn's queries. Each sees what was committed when it began.
func (r *readers) read(ctx context.Context, fn func(querier) error) error {
	select {
	case r.slot <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-r.slot }()
	c, err := r.take(ctx)
	if err != nil {
		return err
	}
	whole := false
	defer func() { r.give(c, whole) }()
	err = c.conn.Raw(func(raw any) error {
		c.lite.raw, c.lite.ctx = raw.(driver.Conn), ctx
		return fn(c.lite)
	})
	whole = !errors.Is(err, driver.ErrBadConn)
	return err
}

func (r *readers) take(ctx context.Context) (*readerConn, error) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, errClosed
	}
	if n := len(r.idle); n > 0 {
		c := r.idle[n-1]
		r.idle = r.idle[:n-1]
		r.mu.Unlock()
		return c, nil
	}
	r.mu.Unlock()
	conn, err := r.pool.Connx(ctx)
	if err != nil {
		return nil, err
	}
	return &readerConn{conn, &liteConn{stmts: map[string]*liteStmt{}}}, nil
}

// give keeps a connection for the next, unless it broke or fn panicked.
func (r *readers) give(c *readerConn, whole bool) {
	c.lite.ctx = nil
	r.mu.Lock()
	keep := whole && !r.closed
	if keep {
		r.idle = append(r.idle, c)
	}
	r.mu.Unlock()
	if !keep {
		_ = c.close()
	}
}

func (c *readerConn) close() error {
	err := c.conn.Raw(func(any) error { return c.lite.forgetStmts() })
	return errors.Join(err, c.conn.Close())
}

// close ends those that are idle; who still reads ends its own.
func (r *readers) close() error {
	r.mu.Lock()
	idle := r.idle
	r.idle, r.closed = nil, true
	r.mu.Unlock()
	var errs []error
	for _, c := range idle {
		errs = append(errs, c.close())
	}
	return errors.Join(append(errs, r.pool.Close())...)
}

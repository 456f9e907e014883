package database

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/jmoiron/sqlx"
)

// maxPrepared bounds the statements kept for reading; lists of varying length
// make a statement each.
const maxPrepared = 256

// A reader is a PostgreSQL pool to read from, with its statements compiled once a
// connection: planning would cost more than running them.
type reader struct {
	pool  *sqlx.DB
	stmts sync.Map // query → *sqlx.Stmt
	kept  atomic.Int64
}

// Read runs fn's queries. They see what is committed when each of them begins,
// not one snapshot.
func (db *DB) Read(ctx context.Context, op string, fn func(*Tx) error) error {
	var err error
	if db.lite != nil {
		err = db.lite.read(ctx, func(q querier) error { return fn(db.tx(q)) })
	} else {
		err = db.pg.noticed(fn(db.tx(reading{&db.reader, ctx})))
	}
	return failed(op, err)
}

// Look is Read for what is read with every message. On SQLite it runs in the
// writer's queue: its connection alone still has in memory what it just wrote. It
// sees one snapshot there, and fn may run twice.
func (db *DB) Look(ctx context.Context, op string, fn func(*Tx) error) error {
	if db.lite != nil {
		return db.Write(ctx, Async, op, fn)
	}
	return db.Read(ctx, op, fn)
}

// reading is a reader under one caller's context.
type reading struct {
	r   *reader
	ctx context.Context //nolint:containedctx // lives as long as one read
}

func (q reading) Exec(string, ...any) (sql.Result, error) {
	panic("a read wrote") // a fault of ours, which SQLite's query_only would refuse
}

func (q reading) Query(query string, args ...any) (Rows, error) {
	r, err := q.run(query, args)
	if errors.Is(err, io.ErrUnexpectedEOF) { // the connection ended; what only reads may be asked again
		r, err = q.run(query, args)
	}
	return rowsOf(r, err)
}

func (q reading) run(query string, args []any) (*sqlx.Rows, error) {
	if s, ok := q.r.stmts.Load(query); ok {
		return s.(*sqlx.Stmt).QueryxContext(q.ctx, args...)
	}
	if q.r.kept.Load() >= maxPrepared {
		return q.r.pool.QueryxContext(q.ctx, dollars(query), args...)
	}
	s, err := q.r.pool.PreparexContext(q.ctx, dollars(query))
	if err != nil {
		return nil, err
	}
	if won, loaded := q.r.stmts.LoadOrStore(query, s); loaded {
		_ = s.Close()
		s = won.(*sqlx.Stmt)
	} else {
		q.r.kept.Add(1)
	}
	return s.QueryxContext(q.ctx, args...)
}

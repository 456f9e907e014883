// Package store is the single source of truth: what came in, turns and their steps,
// deliveries, files, people, and how long each is kept. All SQL of these lives here; the
// database itself, engines with their leases, and bytes of attachments have rooms below.
//
// It implements the small interfaces that router (and later agent and scheduler)
// declare, a type for each consumer over one database handle. Nobody imports it but
// cmd and tests.
package store

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"switchboard/store/database"
	"switchboard/store/engines"
)

// DB is a database with the ledger in it.
type DB struct {
	*database.DB
	// now is the clock of instants in rows. Whether an owner lives is judged by
	// the database's clock alone.
	now func() time.Time
	// astray: the log says that our clock is not the database's.
	astray atomic.Bool
	// audited is the number up to which all turns stand in the audit log.
	audits  sync.Mutex
	audited int64
	// sealStep is called by tests between the steps of the sealer; nil: it is not.
	sealStep func(step string) error
}

// Open is database.Open.
func Open(ctx context.Context, cfg database.Config, dataDir string, log *slog.Logger) (*DB, error) {
	return on(database.Open(ctx, cfg, dataDir, log))
}

// OpenReadOnly is database.OpenReadOnly.
func OpenReadOnly(ctx context.Context, cfg database.Config, dataDir string, log *slog.Logger) (*DB, error) {
	return on(database.OpenReadOnly(ctx, cfg, dataDir, log))
}

func on(base *database.DB, err error) (*DB, error) {
	if err != nil {
		return nil, err
	}
	return &DB{DB: base, now: time.Now}, nil
}

const (
	full  = database.Full
	rides = database.Rides
)

// tx is a transaction, or a connection to read from, with the clock of instants in rows.
type tx struct {
	engines.Leases
	now int64 // µs UTC
}

func (db *DB) with(fn func(*tx) error) func(*database.Tx) error {
	return func(t *database.Tx) error { return fn(&tx{engines.Leases{Tx: t}, db.now().UnixMicro()}) }
}

func (db *DB) write(ctx context.Context, mode database.Durability, op string, fn func(*tx) error) error {
	return db.DB.Write(ctx, mode, op, db.with(fn))
}

func (db *DB) record(ctx context.Context, op string, fn func(*tx) error) error {
	return db.DB.Write(ctx, database.Result, op, db.with(fn))
}

func (db *DB) read(ctx context.Context, op string, fn func(*tx) error) error {
	return db.DB.Read(ctx, op, db.with(fn))
}

func (db *DB) look(ctx context.Context, op string, fn func(*tx) error) error {
	return db.DB.Look(ctx, op, db.with(fn))
}

// ids reads rows of one column, the ID.
func (t *tx) ids(query string, args ...any) (ids []int64, err error) {
	var rows []struct{ ID int64 }
	err = t.All(&rows, query, args...)
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids, err
}

// A statement changes rows.
type statement struct {
	query string
	args  []any
}

// run runs statements one after the other.
func (t *tx) run(list ...statement) error {
	for _, s := range list {
		if _, err := t.Exec(s.query, s.args...); err != nil {
			return err
		}
	}
	return nil
}

// each runs statements that each take one list of numbers, and counts what the last one
// touched.
func (t *tx) each(queries []string, args []any) (n int64, err error) {
	for _, query := range queries {
		if n, err = t.Exec(query, args...); err != nil {
			return 0, fmt.Errorf("%s: %w", query, err)
		}
	}
	return n, nil
}

// forLeases is how durable a change of leases is. A PostgreSQL server may crash
// and come back while we live: a fence that was given out must not be given out
// again, and a lease that we gave back must not be ours again. SQLite loses
// commits only together with the engine, whose leases the next start voids.
func (db *DB) forLeases() database.Durability {
	if db.PG() {
		return full
	}
	return rides
}

// The hot transactions on PostgreSQL are functions of the database, one round
// trip each; docs/decisions/0001-hot-transactions.md says why.
const (
	callAccept = `SELECT sb_accept($1, $2, $3)`
	callSteps  = `SELECT sb_steps($1)`
	callClaim  = `SELECT sb_claim($1, $2, $3, $4, $5)`
	callBegin  = `SELECT sb_begin($1, $2, $3, $4)`
	callSettle = `SELECT sb_settles($1)`
)

package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
)

// Snapshot runs fn's queries on one snapshot of everything that is committed, for as long as
// they take. Nobody waits for it, but what SQLite is written meanwhile stays in its log.
func (db *DB) Snapshot(ctx context.Context, op string, fn func(*Tx) error) error {
	run := func(t *sqlx.Tx) error { return fn(db.tx(sqlTx{t, ctx})) }
	if db.lite != nil { // the first query takes the snapshot
		return failed(op, inBulk(ctx, db.lite.readers.pool, nil, run))
	}
	return failed(op, db.inPatience(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}, run))
}

// inPatience runs fn in a transaction on PostgreSQL that may take long and stand still.
func (db *DB) inPatience(ctx context.Context, o *sql.TxOptions, fn func(*sqlx.Tx) error) error {
	pool, err := postgresPool(db.pg.url, "on", 1, &patientDialer{})
	if err != nil {
		return err
	}
	defer pool.Close()
	return inBulk(ctx, pool, o, func(t *sqlx.Tx) error {
		if _, err := t.ExecContext(ctx, `SET LOCAL idle_in_transaction_session_timeout = 0`); err != nil {
			return err
		}
		return fn(t)
	})
}

// inBulk runs fn in a transaction of a pool or of one connection.
func inBulk(ctx context.Context, on interface {
	BeginTxx(context.Context, *sql.TxOptions) (*sqlx.Tx, error)
}, o *sql.TxOptions, fn func(*sqlx.Tx) error,
) error {
	t, err := on.BeginTxx(ctx, o)
	if err != nil {
		return err
	}
	if err := fn(t); err != nil {
		return errors.Join(err, ignoreDone(t.Rollback()))
	}
	return t.Commit()
}

// A Loading is a transaction that fills whole tables.
type Loading struct {
	*Tx
	bulk sqlTx
}

// Load fills tables in one transaction, for as long as it takes. On SQLite names of rows that
// are not there yet are taken as they come.
func (db *DB) Load(ctx context.Context, op string, fn func(*Loading) error) error {
	load := db.inPatience
	if db.lite != nil {
		load = db.unchecked
	}
	err := load(ctx, nil, func(t *sqlx.Tx) error { return fn(&Loading{db.tx(sqlTx{t, ctx}), sqlTx{t, ctx}}) })
	if err != nil {
		return fmt.Errorf("%s: %w", op, explainMigration(err)) // in the database's own words
	}
	return nil
}

// unchecked runs fn in a transaction on SQLite that looks for no names of rows.
func (db *DB) unchecked(ctx context.Context, o *sql.TxOptions, fn func(*sqlx.Tx) error) error {
	pool, err := sqlx.Open("sqlite", sqliteDSN(db.lite.path))
	if err != nil {
		return err
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	if _, err := pool.ExecContext(ctx, `PRAGMA foreign_keys = 0; PRAGMA cache_size = -100000`); err != nil {
		return err
	}
	return inBulk(ctx, pool, o, fn)
}

// Into fills a table: rows is called with what puts a row into it.
func (l *Loading) Into(table string, columns []string, rows func(put func(values ...any) error) error) error {
	query := pq.CopyIn(table, columns...)
	if !l.PG {
		marks, _ := In(columns)
		query = `INSERT INTO "` + table + `" ("` + strings.Join(columns, `", "`) + `") VALUES (` + marks + `)`
	}
	s, err := l.bulk.t.PrepareContext(l.bulk.ctx, query)
	if err != nil {
		return err
	}
	err = rows(func(values ...any) error {
		_, err := s.ExecContext(l.bulk.ctx, values...)
		return err
	})
	if err == nil && l.PG {
		_, err = s.ExecContext(l.bulk.ctx) // ends the COPY
	}
	return errors.Join(err, s.Close())
}

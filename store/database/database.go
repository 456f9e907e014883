// Package database is SQLite or PostgreSQL as the rest of the store uses them: opening, the
// schema, transactions and what their commit survives, connections that are lost, and
// what an error means. It knows no row: who opens it hands down the schema.
package database

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/lib/pq"

	"switchboard/internal/secrets"
)

// Config is the table [store].
type Config struct {
	// URL says where the database is. Empty: SQLite in data_dir; "sqlite:PATH";
	// "postgres://…". It may hold a password.
	URL secrets.Secret `toml:"url"`
}

// Validate returns all that is wrong with c, joined; each error begins with the
// key below [store] it speaks of and a colon. The URL itself is never repeated.
func (c Config) Validate() error {
	url := c.URL.Reveal()
	path, file := strings.CutPrefix(url, "sqlite:")
	switch {
	case url == "", file && path != "", strings.HasPrefix(url, "postgres://"), strings.HasPrefix(url, "postgresql://"):
		return nil
	case file:
		return errors.New("url: \"sqlite:\" needs a path, e.g. \"sqlite:/var/lib/switchboard/switchboard.db\"")
	}
	return errors.New("url: is none of \"\" (SQLite in data_dir), \"sqlite:PATH\" and \"postgres://USER@HOST/NAME\"")
}

// File is the SQLite file that c names; empty: it is PostgreSQL's.
func (c Config) File(dataDir string) (path string, err error) {
	address := c.URL.Reveal()
	path, lite := strings.CutPrefix(address, "sqlite:")
	switch {
	case address == "":
		path = filepath.Join(dataDir, "switchboard.db")
	case !lite:
		return "", nil
	case path == "":
		return "", fmt.Errorf("%w: the path after \"sqlite:\" is missing", errURL)
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", fmt.Errorf("database file: %w", err)
	}
	return path, nil
}

// DB is the database, SQLite or PostgreSQL. Its methods may be called from
// several goroutines at once.
type DB struct {
	Log    *slog.Logger
	Schema *Schema
	// DataDir is the folder that every engine on this database shares; empty: none.
	DataDir string
	// Now is the clock of instants in rows; time.Now, but in tests. It is set before the first transaction.
	Now func() time.Time

	lite   *sqlite   // nil on PostgreSQL
	pg     *postgres // nil on SQLite
	reader reader
}

// errURL is returned by Open when [store] url is of no known form.
var errURL = errors.New(`[store] url must be empty, "sqlite:PATH" or "postgres://USER@HOST/NAME"`)

// Open opens the database of cfg, making the SQLite file and its folder when
// they do not exist. dataDir is where it stands when cfg names none, and where
// engines keep the files of theirs that others look at; empty: nowhere. Nothing is
// migrated, and a database of an early build is refused (ErrEarly). The database is asked
// within ctx. An error says what to do and never holds a password.
func Open(ctx context.Context, cfg Config, dataDir string, schema *Schema, log *slog.Logger) (*DB, error) {
	db := &DB{Log: log, DataDir: dataDir, Schema: schema, Now: time.Now}
	path, err := cfg.File(dataDir)
	switch url := cfg.URL.Reveal(); {
	case err != nil:
	case path != "":
		db.lite, err = openSQLite(ctx, path)
	case strings.HasPrefix(url, "postgres://"), strings.HasPrefix(url, "postgresql://"):
		err = db.openPostgres(ctx, url, nil)
	default:
		err = errURL
	}
	if err != nil {
		return nil, err
	}
	return db.known(ctx)
}

// openPostgres asks the server once. dialer is nil except in tests.
func (db *DB) openPostgres(ctx context.Context, url string, dialer pq.Dialer) (err error) {
	if db.pg, err = openPostgres(ctx, url, db.Schema.Raced, dialer); err == nil {
		db.reader = reader{pool: db.pg.relaxed}
	}
	return err
}

// Close waits for writes under way and closes the database. Writes that come
// later return an error.
func (db *DB) Close() error {
	if db.lite != nil {
		return db.lite.close()
	}
	db.pg.close()
	return nil
}

// Kind is "sqlite" or "postgres".
func (db *DB) Kind() string {
	if db.PG() {
		return "postgres"
	}
	return "sqlite"
}

// PG says that it is PostgreSQL, which several engines may share.
func (db *DB) PG() bool { return db.pg != nil }

// Path is the SQLite file; empty on PostgreSQL.
func (db *DB) Path() string {
	if db.lite == nil {
		return ""
	}
	return db.lite.path
}

// Durability says what a transaction must survive once it is committed.
type Durability int

const (
	// Async: the death of this process; a loss of power may take it back, unless
	// a later Durable transaction was committed.
	Async Durability = iota
	// Durable: a loss of power.
	Durable
	// Result is Async for what became of something outside: on SQLite it goes ahead of
	// new work, and so do joint calls on PostgreSQL.
	Result
)

func (db *DB) tx(q querier) *Tx { return &Tx{Q: q, PG: db.PG(), Now: db.Now().UnixMicro()} }

// ForLeases is how durable a change of leases is. A PostgreSQL server may crash
// and come back while we live: a fence that was given out must not be given out
// again, and a lease that we gave back must not be ours again. SQLite loses
// commits only together with the engine, whose leases the next start voids.
func (db *DB) ForLeases() Durability {
	if db.PG() {
		return Durable
	}
	return Async
}

// Write runs fn in one transaction and returns after it is committed. fn does
// SQL only and may be run again after a conflict, so it assigns its results again
// each time. ctx counts until fn begins; from there the transaction runs to its
// end. An error is one a person can act on (see problem), or what fn returned.
func (db *DB) Write(ctx context.Context, mode Durability, op string, fn func(*Tx) error) error {
	var err error
	run := func(q querier) error { return fn(db.tx(q)) }
	switch {
	case db.lite != nil && db.lite.writer == nil:
		err = errReadOnly
	case db.lite != nil:
		err = db.lite.write(ctx, mode, run)
	default:
		err = db.pg.write(ctx, mode, run)
	}
	return failed(op, err)
}

// Commits are how many group commits the SQLite writer made, how many of them were
// synced to the disk, and how many transactions shared them, failed ones included.
type Commits struct{ All, Synced, Transactions int }

// Commits counts them; on PostgreSQL there are none.
func (db *DB) Commits() Commits {
	if db.lite == nil {
		return Commits{}
	}
	db.lite.counting.Lock()
	defer db.lite.counting.Unlock()
	return db.lite.commits
}

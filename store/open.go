package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"
)

// DB is the database, SQLite or PostgreSQL. Its methods may be called from
// several goroutines at once.
type DB struct {
	log *slog.Logger
	// now is the clock of instants in rows. Whether an owner lives is judged by
	// the database's clock alone.
	now func() time.Time

	lite *sqlite   // nil on PostgreSQL
	pg   *postgres // nil on SQLite
	// dataDir is the folder that every engine on this database shares; empty: none.
	dataDir string

	reader reader
}

// ErrURL is returned by Open when [store] url is of no known form.
var ErrURL = errors.New(`[store] url must be empty, "sqlite:PATH" or "postgres://USER@HOST/NAME"`)

// Open opens the database of cfg, making the SQLite file and its folder when
// they do not exist. dataDir is where it stands when cfg names none, and where
// engines keep the files of theirs that others look at; empty: nowhere. Nothing is
// migrated. On PostgreSQL the server is asked once, within ctx. An error says
// what to do and never holds a password.
func Open(ctx context.Context, cfg Config, dataDir string, log *slog.Logger) (*DB, error) {
	db := &DB{log: log, now: time.Now, dataDir: dataDir}
	url := cfg.URL.Reveal()
	var err error
	switch {
	case url == "":
		db.lite, err = openSQLite(ctx, filepath.Join(dataDir, "switchboard.db"))
	case strings.HasPrefix(url, "sqlite:"):
		path := strings.TrimPrefix(url, "sqlite:")
		if path == "" {
			return nil, fmt.Errorf("%w: the path after \"sqlite:\" is missing", ErrURL)
		}
		db.lite, err = openSQLite(ctx, path)
	case strings.HasPrefix(url, "postgres://"), strings.HasPrefix(url, "postgresql://"):
		db.pg, err = openPostgres(ctx, url, nil)
	default:
		return nil, ErrURL
	}
	if err != nil {
		return nil, err
	}
	db.startReading()
	return db, nil
}

func (db *DB) startReading() {
	if db.pg != nil {
		db.reader.pool = db.pg.relaxed
	}
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
	if db.lite != nil {
		return "sqlite"
	}
	return "postgres"
}

// durability says what a transaction must survive once it is committed.
type durability bool

const (
	// full: a loss of power.
	full durability = true
	// rides: the death of this process; a loss of power may take it back, unless
	// a later full transaction was committed.
	rides durability = false
)

// write runs fn in one transaction and returns after it is committed. fn does
// SQL only and may be run again after a conflict, so it assigns its results anew
// each time. ctx counts until fn begins; from there the transaction runs to its
// end. An error is one a person can act on (see problem), or what fn returned.
func (db *DB) write(ctx context.Context, mode durability, op string, fn func(*tx) error) error {
	return db.writeAs(ctx, mode, false, op, fn)
}

// record is write of what became of something outside: it need not survive a loss of
// power, and on SQLite it goes ahead of new work.
func (db *DB) record(ctx context.Context, op string, fn func(*tx) error) error {
	return db.writeAs(ctx, rides, true, op, fn)
}

func (db *DB) writeAs(ctx context.Context, mode durability, ahead bool, op string, fn func(*tx) error) error {
	var err error
	run := func(q querier) error { return fn(&tx{q: q, now: db.now().UnixMicro(), pg: db.pg != nil}) }
	switch {
	case db.lite != nil && db.lite.writer == nil:
		err = errReadOnly
	case db.lite != nil && ahead:
		err = db.lite.record(ctx, run)
	case db.lite != nil:
		err = db.lite.write(ctx, mode, run)
	default:
		err = db.pg.write(ctx, mode, run)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", op, explain(err))
	}
	return nil
}

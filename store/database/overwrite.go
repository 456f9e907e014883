package database

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"switchboard/internal/retry"
)

// Overwriting has SQLite overwrite what is deleted, and not only unlink it, until done.
func Overwriting(t *Tx) (done func(), err error) {
	if t.PG {
		return func() {}, nil
	}
	if _, err := t.Exec("PRAGMA secure_delete = ON"); err != nil {
		return nil, err
	}
	return func() { // a savepoint has the full-text index write what it would write at the commit
		_, _ = t.Each([]string{"SAVEPOINT overwritten", "RELEASE overwritten", "PRAGMA secure_delete = OFF"}, nil)
	}, nil
}

// compactPatience is how long PostgreSQL may take for a table.
const compactPatience = 6 * time.Hour

// Compact writes SQLite's file again without what was deleted or changed in it before, and empties its write-ahead log; who wants to write
// waits meanwhile. On PostgreSQL it clears away the rows of the tables that were deleted or changed.
func (db *DB) Compact(ctx context.Context, tables ...string) error {
	if db.PG() {
		pool, err := postgresPool(db.pg.url, "on", 1, &patientDialer{patience: compactPatience})
		if err != nil {
			return err
		}
		defer pool.Close()
		for _, table := range tables {
			if _, err := pool.ExecContext(ctx, "VACUUM "+table); err != nil {
				return fmt.Errorf("vacuum %s: %w", table, Explain(err))
			}
		}
		return nil
	}
	if db.lite.writer == nil {
		return errReadOnly
	}
	select {
	case <-db.lite.token:
		defer func() { db.lite.token <- struct{}{} }()
	case <-db.lite.closing:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	pool, err := sqlx.Open("sqlite", sqliteDSN(db.lite.path))
	if err != nil {
		return fmt.Errorf("vacuum: %w", err)
	}
	defer pool.Close()
	// A copy of the file is made on the way, which is not to be in memory, nor in a folder of others.
	dir := strings.ReplaceAll(filepath.Dir(db.lite.path), "'", "''")
	if _, err := pool.ExecContext(ctx, "PRAGMA temp_store_directory = '"+dir+"'; PRAGMA temp_store = FILE; VACUUM"); err != nil {
		return fmt.Errorf("vacuum: %w", Explain(err))
	}
	for try := 0; ; try++ {
		var busy, frames, moved int
		err := pool.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved) // it waits for readers
		switch {
		case err != nil:
			return fmt.Errorf("empty the write-ahead log: %w", Explain(err))
		case busy == 0:
			return nil
		case try == 5 || !retry.Sleep(ctx, time.Second):
			return errors.New("empty the write-ahead log: somebody reads the database all the time")
		}
	}
}

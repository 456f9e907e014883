package database

import (
	"context"
	"errors"
	"fmt"
)

// ErrEarly is returned by Open and OpenReadOnly for a database of a build from before the first
// migration got its last form (docs/decisions/0021-order-of-turns.md): no migration fits its tables.
// Nothing in it was changed. The error's text says what to do.
var ErrEarly = errors.New("the database was made by an early build (before 23 November 2026), whose tables no later one carries over; it was left as it is")

// The columns are the last that were added to the first migration in place.
const (
	isEarly = `
		SELECT 1 FROM sqlite_master WHERE name = 'goose_db_version' AND EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'turns')
		AND NOT EXISTS (SELECT 1 FROM pragma_table_info('approvals') WHERE name = 'identity')`
	isEarlyPostgres = `
		SELECT 1 WHERE to_regclass('goose_db_version') IS NOT NULL AND to_regclass('turns') IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('approvals') AND attname = 'identity')`
)

// known refuses a database whose tables no migration fits.
func (db *DB) known(ctx context.Context) error {
	early := false
	err := db.Read(ctx, "look which build made the database", func(t *Tx) (err error) {
		query := isEarly
		if t.PG {
			query = isEarlyPostgres
		}
		early, err = t.Row(query, nil, new(int))
		return err
	})
	switch {
	case err != nil || !early:
		return err
	case db.PG():
		return fmt.Errorf("%w: make a new one (createdb NAME), name it in [store] url, and give it an empty data_dir", ErrEarly)
	}
	return fmt.Errorf("%w: move %s away, with the files %[2]s-wal and -shm if they are there, or name another in [store] url", ErrEarly, db.lite.path)
}

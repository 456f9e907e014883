package store

import (
	"context"

	"switchboard/store/database"
)

// Optimize has PostgreSQL renew what it knows of its tables. SQLite gives back what its write-ahead log took of the
// disk; it is told nothing of its tables: what it finds in small ones would lead it past the indexes of those
// that have grown since, and our queries are written for their indexes.
func (db *DB) Optimize(ctx context.Context) error {
	if !db.PG() {
		return db.ShrinkLog(ctx)
	}
	return db.Write(ctx, database.Async, "optimize", func(t *database.Tx) error {
		_, err := t.Exec(`ANALYZE`)
		return err
	})
}

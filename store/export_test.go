package store

import (
	"context"
	"time"
)

// Write runs statements in one transaction.
func (db *DB) Write(ctx context.Context, full bool, statements ...string) error {
	return db.WriteFunc(ctx, full, func(exec func(string) error) error {
		for _, s := range statements {
			if err := exec(s); err != nil {
				return err
			}
		}
		return nil
	})
}

// WriteFunc runs fn in one transaction.
func (db *DB) WriteFunc(ctx context.Context, durable bool, fn func(exec func(string) error) error) error {
	mode := rides
	if durable {
		mode = full
	}
	return db.write(ctx, mode, "test", func(t *tx) error {
		return fn(func(s string) error {
			_, err := t.Exec(s)
			return err
		})
	})
}

// SetNow replaces the clock of instants in rows.
func (db *DB) SetNow(now func() time.Time) { db.now = now }

// Join makes a person another one, as a link code does.
func (r *Router) Join(ctx context.Context, maker, former string) error {
	return r.db.write(ctx, full, "join", func(t *tx) error { return t.joinRows(maker, former) })
}

package store

import (
	"context"

	"switchboard/store/database"
)

// OnSealStep has each step of the sealer ask whether it dies there; nil: none does.
func (db *DB) OnSealStep(die func(step string) error) { db.sealStep = die }

// Scan reads one column of one row.
func (db *DB) Scan(ctx context.Context, query string, dest any) error {
	return db.Read(ctx, "scan", func(t *database.Tx) error {
		_, err := t.Row(query, nil, dest)
		return err
	})
}

// Hold runs a statement in a transaction that commits when end is called.
func (db *DB) Hold(ctx context.Context, query string) (end func() error, err error) {
	began, let, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- db.Write(ctx, database.Async, "hold", func(t *database.Tx) error {
			_, err := t.Exec(query)
			close(began)
			<-let
			return err
		})
	}()
	<-began
	return func() error { close(let); return <-done }, nil
}

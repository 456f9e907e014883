package database

import "context"

// List is Select in a transaction of its own.
func List[R any](ctx context.Context, db *DB, what, query string, args ...any) ([]R, error) {
	return Read(ctx, db, what, func(t *Tx) ([]R, error) { return Select[R](t, query, args...) })
}

// ReadRow is Tx.Row in a transaction of its own.
func (db *DB) ReadRow(ctx context.Context, what, query string, args []any, dest ...any) (bool, error) {
	return Read(ctx, db, what, func(t *Tx) (bool, error) { return t.Row(query, args, dest...) })
}

// Value reads one column of the first row in a transaction of its own; the zero value: there is none.
func Value[V any](ctx context.Context, db *DB, what, query string, args ...any) (V, error) {
	var v V
	_, err := db.ReadRow(ctx, what, query, args, &v)
	return v, err
}

// Read is DB.Read of something.
func Read[V any](ctx context.Context, db *DB, op string, fn func(*Tx) (V, error)) (V, error) {
	return got(func(run func(*Tx) error) error { return db.Read(ctx, op, run) }, fn)
}

// Look is DB.Look of something.
func Look[V any](ctx context.Context, db *DB, op string, fn func(*Tx) (V, error)) (V, error) {
	return got(func(run func(*Tx) error) error { return db.Look(ctx, op, run) }, fn)
}

// Write is DB.Write with something to return.
func Write[V any](ctx context.Context, db *DB, mode Durability, op string, fn func(*Tx) (V, error)) (V, error) {
	return got(func(run func(*Tx) error) error { return db.Write(ctx, mode, op, run) }, fn)
}

// got is what the last try of fn returned, and nothing with an error.
func got[V any](transaction func(func(*Tx) error) error, fn func(*Tx) (V, error)) (v V, err error) {
	if err = transaction(func(t *Tx) (err error) {
		v, err = fn(t)
		return err
	}); err != nil {
		var none V
		return none, err
	}
	return v, nil
}

// Listed is Views in a transaction of its own.
func Listed[R, V any](ctx context.Context, db *DB, what string, view func(*R) V, query string, args ...any) ([]V, error) {
	return Read(ctx, db, what, func(t *Tx) ([]V, error) { return Views(t, view, query, args...) })
}

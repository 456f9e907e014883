package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"switchboard/internal/testkit"
	"switchboard/store"
	"switchboard/store/database"
)

// Exec runs statements in one transaction.
func Exec(t testing.TB, db *store.DB, statements ...string) {
	t.Helper()
	if err := Write(t.Context(), db, statements...); err != nil {
		t.Fatal(err)
	}
}

// Write runs statements in one transaction.
func Write(ctx context.Context, db *store.DB, statements ...string) error {
	return WriteFunc(ctx, db, true, func(exec func(string) error) error {
		for _, s := range statements {
			if err := exec(s); err != nil {
				return err
			}
		}
		return nil
	})
}

// WriteFunc runs fn in one transaction.
func WriteFunc(ctx context.Context, db *store.DB, durable bool, fn func(exec func(string) error) error) error {
	mode := database.Async
	if durable {
		mode = database.Durable
	}
	return db.Write(ctx, mode, "test", func(t *database.Tx) error {
		return fn(func(s string) error {
			_, err := t.Exec(s)
			return err
		})
	})
}

// OpenTransaction runs a statement in a transaction that commits when end is called.
func OpenTransaction(ctx context.Context, db *store.DB, query string) (end func() error, err error) {
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

// Scan reads one column of one row.
func Scan(ctx context.Context, db *store.DB, query string, dest any, args ...any) error {
	return db.Read(ctx, "scan", func(t *database.Tx) error {
		_, err := t.Row(query, args, dest)
		return err
	})
}

// Count runs a query that gives one number.
func Count(ctx context.Context, db *store.DB, query string, args ...any) (n int64, err error) {
	err = Scan(ctx, db, query, &n, args...)
	return n, err
}

// Literal is the query with args, which are SQL, for its first parameters.
func Literal(query string, args ...string) string {
	for _, arg := range args {
		query = strings.Replace(query, "?", arg, 1)
	}
	return query
}

// RowsRead is how many rows of tables PostgreSQL read for a query, in all.
func RowsRead(ctx context.Context, db *store.DB, query string) (rows int64, err error) {
	err = db.Write(ctx, database.Async, "count rows read", func(t *database.Tx) error {
		const read = `SELECT CAST(coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0) AS bigint) FROM pg_stat_xact_user_tables`
		var before, after int64
		if _, err := t.Row(read, nil, &before); err != nil {
			return err
		}
		r, err := t.Q.Query(query)
		if err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
		for r.Next() {
		}
		if err := r.Close(); err != nil {
			return err
		}
		_, err = t.Row(read, nil, &after)
		rows = after - before
		return err
	})
	return rows, err
}

// AwaitBlocked waits until so many transactions of a database on PostgreSQL wait for others.
func AwaitBlocked(t testing.TB, db *store.DB, n int64) {
	t.Helper()
	testkit.Await(t, "transactions that wait", time.Minute, func() bool {
		waiting, err := Count(t.Context(), db, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
		return err == nil && waiting >= n
	})
}

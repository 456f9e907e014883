package storetest

import (
	"context"
	"strconv"
	"testing"
	"time"

	"switchboard/store"
	"switchboard/store/database"
)

// Exec runs statements in one transaction.
func Exec(t testing.TB, db *store.DB, statements ...string) {
	t.Helper()
	err := db.DB.Write(t.Context(), database.Durable, "test", func(t *database.Tx) error {
		for _, s := range statements {
			if _, err := t.Exec(s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Count runs a query that gives one number.
func Count(ctx context.Context, db *store.DB, query string, args ...any) (n int64, err error) {
	err = db.Read(ctx, "count", func(t *database.Tx) error {
		_, err := t.Row(query, args, &n)
		return err
	})
	return n, err
}

// OldServer makes it seem long ago that the server was started.
func OldServer(t testing.TB, db *store.DB) {
	t.Helper()
	Exec(t, db, "CREATE OR REPLACE FUNCTION sb_started() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT CAST(0 AS bigint)'")
}

// ServerClock sets the database's clock so much ahead of the real one.
func ServerClock(t testing.TB, db *store.DB, by time.Duration) {
	t.Helper()
	Exec(t, db, "CREATE OR REPLACE FUNCTION sb_clock() RETURNS bigint LANGUAGE sql VOLATILE AS "+
		"'SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint) + ("+strconv.FormatInt(by.Microseconds(), 10)+")'")
}

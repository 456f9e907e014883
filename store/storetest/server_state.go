package storetest

import (
	"strconv"
	"testing"
	"time"

	"switchboard/store"
)

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

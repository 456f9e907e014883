package storetest

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/store"
	"switchboard/store/database"
)

// Exec runs statements in one transaction.
func Exec(t testing.TB, db *store.DB, statements ...string) {
	t.Helper()
	err := db.DB.Write(t.Context(), database.Full, "test", func(t *database.Tx) error {
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

// Wait waits until done, for 10 s.
func Wait(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !done(); {
		if time.Now().After(end) {
			t.Fatalf("10 s and not: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Notes is a log to look at.
type Notes struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (n *Notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

// Count says how often word was written.
func (n *Notes) Count(word string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Count(n.text.String(), word)
}

// String is all of it.
func (n *Notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

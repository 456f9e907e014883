// Package storetest gives tests a real store: a SQLite file in a temporary
// folder, and a schema of its own on a real PostgreSQL server.
//
// The server is the one in TEST_POSTGRES_DSN, or one that the first test of the
// process starts from the local binaries. Where there are none, tests on
// PostgreSQL are skipped with one loud line, or fail when CI=true.
package storetest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/lib/pq" // the driver "postgres"

	"switchboard/secrets"
	"switchboard/store"
	"switchboard/store/database"
)

// Each runs f as a subtest on SQLite and on PostgreSQL, both migrated and empty.
// The subtests run in parallel.
func Each(t *testing.T, f func(t *testing.T, db *store.DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(t, SQLite(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		f(t, Postgres(t))
	})
}

// SQLite is a migrated store in a file of its own, closed when the test ends.
func SQLite(t testing.TB) *store.DB {
	t.Helper()
	return open(t, "sqlite:"+filepath.Join(t.TempDir(), "switchboard.db"))
}

// Postgres is a migrated store in a schema of its own, dropped when the test ends.
func Postgres(t testing.TB) *store.DB {
	t.Helper()
	return open(t, PostgresURL(t))
}

// PostgresURL is the address of an empty schema, for [store] url. A row that names
// one which is not there when the test ends fails it.
func PostgresURL(t testing.TB) string {
	t.Helper()
	base, err := server()
	if err != nil {
		unavailable(t, err)
	}
	schema := "t" + strings.ToLower(rand.Text())
	if err := admin(base, "CREATE SCHEMA "+schema); err != nil {
		t.Fatalf("PostgreSQL for tests: %v", err)
	}
	var address string
	t.Cleanup(func() {
		if found, err := orphans(address); err != nil || found != nil {
			t.Errorf("rows name others that are not there: %v %v", found, err)
		}
		if err := admin(base, "DROP SCHEMA "+schema+" CASCADE"); err != nil {
			t.Errorf("PostgreSQL for tests: %v", err)
		}
	})
	u, err := url.Parse(base)
	if err != nil {
		t.Fatalf("TEST_POSTGRES_DSN must be an address postgres://…: %v", err)
	}
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	address = u.String()
	return address
}

func open(t testing.TB, address string) *store.DB {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	db, err := store.Open(ctx, database.Config{URL: secrets.Secret(address)}, "", slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatalf("open store: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	if err := db.Migrate(ctx); err != nil {
		t.Fatalf("migrate: %v", err)
	}
	return db
}

// admin runs one statement on a connection of its own.
func admin(base, statement string) error {
	db, err := sql.Open("postgres", base)
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	if _, err := db.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// Package storetest gives tests a real store: a SQLite file in a temporary
// folder, and a database of its own on a real PostgreSQL server. Both are copies of one
// that the process migrated once, because a migration costs more than most tests do.
//
// The server is the one in TEST_POSTGRES_DSN, whose user may create databases, or one
// that the first test of the process starts from the local binaries. Where there are
// none, tests on PostgreSQL are skipped with one loud line, or fail when CI=true.
package storetest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/lib/pq" // the driver "postgres"

	"switchboard/internal/testkit"
	"switchboard/store"
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

// EachHouse is Each with an engine, for a test that runs in parallel with others.
func EachHouse(t *testing.T, test func(t *testing.T, h *House)) {
	t.Helper()
	t.Parallel()
	Each(t, func(t *testing.T, db *store.DB) { test(t, NewHouse(t, db)) })
}

// An Own is the house of a package's tests: the shared one, with what only those need.
type Own interface{ ~struct{ *House } }

// NewOwn is NewHouse as the package has it.
func NewOwn[H Own](t testing.TB, db *store.DB) *H {
	t.Helper()
	return &H{NewHouse(t, db)}
}

// EachOwn is EachHouse as the package has it.
func EachOwn[H Own](t *testing.T, test func(t *testing.T, h *H)) {
	t.Helper()
	EachHouse(t, func(t *testing.T, h *House) { test(t, &H{h}) })
}

// Main runs the tests of a package of the store, eight at once: they wait for owners to expire, and for servers
// that are away.
func Main(m *testing.M) { testkit.Main(m, 8) }

// SQLite is a migrated store in a file of its own, closed when the test ends.
func SQLite(t testing.TB) *store.DB {
	t.Helper()
	return Opened(t, "sqlite:"+SQLiteFile(t, t.TempDir()), "", Quiet)
}

// SQLiteFile is the path of a migrated, empty database in a data folder, as the program calls it.
func SQLiteFile(t testing.TB, folder string) string {
	t.Helper()
	file, err := migratedFile()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "switchboard.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Postgres is a migrated store in a database of its own, dropped when the test ends.
func Postgres(t testing.TB) *store.DB {
	t.Helper()
	return Opened(t, MigratedURL(t), "", Quiet)
}

// MigratedURL is PostgresURL of a migrated database, for what takes no interest in its first start.
func MigratedURL(t testing.TB) string {
	t.Helper()
	if os.Getenv(foreign) == "" {
		return newDatabase(t, migratedDatabase)
	}
	address := PostgresURL(t) // nobody would remove the migrated database from a server that stays
	if err := migrate(address); err != nil {
		t.Fatal(err)
	}
	return address
}

// PostgresURL is the address of an empty database, for [store] url. A row that names
// one which is not there when the test ends fails it.
func PostgresURL(t testing.TB) string {
	t.Helper()
	return newDatabase(t, func() (string, error) { return "template0", nil })
}

// newDatabase makes a database that is a copy of another.
func newDatabase(t testing.TB, other func() (string, error)) string {
	t.Helper()
	base, err := server()
	if err != nil {
		unavailable(t, err)
	}
	name := "t" + strings.ToLower(rand.Text())
	address := named(base, name)
	template, err := other()
	if err == nil {
		err = admin(base, "CREATE DATABASE "+name+" TEMPLATE "+template)
	}
	if err != nil {
		t.Fatalf("PostgreSQL for tests: %v", err)
	}
	t.Cleanup(func() {
		if found, err := orphans(address); err != nil || found != nil {
			t.Errorf("rows name others that are not there: %v %v", found, err)
		}
		if err := admin(base, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("PostgreSQL for tests: %v", err)
		}
	})
	return address
}

// named is the address of another database of the same server.
func named(base, name string) string {
	u, err := url.Parse(base)
	if err != nil || u.Scheme == "" {
		panic("TEST_POSTGRES_DSN must be an address postgres://…")
	}
	u.Path = "/" + name
	return u.String()
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

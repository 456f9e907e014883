package store_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/secrets"
	"switchboard/store"
	"switchboard/store/storetest"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("not a database, but long enough to look at"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ url, want string }{
		"form":     {"mysql://x", "[store] url must be"},
		"no path":  {"sqlite:", "path"},
		"folder":   {"sqlite:" + filepath.Join(file, "sub", "db"), "cannot be made"},
		"is a dir": {"sqlite:" + dir, "cannot be written"},
		"no db":    {"sqlite:" + file, "no database"},
		"down":     {"postgres://u:hunter2@127.0.0.1:1/x?sslmode=disable", "does not answer"},
		"escape":   {"postgres://u:hun%ter2@h/x", "escape special characters"},
		"option":   {"postgres://u:hunter2@127.0.0.1:1/x?sslmode=bogus", "url"},
		"socket":   {"postgres://u:hunter2@/x?sslmode=disable&host=" + dir, "does not answer"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
			defer stop()
			db, err := store.Open(ctx, store.Config{URL: secrets.Secret(tt.url)}, dir, quiet)
			if err == nil {
				t.Fatal(db.Close())
			}
			if !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "hun%ter2") {
				t.Errorf("%v; want %q", err, tt.want)
			}
		})
	}
}

func TestOpenMakesAPrivateFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a b?c#d%20", "ü")
	db, err := store.Open(t.Context(), store.Config{}, dir, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	newHouse(t, db)
	for _, f := range []string{"switchboard.db", "switchboard.db-wal", "switchboard.db.lock"} {
		if info, err := os.Stat(filepath.Join(dir, f)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f, info, err)
		}
	}
}

func TestNotMigrated(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), store.Config{}, t.TempDir(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Router().Turns(t.Context(), "", 1); !errors.Is(err, store.ErrNotMigrated) {
		t.Errorf("%v", err)
	}
}

// promise: L.migration-guard
func TestMigrationGuard(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHouse(t, db)
		h.accept(entry("c", "1", "hello"))
		for _, script := range []string{
			"CREATE TABLE extra (n integer); DELETE FROM event_keys;",
			"CREATE TABLE extra (n integer); DROP TABLE event_keys;",
		} {
			err := db.MigrateAlso(h.ctx, script)
			if !errors.Is(err, store.ErrGuard) || !strings.Contains(err.Error(), "event_keys") {
				t.Errorf("%v", err)
			}
		}
		if err := db.MigrateAlso(h.ctx, "CREATE TABLE extra (n integer); SELECT nonsense;"); err == nil || !strings.Contains(err.Error(), "migration 9999") {
			t.Errorf("%v", err)
		}
		if n, err := db.Count(h.ctx, "SELECT count(*) FROM event_keys"); n != 1 || err != nil {
			t.Errorf("%d keys, %v", n, err)
		}
		if _, err := db.Count(h.ctx, "SELECT count(*) FROM extra"); err == nil {
			t.Error("a refused migration left its table")
		}
		if err := db.MigrateAlso(h.ctx, "CREATE TABLE extra (n integer);"); err != nil {
			t.Error(err)
		}
		st, err := db.MigrationStatus(h.ctx)
		if err != nil || len(st) == 0 || !st[0].Applied || st[0].Name != "first" || time.Since(st[0].AppliedAt).Abs() > time.Minute {
			t.Errorf("%+v, %v", st, err)
		}
	})
}

// promise: P10.same-on-both
func TestTwinsHaveTheSameColumns(t *testing.T) {
	t.Parallel()
	lite, err := storetest.SQLite(t).Columns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pg, err := storetest.Postgres(t).Columns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ours := func(c string) bool { return strings.HasPrefix(c, "goose_") }
	lite, pg = slices.DeleteFunc(lite, ours), slices.DeleteFunc(pg, ours)
	if !slices.Equal(lite, pg) || len(lite) < 150 {
		t.Errorf("SQLite %d columns, PostgreSQL %d\n%v\n%v", len(lite), len(pg), lite, pg)
	}
}

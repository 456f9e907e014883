package store_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"switchboard/internal/secrets"
	"switchboard/store"
	"switchboard/store/database"
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
			db, err := store.Open(ctx, database.Config{URL: secrets.Secret(tt.url)}, dir, quiet)
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
	db, err := store.Open(t.Context(), database.Config{}, dir, quiet)
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

func TestUnmigratedDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), database.Config{}, t.TempDir(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Router().Turns(t.Context(), storetest.All, "", 1); !errors.Is(err, database.ErrNotMigrated) {
		t.Errorf("%v", err)
	}
}

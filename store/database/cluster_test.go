package database_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"switchboard/store/database"
	"switchboard/store/engines"
	"switchboard/store/storetest"
)

// starts starts an engine and stops it again.
func starts(t *testing.T, url, dir string) error {
	t.Helper()
	e, err := engines.Start(t.Context(), storetest.Opened(t, url, dir, quiet).DB, false)
	if err == nil {
		err = e.Close(t.Context())
	}
	return err
}

func TestDatabaseOfAnotherDataFolderIsRefused(t *testing.T) {
	t.Parallel()
	url, dir := storetest.PostgresURL(t), t.TempDir()
	for range 2 {
		if err := starts(t, url, dir); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "cluster"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	id, err := os.ReadFile(filepath.Join(dir, "cluster"))
	if err != nil {
		t.Fatal(err)
	}
	fresh, full := t.TempDir(), t.TempDir()
	other := storetest.PostgresURL(t)
	if err := starts(t, other, full); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, url, dir, says string }{
		{"a fresh folder", url, fresh, strings.TrimSpace(string(id))},
		{"another database's folder", url, full, strings.TrimSpace(string(id))},
		{"a fresh database", storetest.PostgresURL(t), dir, "remove " + filepath.Join(dir, "cluster")},
		{"another folder's database", other, dir, "belongs to"},
	} {
		err := starts(t, c.url, c.dir)
		if !errors.Is(err, database.ErrCluster) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// What the error says to do helps.
	if err := os.WriteFile(filepath.Join(fresh, "cluster"), id, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := starts(t, url, fresh); err != nil {
		t.Errorf("a folder that was accepted: %v", err)
	}
	if err := os.Remove(filepath.Join(full, "cluster")); err != nil {
		t.Fatal(err)
	}
	if err := starts(t, storetest.PostgresURL(t), full); err != nil {
		t.Errorf("a folder made free for a new database: %v", err)
	}
}

// A database that is not the folder's is refused before it is migrated.
func TestRefusedDatabaseIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := starts(t, storetest.PostgresURL(t), dir); err != nil {
		t.Fatal(err)
	}
	empty := storetest.PostgresURL(t)
	if err := starts(t, empty, dir); !errors.Is(err, database.ErrCluster) {
		t.Errorf("a start: %v", err)
	}
	db := storetest.Opened(t, empty, dir, quiet)
	if err := db.Migrate(t.Context()); !errors.Is(err, database.ErrCluster) {
		t.Errorf("migrate: %v", err)
	}
	if tables, err := db.Columns(t.Context()); err != nil || len(tables) != 0 {
		t.Errorf("it has %d columns, %v", len(tables), err)
	}
}

// A database that is older, and another folder's, is not brought up to date.
func TestOlderDatabaseOfAnotherFolderIsNotMigrated(t *testing.T) {
	t.Parallel()
	url := storetest.PostgresURL(t)
	if err := starts(t, url, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	db := storetest.Opened(t, url, t.TempDir(), quiet)
	if err := db.MigrateAlso(t.Context(), "CREATE TABLE later (id int)"); !errors.Is(err, database.ErrCluster) {
		t.Errorf("migrate: %v", err)
	}
}

// A first start that was cut off is gone on with, and several at once agree.
func TestFirstStartThatWasCutOffIsFinished(t *testing.T) {
	t.Parallel()
	url, dir := storetest.PostgresURL(t), t.TempDir()
	db := storetest.Opened(t, url, dir, quiet)
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cluster.new"), []byte("meant\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, db, "INSERT INTO cluster (id, created_at) VALUES ('meant', 1)")
	if err := starts(t, url, dir); err != nil {
		t.Errorf("cut off before the folder had its name: %v", err)
	}
	url, dir = storetest.PostgresURL(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "cluster.new"), []byte("meant\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := starts(t, url, dir); err != nil {
		t.Errorf("cut off before the database had its name: %v", err)
	}
	if id, err := os.ReadFile(filepath.Join(dir, "cluster")); string(id) != "meant\n" {
		t.Errorf("the folder is %q, %v", id, err)
	}
	url, dir = storetest.PostgresURL(t), t.TempDir()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := starts(t, url, dir); err != nil {
				t.Errorf("several at once: %v", err)
			}
		})
	}
	all.Wait()
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 2 { // cluster and run
		t.Errorf("the folder has %v, %v", left, err)
	}
}

package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"switchboard/internal/secrets"
	"switchboard/store"
	"switchboard/store/database"
	"switchboard/store/engines"
	"switchboard/store/storetest"
)

// copied is the file of a database as a program leaves it: with its log when it was
// killed, without where it ended.
func copied(t *testing.T, path, dir string) database.Config {
	t.Helper()
	to := filepath.Join(dir, "switchboard.db")
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		if os.IsNotExist(err) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to+suffix, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return database.Config{URL: secrets.Secret("sqlite:" + to)}
}

// On a full disk, and in a folder that cannot be written, all is read that was
// committed: with the log of an engine that was killed, and without.
func TestCommittedIsReadWhereNothingCanBeWritten(t *testing.T) {
	for _, place := range []string{"full", "read-only"} {
		for _, end := range []string{"killed", "ended"} {
			t.Run(place+"/"+end, func(t *testing.T) {
				dir := t.TempDir()
				storetest.SmallDisk(t, dir, "size=8m")
				db := storetest.SQLite(t)
				h := newHouse(t, db)
				h.Accept(storetest.Entry("c1", "1", "first"), storetest.Entry("c2", "2", "second"))
				if end == "ended" {
					if err := db.EmptyLog(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				cfg := copied(t, db.Path(), dir)
				if place == "full" {
					if err := fill(filepath.Join(dir, "ballast")); err != nil {
						t.Fatal(err)
					}
					_ = os.WriteFile(filepath.Join(dir, "rest"), make([]byte, 128<<10), 0o600)
				} else {
					storetest.ReadOnly(t, dir)
				}
				if written, err := store.Open(t.Context(), cfg, dir, quiet); err != nil {
					if !database.Unwritable(err) {
						t.Errorf("not said to be unwritable: %v", err)
					}
				} else if _, err := engines.Start(t.Context(), written.DB, false); err == nil || !database.Unwritable(err) {
					t.Errorf("not said to be unwritable: %v", err)
				} else {
					written.Close()
				}
				read, err := store.OpenReadOnly(t.Context(), cfg, dir, quiet)
				if err != nil {
					t.Fatal(err)
				}
				defer read.Close()
				list, err := read.Router().Turns(t.Context(), storetest.All, "", 10)
				if err != nil || len(list) != 2 || list[0].Text != "second" {
					t.Errorf("%+v, %v", list, err)
				}
				if err := storetest.Write(t.Context(), read, "DELETE FROM turns"); err == nil {
					t.Error("it was written")
				}
			})
		}
	}
}

package store_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"switchboard/internal/secrets"
	"switchboard/store"
	"switchboard/store/backup"
	"switchboard/store/blobs"
	"switchboard/store/database"
	"switchboard/store/storetest"
)

// Many turns, with a prompt of 4 KB each that does not compress, their audit rows, and files of
// 256 KB, go from SQLite to PostgreSQL and back; the log says how long each way takes.
func TestBackupOfManyTurns(t *testing.T) {
	dir, turns := t.TempDir(), longTurns(t)
	db := storetest.SQLite(t)
	h := newHouse(t, db)
	if err := h.message(h.Hold(), "old", 1); err != nil {
		t.Fatal(err)
	}
	for left := turns; left > 0; left -= 5000 {
		h.age("old", min(left, 5000))
	}
	storetest.Exec(t, db,
		"INSERT INTO llm_calls (turn_id, step, ordinal, role, provider, model, tokens_in, tokens_out, cost, created_at) SELECT id, 'plan.0.9', 9, 'planner', 'p', 'm', id, 20, id / 1e6, 1 FROM turns",
		"INSERT INTO llm_bodies (turn_id, step, request, expires_at) SELECT id, 'plan.0.9', randomblob(4000), 9e15 FROM turns",
		"INSERT INTO event_keys (key, expires_at) SELECT randomblob(32), 9e15 FROM turns",
		"INSERT INTO audit (person, action, target, outcome, turn_id, created_at) SELECT person, 'turn', 'turn ' || id, outcome, id, 1 FROM turns")
	files := blobs.New(filepath.Join(dir, "attachments"))
	for i := range max(1, turns/500) {
		blob, size, err := files.Put(t.Context(), 0, func(w io.Writer) error {
			r := rand.NewChaCha8([32]byte{byte(i), byte(i >> 8)})
			_, err := io.CopyN(w, r, 256<<10)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		storetest.Exec(t, db, fmt.Sprintf("INSERT INTO attachments (session_id, position, state, blob, size, created_at, used_at) VALUES (1, %d, 'clean', '%s', %d, 1, 1)", i, blob, size))
	}
	first := moved(t, db, files, storetest.PostgresURL(t), "PostgreSQL")
	second := moved(t, first, files, "sqlite:"+filepath.Join(t.TempDir(), "switchboard.db"), "SQLite")
	if n, err := storetest.Count(t.Context(), second, "SELECT count(*) FROM turns"); err != nil || n != int64(turns)+1 {
		t.Errorf("%d turns, %v", n, err)
	}
}

// moved backs a database up and restores it into another.
func moved(t *testing.T, db *store.DB, files *blobs.Dir, url, name string) *store.DB {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "backup"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	said := func(string) {}
	began := time.Now()
	made, err := backup.Write(t.Context(), backup.Source{DB: db.DB, Files: files, Said: said}, file)
	if err == nil {
		err = file.Sync()
	}
	if err != nil {
		t.Fatal(err)
	}
	backed := time.Since(began)
	began = time.Now()
	dir := t.TempDir()
	restored, err := backup.Restore(t.Context(), backup.Target{
		Schema: store.Schema, Config: database.Config{URL: secrets.Secret(url)}, DataDir: dir, Files: blobs.New(filepath.Join(dir, "attachments")), Log: quiet, Said: said,
	}, file)
	if err != nil || !reflect.DeepEqual(restored, made) {
		t.Fatalf("%v\n%+v\n%+v", err, restored, made)
	}
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d turns, %d rows, %d files: backed up from %s in %s, restored into %s in %s, a file of %d MB",
		made.Count("turns"), made.Rows(), made.Files, db.Kind(), backed.Round(time.Millisecond), name, time.Since(began).Round(time.Millisecond), info.Size()>>20)
	return storetest.Opened(t, url, dir, quiet)
}

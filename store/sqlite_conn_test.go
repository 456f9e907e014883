package store

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"switchboard/router"
)

func liteDB(t *testing.T) *DB {
	t.Helper()
	s, err := openSQLite(t.Context(), filepath.Join(t.TempDir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	db := &DB{lite: s, log: slog.New(slog.DiscardHandler), now: time.Now}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.write(t.Context(), rides, "make", func(t *tx) error {
		_, err := t.exec("CREATE TABLE x (n INTEGER PRIMARY KEY, s TEXT, b BLOB, f REAL)")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return db
}

// Values come back as they went in, through every kind of variable that queries
// here use, and what does not fit is an error.
func TestValuesOfSQLite(t *testing.T) {
	t.Parallel()
	db := liteDB(t)
	type word string
	text := "ü"
	err := db.write(t.Context(), rides, "insert", func(t *tx) error {
		_, err := t.exec("INSERT INTO x VALUES (?, ?, ?, ?), (?, ?, ?, ?)", 1, word("a"), []byte{0, 255}, 0.5, true, &text, nil, nil)
		if !errors.Is(explain(err), ErrConflict) {
			return errors.New("the same key twice")
		}
		_, err = t.exec("INSERT INTO x VALUES (?, ?, ?, ?), (?, ?, ?, ?)", 1, word("a"), []byte{0, 255}, 0.5, int64(2), &text, nil, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, read := range []func(context.Context, string, func(*tx) error) error{db.read, db.look} {
		err := read(t.Context(), "read", func(tx *tx) error {
			var (
				n     int
				yes   bool
				w     word
				blob  []byte
				f     float64
				maybe *string
			)
			if found, err := tx.row("SELECT n, n, s, b, f, s FROM x WHERE n = ?", []any{1}, &n, &yes, &w, &blob, &f, &maybe); err != nil || !found {
				t.Error(found, err)
			}
			if n != 1 || !yes || w != "a" || string(blob) != "\x00\xff" || f != 0.5 || maybe == nil || *maybe != "a" {
				t.Error(n, yes, w, blob, f, maybe)
			}
			if _, err := tx.row("SELECT b, s, b FROM x WHERE n = 2", nil, &blob, &w, &maybe); err != nil || blob != nil || w != "ü" || maybe != nil {
				t.Error(blob, w, maybe, err)
			}
			if _, err := tx.row("SELECT b FROM x WHERE n = 2", nil, &w); err == nil {
				t.Error("NULL went into a text")
			}
			if _, err := tx.row("SELECT s FROM x", nil, &n); err == nil {
				t.Error("a text went into a number")
			}
			var list []struct {
				N int64
				S word
				B []byte
			}
			if err := tx.all(&list, "SELECT n, s, b FROM x ORDER BY n"); err != nil || len(list) != 2 || list[1].S != "ü" {
				t.Error(list, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// A transaction that only looks commits nothing, and its error is no reason to run
// others of the same commit again.
func TestLooksAreNoCommits(t *testing.T) {
	t.Parallel()
	db := liteDB(t)
	before := db.FullCommits()
	runs, hold := 0, make(chan struct{})
	go func() {
		_ = db.write(context.WithoutCancel(t.Context()), rides, "hold", func(*tx) error { <-hold; return nil })
	}()
	for len(db.lite.token) > 0 {
		time.Sleep(time.Millisecond)
	}
	done := make(chan error, 2)
	go func() {
		done <- db.write(context.WithoutCancel(t.Context()), full, "look", func(tx *tx) error {
			var n int
			_, err := tx.row("SELECT count(*) FROM x", nil, &n)
			return errors.Join(err, router.ErrFenced)
		})
	}()
	for len(db.lite.queue) < 1 {
		time.Sleep(time.Millisecond)
	}
	go func() {
		done <- db.look(context.WithoutCancel(t.Context()), "look", func(tx *tx) error {
			runs++
			var n int
			_, err := tx.row("SELECT count(*) FROM x", nil, &n)
			return err
		})
	}()
	for len(db.lite.queue) < 2 {
		time.Sleep(time.Millisecond)
	}
	close(hold)
	if a, b := <-done, <-done; errors.Is(a, router.ErrFenced) == errors.Is(b, router.ErrFenced) {
		t.Error(a, b)
	}
	if runs != 1 || db.FullCommits() != before {
		t.Errorf("%d runs, %d synced commits", runs, db.FullCommits()-before)
	}
}

// A function that panics is an error of its own; the next caller writes as ever.
func TestPanicInTransaction(t *testing.T) {
	t.Parallel()
	db := liteDB(t)
	err := db.write(t.Context(), full, "boom", func(tx *tx) error {
		if _, err := tx.exec("INSERT INTO x (n) VALUES (7)"); err != nil {
			return err
		}
		panic("boom")
	})
	if err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("%v", err)
	}
	var n int
	err = db.write(t.Context(), full, "after", func(tx *tx) error {
		_, err := tx.row("SELECT count(*) FROM x", nil, &n)
		return err
	})
	if err != nil || n != 0 {
		t.Errorf("%d rows of it, %v", n, err)
	}
}

// More statements than are kept are no fault.
func TestManyStatements(t *testing.T) {
	t.Parallel()
	db := liteDB(t)
	for i := range 2*maxPrepared + 3 {
		if err := db.read(t.Context(), "read", func(tx *tx) error {
			var n int
			_, err := tx.row("SELECT "+name(int64(i)), nil, &n)
			if n != i {
				t.Errorf("%d, want %d", n, i)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := db.read(ended, "read", func(tx *tx) error { _, err := tx.row("SELECT 1", nil, new(int)); return err }); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who is gone: %v", err)
	}
}

// A durable commit is one that was synced; when the disk refuses, it says so, and
// the others do not care.
func TestDurableCommitsAreSynced(t *testing.T) {
	t.Parallel()
	db := liteDB(t)
	add := func(mode durability) error {
		return db.write(t.Context(), mode, "add", func(tx *tx) error {
			_, err := tx.exec("INSERT INTO x (s) VALUES ('')")
			return err
		})
	}
	if err := add(rides); err != nil || db.lite.wal.f != nil {
		t.Errorf("%v, log opened: %v", err, db.lite.wal.f != nil)
	}
	if err := add(full); err != nil || db.lite.wal.f == nil {
		t.Fatalf("%v, log opened: %v", err, db.lite.wal.f != nil)
	}
	if info, err := db.lite.wal.f.Stat(); err != nil || info.Size() == 0 {
		t.Errorf("what is synced is not the log: %v", err)
	}
	_ = db.lite.wal.f.Close()
	if err := add(full); !errors.Is(err, ErrUnavailable) {
		t.Errorf("unsynced: %v", err)
	}
	if err := add(rides); err != nil {
		t.Errorf("%v", err)
	}
	db.lite.wal.f = nil
}

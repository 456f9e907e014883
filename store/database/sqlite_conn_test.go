package database

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"switchboard/router/core"
)

func liteDB(t *testing.T) *DB {
	t.Helper()
	s, err := openSQLite(t.Context(), filepath.Join(t.TempDir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	db := &DB{lite: s, log: slog.New(slog.DiscardHandler), Now: time.Now}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Write(t.Context(), Async, "make", func(t *Tx) error {
		_, err := t.Exec("CREATE TABLE x (n INTEGER PRIMARY KEY, s TEXT, b BLOB, f REAL)")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return db
}

// Values come back as they went in, through every kind of variable that queries
// here use, and what does not fit is an error.
func TestValuesComeBackFromSQLiteAsTheyWentIn(t *testing.T) {
	t.Parallel()
	db := liteDB(t)
	type word string
	text := "ü"
	err := db.Write(t.Context(), Async, "insert", func(t *Tx) error {
		_, err := t.Exec("INSERT INTO x VALUES (?, ?, ?, ?), (?, ?, ?, ?)", 1, word("a"), []byte{0, 255}, 0.5, true, &text, nil, nil)
		if !errors.Is(Explain(err), core.ErrConflict) {
			return errors.New("the same key twice")
		}
		_, err = t.Exec("INSERT INTO x VALUES (?, ?, ?, ?), (?, ?, ?, ?)", 1, word("a"), []byte{0, 255}, 0.5, int64(2), &text, nil, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, read := range []func(context.Context, string, func(*Tx) error) error{db.Read, db.Look} {
		err := read(t.Context(), "read", func(tx *Tx) error {
			var (
				n     int
				yes   bool
				w     word
				blob  []byte
				f     float64
				maybe *string
			)
			if found, err := tx.Row("SELECT n, n, s, b, f, s FROM x WHERE n = ?", []any{1}, &n, &yes, &w, &blob, &f, &maybe); err != nil || !found {
				t.Error(found, err)
			}
			if n != 1 || !yes || w != "a" || string(blob) != "\x00\xff" || f != 0.5 || maybe == nil || *maybe != "a" {
				t.Error(n, yes, w, blob, f, maybe)
			}
			if _, err := tx.Row("SELECT b, s, b FROM x WHERE n = 2", nil, &blob, &w, &maybe); err != nil || blob != nil || w != "ü" || maybe != nil {
				t.Error(blob, w, maybe, err)
			}
			if _, err := tx.Row("SELECT b FROM x WHERE n = 2", nil, &w); err == nil {
				t.Error("NULL went into a text")
			}
			if _, err := tx.Row("SELECT s FROM x", nil, &n); err == nil {
				t.Error("a text went into a number")
			}
			var list []struct {
				N int64
				S word
				B []byte
			}
			if err := tx.All(&list, "SELECT n, s, b FROM x ORDER BY n"); err != nil || len(list) != 2 || list[1].S != "ü" {
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
	before := db.Commits()
	runs, hold := 0, make(chan struct{})
	go func() {
		_ = db.Write(context.WithoutCancel(t.Context()), Async, "hold", func(*Tx) error { <-hold; return nil })
	}()
	for len(db.lite.token) > 0 {
		time.Sleep(time.Millisecond)
	}
	done := make(chan error, 2)
	go func() {
		done <- db.Write(context.WithoutCancel(t.Context()), Durable, "look", func(tx *Tx) error {
			var n int
			_, err := tx.Row("SELECT count(*) FROM x", nil, &n)
			return errors.Join(err, core.ErrFenced)
		})
	}()
	for len(db.lite.queue) < 1 {
		time.Sleep(time.Millisecond)
	}
	go func() {
		done <- db.Look(context.WithoutCancel(t.Context()), "look", func(tx *Tx) error {
			runs++
			var n int
			_, err := tx.Row("SELECT count(*) FROM x", nil, &n)
			return err
		})
	}()
	for len(db.lite.queue) < 2 {
		time.Sleep(time.Millisecond)
	}
	close(hold)
	if a, b := <-done, <-done; errors.Is(a, core.ErrFenced) == errors.Is(b, core.ErrFenced) {
		t.Error(a, b)
	}
	if runs != 1 || db.Commits() != before {
		t.Errorf("%d runs, commits %+v, before %+v", runs, db.Commits(), before)
	}
}

// A function that panics is an error of its own; the next caller writes as ever.
func TestPanicInATransactionIsItsOwnError(t *testing.T) {
	t.Parallel()
	db := liteDB(t)
	err := db.Write(t.Context(), Durable, "boom", func(tx *Tx) error {
		if _, err := tx.Exec("INSERT INTO x (n) VALUES (7)"); err != nil {
			return err
		}
		panic("boom")
	})
	if err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("%v", err)
	}
	var n int
	err = db.Write(t.Context(), Durable, "after", func(tx *Tx) error {
		_, err := tx.Row("SELECT count(*) FROM x", nil, &n)
		return err
	})
	if err != nil || n != 0 {
		t.Errorf("%d rows of it, %v", n, err)
	}
}

// More statements than are kept are no fault.
func TestMoreStatementsThanAreKeptAreNoFault(t *testing.T) {
	t.Parallel()
	db := liteDB(t)
	for i := range 2*maxPrepared + 3 {
		if err := db.Read(t.Context(), "read", func(tx *Tx) error {
			var n int
			_, err := tx.Row("SELECT "+strconv.Itoa(i), nil, &n)
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
	if err := db.Read(ended, "read", func(tx *Tx) error { _, err := tx.Row("SELECT 1", nil, new(int)); return err }); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who is gone: %v", err)
	}
}

// A durable commit is one that was synced; when the disk refuses, it says so, and
// the others do not care.
func TestDurableCommitsAreSynced(t *testing.T) {
	t.Parallel()
	db := liteDB(t)
	add := func(mode Durability) error {
		return db.Write(t.Context(), mode, "add", func(tx *Tx) error {
			_, err := tx.Exec("INSERT INTO x (s) VALUES ('')")
			return err
		})
	}
	if err := add(Async); err != nil || db.lite.wal.f != nil {
		t.Errorf("%v, log opened: %v", err, db.lite.wal.f != nil)
	}
	if err := add(Durable); err != nil || db.lite.wal.f == nil {
		t.Fatalf("%v, log opened: %v", err, db.lite.wal.f != nil)
	}
	if info, err := db.lite.wal.f.Stat(); err != nil || info.Size() == 0 {
		t.Errorf("what is synced is not the log: %v", err)
	}
	_ = db.lite.wal.f.Close()
	if err := add(Durable); !errors.Is(err, ErrUnavailable) {
		t.Errorf("unsynced: %v", err)
	}
	if err := add(Async); err != nil {
		t.Errorf("%v", err)
	}
	db.lite.wal.f = nil
}

//go:build linux

package store_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"switchboard/agent"
	"switchboard/internal/secrets"
	"switchboard/router/intake"
	"switchboard/store"
	"switchboard/store/blobs"
	"switchboard/store/database"
	"switchboard/store/engines"
	"switchboard/store/storetest"
)

// The disk becomes full between two events: what was accepted stays, what was
// not says so, and with space everything goes on without a restart.
func TestFullDiskKeepsWhatWasAcceptedAndRefusesMore(t *testing.T) {
	t.Parallel()
	db, dir := tinyDisk(t, "3m")
	e, err := engines.Start(t.Context(), db.DB, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(t.Context()) })
	h := &house{&storetest.House{TB: t, DB: db, Router: db.Router(), Engine: e, Ctx: t.Context()}}
	ref := h.Begun("c", "first")

	ballast := filepath.Join(dir, "ballast")
	if err := fill(ballast); err != nil {
		t.Fatal(err)
	}
	accepted, text := 1, strings.Repeat("x", 8<<10)
	for i := range 200 {
		if _, err = h.Router.Accept(h.Ctx, h.owner(), []intake.Entry{entry("c", fmt.Sprint(i), text)}); err != nil {
			break
		}
		accepted++
	}
	if !errors.Is(err, database.ErrFull) && !errors.Is(err, database.ErrUnavailable) {
		t.Fatalf("on a full disk: %v", err)
	}
	if !strings.Contains(err.Error(), "full") {
		t.Errorf("the error must say it: %v", err)
	}
	for range 3 { // again and again; each is refused whole
		if _, err := h.Router.Accept(h.Ctx, h.owner(), []intake.Entry{entry("c", "late", text)}); err == nil {
			t.Error("accepted on a full disk")
		}
		if _, err := h.Router.Commit(h.Ctx, ref, agent.Step{Calls: []agent.Call{{Step: "a", Answer: random(100 << 10)}}}, nil); err == nil {
			t.Error("committed on a full disk")
		}
	}
	count := func() int64 {
		n, err := storetest.Count(h.Ctx, db, "SELECT count(*) FROM turns")
		if err != nil {
			t.Errorf("reading on a full disk: %v", err)
		}
		return n
	}
	if n := count(); n != int64(accepted) {
		t.Errorf("%d turns, accepted %d", n, accepted)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if a := h.Accept(entry("c", "late", text))[0]; a.Duplicate || a.TurnID == 0 {
		t.Errorf("with space again: %+v", a)
	}
	h.Commit(ref, end("done", "answered"))
	if n := count(); n != int64(accepted)+1 {
		t.Errorf("%d turns, accepted %d", n, accepted+1)
	}
}

// The log has eaten the last of the disk, and there is room in the database for
// all that stands in the log: nobody needs to free anything.
func TestFullDiskIsRelievedByACheckpoint(t *testing.T) {
	t.Parallel()
	db, dir := tinyDisk(t, "6m")
	row := func(i int) string {
		return fmt.Sprintf("INSERT INTO rejected (channel, reason, raw, created_at) VALUES ('tg', '%d', randomblob(20000), 0)", i)
	}
	write := func(statement string) {
		t.Helper()
		if err := db.WriteText(t.Context(), true, statement); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 60 {
		write(row(i))
	}
	write("DELETE FROM rejected")
	if err := db.EmptyLog(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := fill(filepath.Join(dir, "ballast")); err != nil {
		t.Fatal(err)
	}
	for i := range 50 { // a megabyte, where 64 KB are free
		write(row(i))
	}
	if n, err := storetest.Count(t.Context(), db, "SELECT count(*) FROM rejected"); err != nil || n != 50 {
		t.Errorf("%d rows of 50, %v", n, err)
	}
}

// A full disk leaves nothing of a file behind, and is no harm to those that are
// there.
func TestFullDiskLeavesNothingOfABlob(t *testing.T) {
	t.Parallel()
	_, dir := tinyDisk(t, "3m")
	b := blobs.New(filepath.Join(dir, "attachments"))
	small, _, err := b.Put(t.Context(), 0, func(w io.Writer) error {
		_, err := io.WriteString(w, "small")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(filepath.Join(dir, "ballast")); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		blob, _, err := b.Put(t.Context(), 0, func(w io.Writer) error {
			_, err := io.CopyN(w, rand.Reader, 1<<20)
			return err
		})
		if !errors.Is(err, syscall.ENOSPC) || blob != "" {
			t.Fatalf("on a full disk: %s, %v", blob, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "attachments", "*"))
	if err != nil || len(left) != 1 || left[0] != filepath.Dir(b.Path(small)) {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// tinyDisk is a migrated database on a file system of its own.
func tinyDisk(t *testing.T, size string) (db *store.DB, dir string) {
	t.Helper()
	dir = t.TempDir()
	storetest.SmallDisk(t, dir, "size="+size)
	db, err := store.Open(t.Context(), database.Config{URL: secrets.Secret("sqlite:" + filepath.Join(dir, "db"))}, "", quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db, dir
}

// fill leaves some 64 KB of a file system.
func fill(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	block := make([]byte, 4096)
	for {
		if _, err := f.Write(block); err != nil {
			break
		}
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return f.Truncate(info.Size() - 64<<10)
}

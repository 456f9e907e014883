package blobs_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/router/core"
	"switchboard/router/files"
	"switchboard/store/blobs"
)

func filling(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		for len(s) > 0 { // in pieces
			n := min(len(s), 3)
			if _, err := io.WriteString(w, s[:n]); err != nil {
				return err
			}
			s = s[n:]
		}
		return nil
	}
}

// left lists the files under dir.
func left(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		list = append(list, d.Name())
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return list
}

func TestBlobsAreKeptOnceByContent(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "attachments")
	b := blobs.New(dir)
	const want = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9" // SHA-256 of "hello world"
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if blob, size, err := b.Put(t.Context(), 11, filling("hello world")); blob != want || size != 11 || err != nil {
				t.Errorf("%s, %d, %v", blob, size, err)
			}
		})
	}
	wg.Wait()
	if list := left(t, dir); !slices.Equal(list, []string{want}) {
		t.Errorf("%v", list)
	}
	path := filepath.Join(dir, "b9", want)
	if b.Path(want) != path {
		t.Errorf("%s", b.Path(want))
	}
	for file, mode := range map[string]fs.FileMode{dir: 0o700, filepath.Dir(path): 0o700, path: 0o600} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", file, info.Mode(), err)
		}
	}
	f, err := b.Open(want)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 2 { // the second is not there any more
		if err := b.Remove(want); err != nil {
			t.Error(err)
		}
	}
	if text, err := io.ReadAll(f); string(text) != "hello world" || err != nil {
		t.Errorf("removed while open: %q, %v", text, err)
	}
	if _, err := b.Open(want); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("removed: %v", err)
	}
	if blob, size, err := b.Put(t.Context(), 0, filling("")); blob == "" || size != 0 || err != nil {
		t.Errorf("nothing at all: %s, %d, %v", blob, size, err)
	}
}

func TestBlobsLeaveNothingOfWhatFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := blobs.New(dir)
	broken := errors.New("connection reset")
	for name, c := range map[string]struct {
		fill func(io.Writer) error
		want error
	}{
		"too large":             {filling("hello world!"), files.ErrTooLarge},
		"too large, not said":   {func(w io.Writer) error { _, _ = io.WriteString(w, "hello world!"); return nil }, files.ErrTooLarge},
		"too large, and more":   {func(w io.Writer) error { _, _ = io.WriteString(w, "hello world!"); _, err := w.Write(nil); return err }, files.ErrTooLarge},
		"broken off":            {func(w io.Writer) error { _, _ = io.WriteString(w, "hello"); return broken }, broken},
		"broken off before any": {func(io.Writer) error { return broken }, broken},
	} {
		if blob, _, err := b.Put(t.Context(), 11, c.fill); !errors.Is(err, c.want) || blob != "" {
			t.Errorf("%s: %q, %v", name, blob, err)
		}
	}
	if list := left(t, dir); len(list) != 0 {
		t.Errorf("left behind: %v", list)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := blobs.New(filepath.Join(file, "x")).Put(t.Context(), 0, filling("x")); err == nil || !strings.Contains(err.Error(), "folder of attachments") {
		t.Errorf("a folder that cannot be: %v", err)
	}
}

func TestBlobsTakeNoOtherNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outside := filepath.Join(dir, "secret")
	if err := os.WriteFile(outside, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := blobs.New(filepath.Join(dir, "attachments"))
	for _, name := range []string{"", "a", "../secret", strings.Repeat("../", 21) + "x", strings.Repeat("A", 64), strings.Repeat("a", 63) + "/", strings.Repeat("a", 64)} {
		if _, err := b.Open(name); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("open %q: %v", name, err)
		}
		if err := b.Remove(name); err != nil {
			t.Errorf("remove %q: %v", name, err)
		}
		if p := b.Path(name); p != "" && !strings.HasPrefix(p, dir+"/attachments/aa/") {
			t.Errorf("path of %q is %s", name, p)
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}

func TestBlobsListsWhatWasUsedBefore(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "attachments")
	b := blobs.New(dir)
	if list, err := b.List(time.Now()); err != nil || len(list) != 0 {
		t.Errorf("no folder yet: %v, %v", list, err)
	}
	names, long := map[string]string{}, time.Now().Add(-48*time.Hour)
	for _, s := range []string{"old", "opened", "put again", "part"} {
		blob, _, err := b.Put(t.Context(), 0, filling(s))
		if err != nil {
			t.Fatal(err)
		}
		names[s] = blob
		if err := os.Chtimes(b.Path(blob), long, long); err != nil {
			t.Fatal(err)
		}
	}
	if f, err := b.Open(names["opened"]); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Put(t.Context(), 0, filling("put again")); err != nil {
		t.Fatal(err)
	}
	for i, at := range []time.Time{long, time.Now()} { // what killed programs left, and one that writes now
		part := filepath.Join(dir, fmt.Sprint(".part-", i))
		if err := os.WriteFile(part, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(part, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(b.Path(names["part"])); err != nil {
		t.Fatal(err)
	}
	list, err := b.List(time.Now().Add(-24 * time.Hour))
	if err != nil || !slices.Equal(list, []string{names["old"]}) {
		t.Errorf("%v, %v", list, err)
	}
	if files := left(t, dir); slices.Contains(files, ".part-0") || !slices.Contains(files, ".part-1") {
		t.Errorf("%v", files)
	}
}

package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A command may swap a folder and a pipe while the workspace is looked through.
func TestOpenFolderWaitsForNoPipe(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	root, err := os.OpenRoot(workspace)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := unix.Mkfifo(filepath.Join(workspace, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := root.Symlink("/etc", "out"); err != nil {
		t.Fatal(err)
	}
	w := walker{ctx: t.Context(), left: 10, depth: 10}
	for _, name := range []string{"pipe", "out"} {
		if below, err := openFolder(root, name); err == nil {
			below.Close()
			t.Errorf("%s was opened as a folder", name)
		}
		if err := w.enter(root, name, name, 1); err != nil {
			t.Errorf("%s ends the walk: %v", name, err)
		}
	}
}

// Removing takes few open files, however deep a command's folders are.
func TestDeepFoldersAreRemoved(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	deep, chain := filepath.Join(workspace, "deep"), strings.Repeat("/d", 700)
	for _, dir := range []string{deep, deep + "/second"} {
		if err := os.MkdirAll(dir+chain, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(deep+"/second", deep+chain+"/e"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(deep+strings.Repeat("/d", 100), 0); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if moved, err := flatten(root, "deep"); err != nil || len(moved) != 1 {
		t.Errorf("%d folders were moved, %v", len(moved), err)
	} else if _, err := root.Lstat("deep" + strings.Repeat("/d", MaxDepth)); err == nil {
		t.Error("it is as deep as before")
	} else if err := root.Rename(moved[0], "rest"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"deep", "rest"} {
		if err := Discard(root, name); err != nil {
			t.Errorf("remove %s: %v", name, err)
		}
	}
	if left, err := os.ReadDir(workspace); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestWalkCountsEntries(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, name := range []string{"a", "a/b", "c", "c/d"} {
		if err := root.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for left, want := range map[int]error{4: nil, 3: ErrTooLarge} {
		w := walker{ctx: t.Context(), left: left, depth: MaxDepth, visit: func(string, fs.FileInfo) error { return nil }}
		if err := w.folder(root, ".", 1); !errors.Is(err, want) {
			t.Errorf("%d entries permitted: %v, want %v", left, err, want)
		}
	}
}

func TestWalkHonoursItsContext(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	root, err := os.OpenRoot(workspace)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, name := range []string{"a", "b"} {
		if err := root.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	seen := 0
	err = Walk(ctx, root, ".", func(string, fs.FileInfo) error { seen++; stop(); return nil })
	if !errors.Is(err, context.Canceled) || seen != 1 {
		t.Errorf("got %v after %d entries", err, seen)
	}
}

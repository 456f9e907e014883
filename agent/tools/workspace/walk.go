package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"
)

// What a workspace may hold and still be looked through; where there is more, all of
// it is suspect.
const (
	maxEntries = 100_000
	MaxDepth   = 64 // folders in folders
)

// ErrTooLarge says that a workspace holds more than may be looked through.
var ErrTooLarge = fmt.Errorf("the workspace holds more than %d entries or folders more than %d deep", maxEntries, MaxDepth)

// Walk calls visit for each file and folder below dir, a folder of root, in
// lexical order and folders before what is in them. It does not follow links.
// Visit may return fs.SkipDir to leave a folder out. Each folder is opened from
// the one it is in, so that a deep tree costs no more than a flat one. It
// returns ErrTooLarge when there is more than may be looked through, and, having
// visited all else, fs.ErrPermission when a folder could not be looked into.
func Walk(ctx context.Context, root *os.Root, dir string, visit func(name string, info fs.FileInfo) error) error {
	return WalkSome(ctx, root, dir, maxEntries, MaxDepth, visit)
}

// WalkSome is walk through at most so many entries, folders in folders so deep.
func WalkSome(ctx context.Context, root *os.Root, dir string, entries, depth int, visit func(name string, info fs.FileInfo) error) error {
	top, err := root.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer top.Close()
	w := walker{ctx: ctx, visit: visit, left: entries, depth: depth}
	if err := w.folder(top, dir, 1); err != nil {
		return err
	}
	return w.closed
}

type walker struct {
	ctx   context.Context // a walker lives as long as one call of walk
	visit func(name string, info fs.FileInfo) error
	left  int // entries
	depth int // of folders in folders

	closed error // what could not be looked into
}

func (w *walker) folder(folder *os.Root, dir string, depth int) error {
	if depth > w.depth {
		return ErrTooLarge
	}
	names, err := w.names(folder)
	if err != nil {
		return w.forgive(err)
	}
	for _, base := range names {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		name := path.Join(dir, base)
		info, err := folder.Lstat(base)
		if err != nil {
			if err := w.forgive(err); err != nil {
				return err
			}
			continue
		}
		if err := w.visit(name, info); err != nil {
			if info.IsDir() && errors.Is(err, fs.SkipDir) {
				continue
			}
			return err
		}
		if !info.IsDir() {
			continue
		}
		if err := w.enter(folder, base, name, depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) enter(folder *os.Root, base, name string, depth int) error {
	below, err := openFolder(folder, base)
	if _, numbered := errors.AsType[syscall.Errno](err); err != nil && (!numbered || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)) {
		return nil // a command put something else in its place meanwhile
	}
	if err != nil {
		return w.forgive(err)
	}
	defer below.Close()
	return w.folder(below, name, depth+1)
}

// forgive lets the walk go on past what is gone or closed to us.
func (w *walker) forgive(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, fs.ErrPermission):
		w.closed = err
		return nil
	}
	return err
}

// names reads a folder piece by piece: there may be far more in it than is
// looked at.
func (w *walker) names(folder *os.Root) ([]string, error) {
	f, err := folder.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var names []string
	for {
		more, err := f.Readdirnames(1000)
		names = append(names, more...)
		if w.left -= len(more); w.left < 0 {
			return nil, ErrTooLarge
		}
		if errors.Is(err, io.EOF) {
			slices.Sort(names)
			return names, nil
		}
		if err := errors.Join(err, w.ctx.Err()); err != nil {
			return nil, err
		}
	}
}

package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// commandID is the user and group that confined commands run under where this
// program is root: the kernel counts no task of root's. All of a workspace belongs to
// it. No system hands the number out.
//
// Source: systemd's UIDS-GIDS.md, 60578 to 61183 are unused.
const commandID = 61100

// give makes files of the workspace the commands' own. Where that fails, commands
// run as this program does, or are refused.
func give(root *os.Root, names ...string) {
	if os.Geteuid() != 0 {
		return
	}
	for _, name := range names {
		_ = root.Lchown(name, commandID, commandID)
	}
}

// openWorkspace opens a session's folder, also where a command closed it.
func openWorkspace(workspace string) (*os.Root, error) {
	root, err := os.OpenRoot(workspace)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	if err == nil {
		if info, err := root.Stat("."); err == nil && info.Mode()&0o700 == 0o700 {
			return root, nil
		}
		root.Close()
	}
	// What it lies in is out of a command's reach, so this is the folder itself.
	if err := os.Chmod(workspace, 0o700); err != nil {
		return nil, err
	}
	return os.OpenRoot(workspace)
}

// discard removes what is at name, folders that a command closed and very deep ones too.
func discard(root *os.Root, name string) error {
	for list := []string{name}; len(list) > 0; list = list[1:] {
		deep, err := flatten(root, list[0])
		if err == nil {
			err = root.RemoveAll(list[0])
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		list = append(list, deep...)
	}
	return nil
}

// flatten lets this program into all folders below name, and name itself, and moves
// those that are very deep out of it, because RemoveAll holds a file open for each folder
// on its way down. It returns where they are now.
func flatten(root *os.Root, name string) (moved []string, err error) {
	open := func(name string, info fs.FileInfo) error {
		if info.IsDir() && info.Mode()&0o700 != 0o700 {
			return root.Chmod(name, info.Mode().Perm()|0o700)
		}
		return nil
	}
	info, err := root.Lstat(name)
	if err == nil {
		err = open(name, info)
	}
	if err != nil || !info.IsDir() {
		return nil, err
	}
	top := strings.Count(name, "/")
	err = walkSome(context.Background(), root, name, math.MaxInt, math.MaxInt, func(below string, info fs.FileInfo) error {
		if err := open(below, info); err != nil || !info.IsDir() || strings.Count(below, "/")-top < maxDepth {
			return err
		}
		aside := "aside-" + randomWord()
		if err := root.Rename(below, aside); err != nil {
			return err
		}
		moved = append(moved, aside)
		return fs.SkipDir
	})
	return moved, err
}

// RemoveWorkspace removes a session's folder for good, and what is noted of its files
// beside it.
func RemoveWorkspace(workspace string) error {
	notes := ledgerFile(workspace)
	above, err := os.OpenRoot(filepath.Dir(workspace))
	if err == nil {
		defer above.Close()
		err = discard(above, filepath.Base(workspace))
	}
	if err == nil {
		err = os.Remove(notes)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// makeHidden makes the hidden folder, also where a command put something else in
// its place or closed it.
func makeHidden(root *os.Root) error {
	info, err := root.Lstat(hidden)
	if err == nil && info.IsDir() && info.Mode()&0o700 == 0o700 {
		return nil
	}
	return renewHidden(root)
}

// renewHidden makes the hidden folder anew, whatever stands there. What cannot be
// removed is put aside, under a name that the person sees.
func renewHidden(root *os.Root) error {
	if err := discard(root, hidden); err != nil {
		if err := root.Rename(hidden, "aside-"+randomWord()); err != nil {
			return err
		}
	}
	if err := root.Mkdir(hidden, 0o700); err != nil {
		return err
	}
	give(root, hidden)
	return nil
}

// Keep puts a text into the workspace, in place of what has that name, for the person
// to have.
func Keep(ctx context.Context, workspace, name, text string, taint Taint) error {
	root, name, fault := enterFile(workspace, name)
	if fault != nil {
		return errors.New(fault.Output)
	}
	defer root.Close()
	return store(ctx, root, name, strings.NewReader(text), Call{Workspace: workspace, Taint: taint}, false)
}

// PutHidden makes the hidden folder of a workspace anew, with one file in it that
// commands can read, whatever they left in its place before.
func PutHidden(workspace, name string, data []byte) error {
	root, err := openWorkspace(workspace)
	if err != nil {
		return fmt.Errorf("open the workspace: %w", plain(err))
	}
	defer root.Close()
	if err := renewHidden(root); err != nil {
		return fmt.Errorf("make %s: %w", hidden, plain(err))
	}
	name = path.Join(hidden, name)
	if err := replaceFile(root, name+".new", name, 0o600, bytes.NewReader(data)); err != nil {
		return fmt.Errorf("write %s: %w", name, plain(err))
	}
	return nil
}

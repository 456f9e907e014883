// Package workspace owns a session's folder as a place: how it is opened, walked,
// measured, bounded and emptied whatever the commands of that session left in it.
//
// It knows no tool, no command and no taint; tools and the sandbox call it.
package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"math"
	"os"
	"strings"
)

// Hidden is the folder in each workspace that is ours: tools neither list nor
// read nor write it. Commands may, so nothing in it is trusted.
const Hidden = ".switchboard"

// CommandID is the user and group that confined commands run under where this
// program is root: the kernel counts no task of root's. All of a workspace belongs to
// it. No system hands the number out.
//
// Source: systemd's UIDS-GIDS.md, 60578 to 61183 are unused.
const CommandID = 61100

// Give makes files of the workspace the commands' own. Where that fails, commands
// run as this program does, or are refused.
func Give(root *os.Root, names ...string) {
	if os.Geteuid() != 0 {
		return
	}
	for _, name := range names {
		_ = root.Lchown(name, CommandID, CommandID)
	}
}

// Open opens a session's folder, also where a command closed it.
func Open(workspace string) (*os.Root, error) {
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

// Discard removes what is at name, folders that a command closed and very deep ones too.
func Discard(root *os.Root, name string) error {
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
	err = WalkSome(context.Background(), root, name, math.MaxInt, math.MaxInt, func(below string, info fs.FileInfo) error {
		if err := open(below, info); err != nil || !info.IsDir() || strings.Count(below, "/")-top < MaxDepth {
			return err
		}
		aside := "aside-" + RandomWord()
		if err := root.Rename(below, aside); err != nil {
			return err
		}
		moved = append(moved, aside)
		return fs.SkipDir
	})
	return moved, err
}

// MakeHidden makes the hidden folder, also where a command put something else in
// its place or closed it.
func MakeHidden(root *os.Root) error {
	info, err := root.Lstat(Hidden)
	if err == nil && info.IsDir() && info.Mode()&0o700 == 0o700 {
		return nil
	}
	return RenewHidden(root)
}

// RenewHidden makes the hidden folder again, whatever stands there. What cannot be
// removed is put aside, under a name that the person sees.
func RenewHidden(root *os.Root) error {
	if err := Discard(root, Hidden); err != nil {
		if err := root.Rename(Hidden, "aside-"+RandomWord()); err != nil {
			return err
		}
	}
	if err := root.Mkdir(Hidden, 0o700); err != nil {
		return err
	}
	Give(root, Hidden)
	return nil
}

// RandomWord is for a name that nothing has yet.
func RandomWord() string { return strings.ToLower(rand.Text()[:12]) }

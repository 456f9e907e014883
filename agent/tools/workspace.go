package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"switchboard/agent/tools/workspace"
)

// files are the tools workspace.list, workspace.read and workspace.write. They
// work through an os.Root, so that nothing outside the workspace is reachable,
// and follow no symbolic link, so that a path means one file in the database.
type files struct {
	space     *workspace.Space
	fileLimit int64
}

func (w files) write(ctx context.Context, call Call, args struct{ Path, Content, Mode string }) Result {
	root, name, fault := enterFile(call.Workspace, args.Path)
	if fault != nil {
		return *fault
	}
	defer root.Close()
	old, fault := w.former(root, name, args.Mode)
	if fault != nil {
		return *fault
	}
	data := append(old, args.Content...)
	if int64(len(data)) > w.fileLimit {
		return refused("file_limit", "write several smaller files", "%s would have %d bytes; the limit is %d", name, len(data), w.fileLimit)
	}
	if fault := w.room(ctx, root, name, int64(len(data))); fault != nil {
		return *fault
	}
	if err := store(ctx, root, name, bytes.NewReader(data), call, len(old) > 0); err != nil {
		return ioFault(name, err)
	}
	return Result{End: EndOK, Output: fmt.Sprintf("wrote %s: %d bytes\n", name, len(data))}
}

// room refuses what the workspace or the disk has no room for.
func (w files) room(ctx context.Context, root *os.Root, name string, size int64) *Result {
	left, err := w.space.Room(ctx, root)
	if err == nil && size > left {
		err = &workspace.LimitError{Code: "workspace_full", Text: fmt.Sprintf("%s has %d bytes, and only %d are left of what the workspace may hold", name, size, left)}
	}
	if err == nil {
		return nil
	}
	return new(noRoom(err))
}

// noRoom is the result where a workspace takes nothing more, or cannot be looked through.
func noRoom(err error) Result {
	if full, ok := errors.AsType[*workspace.LimitError](err); ok {
		return refused(full.Code, hints[full.Code], "%v", full)
	}
	return ioFault("the workspace", err)
}

// former returns what the new content is appended to, and refuses what must not
// be overwritten.
func (w files) former(root *os.Root, name, mode string) ([]byte, *Result) {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, new(ioFault(name, err))
	}
	if !info.Mode().IsRegular() {
		return nil, new(refused("not_a_file", "choose another path", "%s is not a regular file", name))
	}
	if mode == "create" {
		return nil, new(refused("exists", `use mode "replace" or "append", or another path`, "%s exists already", name))
	}
	if mode == "replace" {
		return nil, nil
	}
	if info.Size() > w.fileLimit {
		return nil, new(refused("file_limit", "append to a new file", "%s has %d bytes; the limit is %d", name, info.Size(), w.fileLimit))
	}
	text, err := root.ReadFile(name)
	if err != nil {
		return nil, new(ioFault(name, err))
	}
	return text, nil
}

// store writes the file and its taint. A taint is recorded before the bytes are
// there and lifted after they are gone: a crash between the two errs on the
// careful side. The file that is written first, to take its place, is recorded
// as well, since a crash would leave it.
func store(ctx context.Context, root *os.Root, name string, data io.Reader, call Call, appended bool) error {
	taint := call.Taint
	if appended {
		taint = taint.Join(readLedger(call.Workspace).of(name))
	}
	temp := path.Join(workspace.Hidden, "new-"+workspace.RandomWord())
	fresh := newFolders(root, name)
	if taint != Clean {
		err := changeLedger(ctx, call.Workspace, func(l ledger) {
			for _, entry := range append([]string{name, temp}, fresh...) {
				l[entry] = l[entry].Join(taint)
			}
		})
		if err != nil {
			return err
		}
	}
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		workspace.Give(root, fresh...)
	}
	if err := replaceFile(root, temp, name, 0o644, data); err != nil {
		return err
	}
	return changeLedger(context.WithoutCancel(ctx), call.Workspace, func(l ledger) {
		delete(l, temp)
		if taint == Clean {
			delete(l, name)
		}
	})
}

// newFolders lists the folders on the way to name that are not there yet.
func newFolders(root *os.Root, name string) []string {
	var list []string
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, err := root.Lstat(dir); err == nil {
			break
		}
		list = append(list, dir)
	}
	return list
}

// replaceFile replaces the file at name, whose folder exists, by way of temp: a
// reader sees the old bytes or the new ones, also after a crash.
func replaceFile(root *os.Root, temp, name string, mode fs.FileMode, data io.Reader) error {
	if err := workspace.MakeHidden(root); err != nil {
		return err
	}
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, data)
	if err == nil {
		err = f.Sync()
	}
	workspace.Give(root, temp)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return nil
}

// enter opens the workspace and cleans a path given by a model. The caller
// closes the root.
func enter(dir, given string) (*os.Root, string, *Result) {
	name, fault := cleanPath(given)
	if fault != nil {
		return nil, "", fault
	}
	root, err := workspace.Open(dir)
	if err != nil {
		return nil, "", new(failed("workspace_missing", "", "the workspace cannot be opened: %v", plain(err)))
	}
	if fault := noLinks(root, name); fault != nil {
		root.Close()
		return nil, "", fault
	}
	return root, name, nil
}

// enterFile is enter for a path that must not name the workspace itself.
func enterFile(dir, given string) (*os.Root, string, *Result) {
	root, name, fault := enter(dir, given)
	if fault == nil && name == "." {
		root.Close()
		return nil, "", new(refused("bad_path", "name a file", "the path names the workspace itself"))
	}
	return root, name, fault
}

func cleanPath(given string) (string, *Result) {
	const hint = "give a path inside the workspace, relative to it, such as notes/today.md"
	switch {
	case strings.ContainsAny(given, "\x00\\"):
		return "", new(refused("bad_path", hint, "%q holds a NUL or a backslash", given))
	case given == "":
		return "", new(refused("bad_path", hint, "the path is empty"))
	case path.IsAbs(given) || !filepath.IsLocal(filepath.FromSlash(given)):
		return "", new(refused("outside_workspace", hint, "%q leaves the workspace", given))
	}
	name := path.Clean(given)
	if strings.Count(name, "/") >= workspace.MaxDepth {
		return "", new(refused("bad_path", hint, "the path passes through %d folders; the limit is %d", strings.Count(name, "/"), workspace.MaxDepth-1))
	}
	if first, _, _ := strings.Cut(name, "/"); strings.EqualFold(first, workspace.Hidden) {
		return "", new(refused("bad_path", hint, "%s belongs to the program", workspace.Hidden))
	}
	return name, nil
}

// noLinks refuses a path that passes through a symbolic link.
func noLinks(root *os.Root, name string) *Result {
	for at := 0; at < len(name); {
		next := strings.IndexByte(name[at:], '/')
		if next < 0 {
			next = len(name) - at
		}
		part := name[:at+next]
		at += next + 1
		info, err := root.Lstat(part)
		if err != nil {
			return nil // what is wrong shows when it is used
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return new(refused("symlink", "use the path of the file that it points to", "%s is a symbolic link; they are not followed", part))
		}
	}
	return nil
}

func ioFault(name string, err error) Result {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failed("not_found", "workspace.list shows what is there", "there is no %s in the workspace", name)
	case errors.Is(err, syscall.ENOTDIR):
		return failed("not_found", "workspace.list shows what is there", "%s: a part of the path is a file, not a folder", name)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return failed("disk_full", "tell the person that the disk is full", "%s: no space left on the disk", name)
	default:
		return failed("io", "", "%s: %v", name, plain(err))
	}
}

// plain drops the operation and the path, which may be outside the workspace,
// from an error of package os.
func plain(err error) error {
	if wrapped, ok := errors.AsType[*fs.PathError](err); ok {
		return wrapped.Err
	}
	if wrapped, ok := errors.AsType[*os.LinkError](err); ok {
		return wrapped.Err
	}
	return err
}

// remove removes a file, a link, or a folder with all that is in it.
func (w files) remove(ctx context.Context, call Call, args struct{ Path string }) Result {
	name, fault := cleanPath(args.Path)
	if fault != nil {
		return *fault
	}
	if name == "." {
		return refused("bad_path", "name a file or a folder", "the path names the workspace itself")
	}
	root, _, fault := enter(call.Workspace, path.Dir(name))
	if fault != nil {
		return *fault
	}
	defer root.Close()
	if _, err := root.Lstat(name); err != nil {
		return ioFault(name, err)
	}
	if err := workspace.Discard(root, name); err != nil {
		return ioFault(name, err)
	}
	err := changeLedger(context.WithoutCancel(ctx), call.Workspace, func(l ledger) {
		for entry := range l {
			if entry == name || within(entry, name) {
				delete(l, entry)
			}
		}
	})
	if err != nil {
		return ioFault(name, err)
	}
	return Result{End: EndOK, Output: fmt.Sprintf("removed %s\n", name)}
}

package tools

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// files are the tools workspace.list, workspace.read and workspace.write. They
// work through an os.Root, so that nothing outside the workspace is reachable,
// and follow no symbolic link, so that a path means one file in the ledger.
type files struct {
	workspaceLimit int64
	fileLimit      int64
}

// maxEntries bounds a walk through a workspace.
const maxEntries = 100_000

var writeSchema = json.RawMessage(`{
	"type": "object",
	"properties": {
		"path": {"type": "string", "description": "relative to the workspace, with slashes, e.g. notes/today.md"},
		"content": {"type": "string", "description": "the text"},
		"mode": {"type": "string", "enum": ["create", "replace", "append"], "description": "create refuses an existing file; replace and append make a missing one"}
	},
	"required": ["path", "content", "mode"],
	"additionalProperties": false
}`)

func (w files) write(_ context.Context, call Call) Result {
	args, fault := decode[struct{ Path, Content, Mode string }](call)
	if fault != nil {
		return *fault
	}
	root, name, fault := enter(call.Workspace, args.Path)
	if fault != nil {
		return *fault
	}
	defer root.Close()
	if name == "." {
		return refused("bad_path", "name a file", "the path names the workspace itself")
	}
	old, fault := w.former(root, name, args.Mode)
	if fault != nil {
		return *fault
	}
	data := append(old, args.Content...)
	if int64(len(data)) > w.fileLimit {
		return refused("file_limit", "write several smaller files", "%s would have %d bytes; the limit is %d", name, len(data), w.fileLimit)
	}
	used, err := usedBytes(root)
	if err != nil {
		return ioFault(name, err)
	}
	if used+int64(len(data)) > w.workspaceLimit {
		return refused("workspace_full", "remove files that are no longer needed",
			"the workspace holds %d bytes; with this file it would pass its limit of %d", used, w.workspaceLimit)
	}
	if err := w.store(root, name, data, call.Taint, len(old) > 0); err != nil {
		return ioFault(name, err)
	}
	return Result{End: EndOK, Output: fmt.Sprintf("wrote %s: %d bytes\n", name, len(data))}
}

// former returns what the new content is appended to, and refuses what must not
// be overwritten.
func (w files) former(root *os.Root, name, mode string) ([]byte, *Result) {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		res := ioFault(name, err)
		return nil, &res
	}
	if !info.Mode().IsRegular() {
		res := refused("not_a_file", "choose another path", "%s is not a regular file", name)
		return nil, &res
	}
	if mode == "create" {
		res := refused("exists", `use mode "replace" or "append", or another path`, "%s exists already", name)
		return nil, &res
	}
	if mode == "replace" {
		return nil, nil
	}
	if info.Size() > w.fileLimit {
		res := refused("file_limit", "append to a new file", "%s has %d bytes; the limit is %d", name, info.Size(), w.fileLimit)
		return nil, &res
	}
	text, err := root.ReadFile(name)
	if err != nil {
		res := ioFault(name, err)
		return nil, &res
	}
	return text, nil
}

// store writes the file and its taint. A taint is recorded before the bytes are
// there and lifted after they are gone: a crash between the two errs on the
// careful side.
func (w files) store(root *os.Root, name string, data []byte, taint Taint, appended bool) error {
	if taint != Clean {
		mark := func(files map[string]Taint) { files[name] = files[name].Join(taint) }
		if err := changeLedger(root, mark); err != nil {
			return err
		}
	}
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := writeAtomically(root, name, data, 0o644); err != nil {
		return err
	}
	if taint == Clean && !appended {
		return changeLedger(root, func(files map[string]Taint) { delete(files, name) })
	}
	return nil
}

// enter opens the workspace and cleans a path given by a model. The caller
// closes the root.
func enter(workspace, given string) (*os.Root, string, *Result) {
	name, fault := cleanPath(given)
	if fault != nil {
		return nil, "", fault
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		res := failed("workspace_missing", "", "the workspace cannot be opened: %v", plain(err))
		return nil, "", &res
	}
	if fault := noLinks(root, name); fault != nil {
		root.Close()
		return nil, "", fault
	}
	return root, name, nil
}

func cleanPath(given string) (string, *Result) {
	const hint = "give a path inside the workspace, relative to it, such as notes/today.md"
	switch {
	case strings.ContainsAny(given, "\x00\\"):
		res := refused("bad_path", hint, "%q holds a NUL or a backslash", given)
		return "", &res
	case given == "":
		res := refused("bad_path", hint, "the path is empty")
		return "", &res
	case path.IsAbs(given) || !filepath.IsLocal(filepath.FromSlash(given)):
		res := refused("outside_workspace", hint, "%q leaves the workspace", given)
		return "", &res
	}
	name := path.Clean(given)
	if first, _, _ := strings.Cut(name, "/"); strings.EqualFold(first, hidden) {
		res := refused("bad_path", hint, "%s belongs to the program", hidden)
		return "", &res
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
			res := refused("symlink", "use the path of the file that it points to", "%s is a symbolic link; they are not followed", part)
			return &res
		}
	}
	return nil
}

// usedBytes sums the sizes of all files in the workspace.
func usedBytes(root *os.Root) (int64, error) {
	var sum int64
	entries := 0
	err := fs.WalkDir(root.FS(), ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return skipGone(err)
		}
		if entries++; entries > maxEntries {
			return fmt.Errorf("more than %d files in the workspace", maxEntries)
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum, err
}

// skipGone forgives what vanished or cannot be entered during a walk.
func skipGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
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

func randomWord() string { return strings.ToLower(rand.Text()[:12]) }

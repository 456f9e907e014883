package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"switchboard/agent/tools/workspace"
)

// RemoveWorkspace removes a session's folder for good, and what is noted of its files
// beside it.
func RemoveWorkspace(dir string) error {
	notes := ledgerFile(dir)
	above, err := os.OpenRoot(filepath.Dir(dir))
	if err == nil {
		defer above.Close()
		err = workspace.Discard(above, filepath.Base(dir))
	}
	if err == nil {
		err = os.Remove(notes)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Keep puts a text into the workspace, in place of what has that name, for the person
// to have.
func Keep(ctx context.Context, dir, name, text string, taint Taint) error {
	root, name, fault := enterFile(dir, name)
	if fault != nil {
		return errors.New(fault.Output)
	}
	defer root.Close()
	return store(ctx, root, name, strings.NewReader(text), Call{Workspace: dir, Taint: taint}, false)
}

// PutHidden makes the hidden folder of a workspace again, with one file in it that
// commands can read, whatever they left in its place before.
func PutHidden(dir, name string, data []byte) error {
	root, err := workspace.Open(dir)
	if err != nil {
		return fmt.Errorf("open the workspace: %w", plain(err))
	}
	defer root.Close()
	if err := workspace.RenewHidden(root); err != nil {
		return fmt.Errorf("make %s: %w", workspace.Hidden, plain(err))
	}
	name = path.Join(workspace.Hidden, name)
	if err := replaceFile(root, name+".new", name, 0o600, bytes.NewReader(data)); err != nil {
		return fmt.Errorf("write %s: %w", name, plain(err))
	}
	return nil
}

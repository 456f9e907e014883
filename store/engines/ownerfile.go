package engines

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"switchboard/store/database"
)

// An ownerFile is data_dir/run/OWNER.lock, locked by the kernel for as long as its
// process lives, whatever becomes of its connections. Who can lock it knows that
// the process is gone. A nil ownerFile knows nothing.
type ownerFile struct {
	f    *os.File
	path string
}

// holdFile takes the owner's file. Without it engines find each other dead later,
// so that a folder that cannot be locked in is no reason not to start.
func (e *Engine) holdFile(ctx context.Context) {
	if e.db.DataDir == "" {
		return
	}
	dir := filepath.Join(e.db.DataDir, "run")
	path := filepath.Join(dir, strconv.FormatInt(e.id, 10)+".lock")
	err := os.MkdirAll(dir, 0o700)
	var f *os.File
	if err == nil {
		f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err == nil {
		if err = database.Flock(f, database.Alone); err != nil {
			_ = f.Close()
		}
	}
	if err != nil {
		e.log.WarnContext(ctx, "other engines will not see at once when this one dies", "file", path, "error", database.PathCause(err))
		return
	}
	e.file = &ownerFile{f, path}
}

// gone says that the process of another owner is gone for sure.
func (l *ownerFile) gone(owner int64) bool {
	if l == nil {
		return false
	}
	f, err := os.OpenFile(filepath.Join(filepath.Dir(l.path), strconv.FormatInt(owner, 10)+".lock"), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer func() { _ = database.Unlock(f) }()
	return database.Flock(f, database.Alone) == nil
}

// others lists the owners that have a file.
func (l *ownerFile) others() (list []int64) {
	if l == nil {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(l.path), "*.lock"))
	for _, path := range files {
		id, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(path), ".lock"), 10, 64)
		if err == nil && path != l.path {
			list = append(list, id)
		}
	}
	return list
}

// discard removes what an owner whose process is gone left, its socket among it.
func (l *ownerFile) discard(ctx context.Context, owner int64, log *slog.Logger) {
	base := filepath.Join(filepath.Dir(l.path), strconv.FormatInt(owner, 10))
	if err := errors.Join(database.Remove(base+".sock"), database.Remove(base+".lock")); err != nil {
		log.WarnContext(ctx, "what a dead engine left in the data folder stays", "error", err)
	}
}

// release unlocks the file, and removes it when the owner's row says that it ended.
func (l *ownerFile) release(ended bool) error {
	if l == nil || l.f == nil {
		return nil
	}
	f := l.f
	l.f = nil
	var err error
	if ended {
		err = database.Remove(l.path)
	}
	return errors.Join(err, database.Unlock(f))
}

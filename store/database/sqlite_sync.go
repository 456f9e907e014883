package database

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// A syncer brings the write-ahead log to the disk. The writer's connection commits
// with synchronous = NORMAL, which leaves that for checkpoints; syncing the log
// after the COMMIT is what FULL does besides. Changing the pragma between commits
// instead would compile a statement each time.
//
// SQLite keeps using the same file for as long as a connection is open.
type syncer struct {
	path string
	f    *os.File // opened when it is first needed, since it is there then
}

func (s *syncer) sync() error {
	if s.f == nil {
		f, err := os.OpenFile(s.path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		// The log may be new: its name has to be on the disk as well.
		if err := SyncFolder(filepath.Dir(s.path)); err != nil {
			return errors.Join(err, f.Close())
		}
		s.f = f
	}
	return datasync(s.f)
}

func (s *syncer) close() error {
	if s.f == nil {
		return nil
	}
	return s.f.Close()
}

// SyncFolder makes new names in a folder durable. Windows keeps them so, and has no sync of a folder.
func SyncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

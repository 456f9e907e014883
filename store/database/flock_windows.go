package database

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// How a file is locked: together with others, or by one alone and at once.
const (
	Shared = 0
	Alone  = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
)

// ErrLocked is returned by Flock where others have the file.
const ErrLocked = windows.ERROR_LOCK_VIOLATION

// Flock locks a file until it is closed or the process ends. What is locked is a byte far behind the end, as others
// could not read what is.
func Flock(f *os.File, how int) error {
	far := &windows.Overlapped{OffsetHigh: 1 << 30}
	if err := windows.LockFileEx(windows.Handle(f.Fd()), uint32(how), 0, 1, 0, far); err != nil {
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return nil
}

// Unlock ends a lock and closes the file.
func Unlock(f *os.File) error { return f.Close() }

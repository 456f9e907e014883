//go:build unix

package database

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// How a file is locked: together with others, or by one alone and at once.
const (
	Shared = syscall.LOCK_SH
	Alone  = syscall.LOCK_EX | syscall.LOCK_NB
)

// ErrLocked is returned by Flock where others have the file.
const ErrLocked = syscall.EWOULDBLOCK

// Flock locks a file until it is closed or the process ends.
func Flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); err == nil {
			return nil
		} else if !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		}
	}
}

// Unlock ends a lock and closes the file. To close it alone is not enough: a process that is just being forked
// has the file too, for an instant.
func Unlock(f *os.File) error {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // the end of the file ends it all the same
	return f.Close()
}

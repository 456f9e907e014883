package blobs

import (
	"os"

	"golang.org/x/sys/windows"
)

// How a file is locked: together with others, or by one alone and at once; errLocked: others have it.
const (
	shared    = 0
	alone     = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	errLocked = windows.ERROR_LOCK_VIOLATION
)

func flock(f *os.File, how int) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), uint32(how), 0, 1, 0, &windows.Overlapped{})
}

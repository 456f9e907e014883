package engines

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

const errLocked = windows.ERROR_LOCK_VIOLATION

// flock locks a file for this process alone, at once; errLocked: another one has it. What is locked is a byte far behind
// the end, as others could not read what is.
func flock(f *os.File) error {
	far := &windows.Overlapped{OffsetHigh: 1 << 30}
	if err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, far); err != nil {
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return nil
}

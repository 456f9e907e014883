//go:build unix

package engines

import (
	"fmt"
	"os"
	"syscall"
)

const errLocked = syscall.EWOULDBLOCK

// flock locks a file for this process alone, at once; errLocked: another one has it.
func flock(f *os.File) error {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return nil
}

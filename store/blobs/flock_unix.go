//go:build unix

package blobs

import (
	"errors"
	"os"
	"syscall"
)

// How a file is locked: together with others, or by one alone and at once; errLocked: others have it.
const (
	shared    = syscall.LOCK_SH
	alone     = syscall.LOCK_EX | syscall.LOCK_NB
	errLocked = syscall.EWOULDBLOCK
)

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

package database

import (
	"errors"
	"os"
	"syscall"
)

// datasync waits for the data, and for the length where it changed, but not for
// times that nobody asks for.
func datasync(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}

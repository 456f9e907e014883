//go:build unix

package console

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// InForeground says whether stream, a terminal, is for this process to use now: a
// shell gives it to one of its jobs at a time, and whichever other job reads from it
// or sets it is stopped. A terminal that no shell shares out among jobs is everybody's.
//
// Source: POSIX, "Terminal Access Control".
func InForeground(stream any) bool {
	group, err := unix.IoctlGetInt(descriptor(stream), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// watch tells when the window has another size, and when a shell lets this process go on.
func watch(resized, continued chan<- os.Signal) {
	signal.Notify(resized, syscall.SIGWINCH)
	signal.Notify(continued, syscall.SIGCONT)
}

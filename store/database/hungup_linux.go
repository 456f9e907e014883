package database

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// hungUp says that the other side of c has ended the connection, as far as it is known
// here by now. It does not block.
func hungUp(c net.Conn) (over bool) {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}} //nolint:gosec // a descriptor fits
		n, err := unix.Poll(fds, 0)
		over = err == nil && n > 0
	})
	return over
}

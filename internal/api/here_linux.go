package api

import (
	"net"

	"golang.org/x/sys/unix"
)

// isHere says whether the program at the other end of a unix socket is among the
// processes that this one can see: the kernel knows no number for one in another
// container.
func isHere(conn net.Conn) bool {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	here := false
	err = raw.Control(func(fd uintptr) {
		peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		here = err == nil && peer.Pid != 0
	})
	return err == nil && here
}

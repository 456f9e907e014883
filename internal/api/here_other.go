//go:build !linux

package api

import "net"

// isHere says that every engine is of this machine.
func isHere(net.Conn) bool { return true }

package tools

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// bufferRoom is the most that the sockets of the command could hold, in bytes.
// The kernel does not tell how much pairs of sockets hold, only how many sockets
// there are in a network namespace, those under way in messages too. Without a
// namespace of its own it tells nothing of one command.
//
// Source: proc_pid_net(5), sockstat; socket(7), wmem_default, which commands
// cannot raise.
func (t *tree) bufferRoom() int64 {
	if !t.boxed {
		return 0
	}
	most, err := os.ReadFile("/proc/sys/net/core/wmem_default")
	if err != nil {
		return 0
	}
	room, err := strconv.ParseInt(string(bytes.TrimSpace(most)), 10, 64)
	if err != nil {
		return 0
	}
	text, err := os.ReadFile("/proc/" + strconv.Itoa(t.main) + "/net/sockstat")
	if err != nil {
		return 0
	}
	return room * socketsUsed(text)
}

// socketsUsed reads the first line, "sockets: used 12".
func socketsUsed(sockstat []byte) int64 {
	line, _, _ := strings.Cut(string(sockstat), "\n")
	used, err := strconv.ParseInt(strings.TrimPrefix(line, "sockets: used "), 10, 64)
	if err != nil {
		return 0
	}
	return used
}

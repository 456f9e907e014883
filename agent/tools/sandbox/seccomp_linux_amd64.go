package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_X86_64
	// foreignCalls is where the numbers of the x32 interface begin.
	foreignCalls = 0x40000000
)

// olderModeCalls are those that newer architectures do not have.
var olderModeCalls = []modeCall{
	{call: unix.SYS_CHMOD, mode: 1},
	{call: unix.SYS_CREAT, mode: 1},
	{call: unix.SYS_MKNOD, mode: 1},
	{call: unix.SYS_OPEN, mode: 2, open: 1},
}

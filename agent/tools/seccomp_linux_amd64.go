package tools

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_X86_64
	// foreignCalls is where the numbers of the x32 interface begin.
	foreignCalls = 0x40000000
)

// modeCalls are those that only older architectures have.
var modeCalls = []uint32{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN}

//go:build amd64 || arm64

package tools

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forbidden lists the system calls a command may not make.
func forbidden(ns namespaces, abi int) []uint32 {
	list := []uint32{
		// The network, and local services too: neither Landlock nor a network
		// namespace keeps a command from connecting to a socket file. Pairs of
		// sockets remain. io_uring would open sockets past this filter.
		unix.SYS_SOCKET, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		// What a user's processes share without files.
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
		unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
		unix.SYS_ADD_KEY, unix.SYS_KEYCTL, unix.SYS_REQUEST_KEY,
		// Memory that the sum over processes would not show.
		unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET,
		// New namespaces and mounts, and parts of the kernel no command needs.
		unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT,
		unix.SYS_FSOPEN, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	}
	if ns == nsNone {
		// Without a read-only mount these reach files everywhere.
		list = append(list, modeCalls...)
		list = append(list, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWNAT, unix.SYS_SETXATTR, unix.SYS_LSETXATTR,
			unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR)
		if os.Geteuid() == 0 {
			list = append(list, unix.SYS_FCHMOD, unix.SYS_FCHOWN, unix.SYS_FSETXATTR, unix.SYS_FREMOVEXATTR)
		}
		if abi < scopeABI {
			// Nothing else would protect the helper.
			list = append(list, unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO,
				unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_PIDFD_SEND_SIGNAL)
		}
	}
	return list
}

// newNamespaces are the flags of clone(2) that make namespaces.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWTIME

// Offsets in struct seccomp_data.
const (
	offsetCall  = 0
	offsetArch  = 4
	offsetFlags = 16 // lower half of the first argument, on these little-endian machines
	offsetThird = 32 // lower half of the third
)

// filterCalls makes the kernel answer EPERM to the listed system calls, to every
// call of another architecture, whose numbers mean something else, and to clone
// when it would make namespaces. Clone3 has its flags in memory, where a filter
// cannot look: it is said not to exist, and libraries use clone instead. Sockets
// keep the buffers they are made with, whose size bufferRoom counts on.
//
// Source: seccomp(2), SECCOMP_SET_MODE_FILTER.
func filterCalls(calls []uint32) error {
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	jump := func(test uint16, k uint32, yes, no int) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, Jt: uint8(yes), Jf: uint8(no), K: k}
	}
	answer := func(k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k}
	}
	// The answers stand at the end; each test jumps over the rest to one of them.
	rest := 4 + len(calls)
	allow, refuse, missing := rest+8, rest+9, rest+10
	program := []unix.SockFilter{
		load(offsetArch),
		jump(unix.BPF_JEQ, auditArch, 0, refuse-2),
		load(offsetCall),
		jump(unix.BPF_JGE, foreignCalls, refuse-4, 0),
	}
	for i, call := range calls {
		program = append(program, jump(unix.BPF_JEQ, call, refuse-(4+i)-1, 0))
	}
	program = append(program,
		jump(unix.BPF_JEQ, unix.SYS_CLONE3, missing-rest-1, 0),
		jump(unix.BPF_JEQ, unix.SYS_SETSOCKOPT, 3, 0),
		jump(unix.BPF_JEQ, unix.SYS_CLONE, 0, allow-rest-3),
		load(offsetFlags),
		jump(unix.BPF_JSET, newNamespaces, refuse-rest-5, allow-rest-5),
		load(offsetThird),
		jump(unix.BPF_JEQ, unix.SO_SNDBUF, refuse-rest-7, 0),
		jump(unix.BPF_JEQ, unix.SO_SNDBUFFORCE, refuse-rest-8, 0),
		answer(unix.SECCOMP_RET_ALLOW),
		answer(unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM)),
		answer(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS)),
	)
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0); err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	return nil
}

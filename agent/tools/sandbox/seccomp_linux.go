//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forbidden are the system calls a command may not make.
var forbidden = []uint32{
	// The network, and local services too: neither Landlock nor a network
	// namespace keeps a command from connecting to a socket file. Pairs of
	// sockets remain. io_uring would open sockets past this filter.
	unix.SYS_SOCKET, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	// What a user's processes share without files.
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	unix.SYS_ADD_KEY, unix.SYS_KEYCTL, unix.SYS_REQUEST_KEY,
	// Memory that the sum over processes would not show.
	// A pipe keeps the whole of a huge page that a part was lent of.
	unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, unix.SYS_VMSPLICE,
	// An open file that is under way in a message is nobody's: what it holds would not be counted.
	unix.SYS_SENDMSG, unix.SYS_SENDMMSG,
	// A rule keeps a file that has no name any more, and memory of the kernel's.
	unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_LANDLOCK_ADD_RULE,
	// All users share how many events may be under way: 16 contexts take them all.
	unix.SYS_IO_SETUP,
	// New namespaces and mounts, and parts of the kernel no command needs.
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT,
	unix.SYS_FSOPEN, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	// Each session has a share of the CPU as large as the engine's (sched(7),
	// autogroup); a command stays in its one.
	unix.SYS_SETSID,
}

// newNamespaces are the flags of clone(2) that make namespaces.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWTIME

// socketKind are the bits of a socket's type that say its kind.
//
// Source: Linux include/linux/net.h, SOCK_TYPE_MASK.
const socketKind = 0xf

// setID are the bits of a mode that make a file set-uid or set-gid.
const setID = unix.S_ISUID | unix.S_ISGID

// A modeCall is a system call that gives a file a mode.
type modeCall struct {
	call uint32
	mode int // which argument is the mode
	open int // which argument says whether a file is made; 0: it always counts
}

// modeCalls are those of every architecture.
var modeCalls = append([]modeCall{
	{call: unix.SYS_FCHMOD, mode: 1},
	{call: unix.SYS_FCHMODAT, mode: 2},
	{call: unix.SYS_FCHMODAT2, mode: 2},
	{call: unix.SYS_MKNODAT, mode: 2},
	{call: unix.SYS_OPENAT, mode: 3, open: 2},
}, olderModeCalls...)

// making are the flags of open(2) that make a file.
const making = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY

// Offsets in struct seccomp_data.
const (
	offsetCall = 0
	offsetArch = 4
)

// argument is the offset of the lower half of an argument, on these little-endian
// machines.
func argument(n int) uint32 { return uint32(16 + 8*n) }

const (
	allow   = unix.SECCOMP_RET_ALLOW
	refuse  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	missing = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	unable  = unix.SECCOMP_RET_ERRNO | uint32(unix.EOPNOTSUPP)
)

// settingAside are the requests of ioctl(2) that do what fallocate(2) does: fill the disk
// at once, behind the end of a file, where no limit of its size counts.
//
// Source: Linux include/uapi/linux/falloc.h, FS_IOC_RESVSP, FS_IOC_RESVSP64, FS_IOC_ZERO_RANGE.
var settingAside = []uint32{0x40305828, 0x4030582a, 0x40305839}

// A filter is a program for seccomp(2).
type filter []unix.SockFilter

func (f *filter) add(code uint16, value uint32, unless uint8) {
	*f = append(*f, unix.SockFilter{Code: code, K: value, Jt: unless})
}

func (f *filter) load(offset uint32) { f.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0) }

// mask leaves these bits of what was loaded.
func (f *filter) mask(bits uint32) { f.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, bits, 0) }

func (f *filter) answer(with uint32) { f.add(unix.BPF_RET|unix.BPF_K, with, 0) }

// when does what is then only if what was loaded passes a test.
func (f *filter) when(test uint16, value uint32, then func(*filter)) {
	var inner filter
	then(&inner)
	*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, Jf: uint8(len(inner)), K: value})
	*f = append(*f, inner...)
}

// unless answers if what was loaded does not pass a test.
func (f *filter) unless(test uint16, value, with uint32) {
	f.add(unix.BPF_JMP|test|unix.BPF_K, value, 1)
	f.answer(with)
}

// to answers if what was loaded is one of the values.
func (f *filter) to(with uint32, values ...uint32) {
	for _, value := range values {
		f.when(unix.BPF_JEQ, value, func(f *filter) { f.answer(with) })
	}
}

func refused(f *filter) { f.answer(refuse) }

// filterCalls makes the kernel answer EPERM to the forbidden system calls, to every
// call of another architecture, whose numbers mean something else, to clone when it
// would make namespaces, and to whatever would make a file set-uid or set-gid.
// Clone3 and openat2 have their flags in memory, where a filter cannot look: they are
// said not to exist, and libraries use the older ones instead. Pairs of sockets are
// streams or of packets in order, which stay connected. Memory that is shared without a file
// stays when no process shows it any more: only where it is counted may a command have it. Space is not set aside
// ahead of use; libraries write instead. Sockets keep the
// buffers they are made with, whose size bufferRoom counts on.
//
// Source: seccomp(2), SECCOMP_SET_MODE_FILTER.
func filterCalls(counted bool) error {
	f := program(counted)
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0); err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	return nil
}

func program(counted bool) (f filter) {
	f.load(offsetArch)
	f.unless(unix.BPF_JEQ, auditArch, refuse)
	f.load(offsetCall)
	f.when(unix.BPF_JGE, foreignCalls, refused)
	f.to(refuse, forbidden...)
	f.to(unable, unix.SYS_FALLOCATE)
	f.when(unix.BPF_JEQ, unix.SYS_IOCTL, func(f *filter) {
		f.load(argument(1))
		f.to(unable, settingAside...)
		f.answer(allow)
	})
	if !counted {
		f.when(unix.BPF_JEQ, unix.SYS_MMAP, func(f *filter) {
			f.load(argument(3))
			f.mask(unix.MAP_TYPE | unix.MAP_ANONYMOUS)
			f.to(refuse, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
			f.answer(allow)
		})
	}
	f.to(missing, unix.SYS_CLONE3, unix.SYS_OPENAT2)
	f.when(unix.BPF_JEQ, unix.SYS_CLONE, func(f *filter) {
		f.load(argument(0))
		f.when(unix.BPF_JSET, newNamespaces, refused)
		f.answer(allow)
	})
	// The end of any other pair can leave its pair, and reach socket files.
	f.when(unix.BPF_JEQ, unix.SYS_SOCKETPAIR, func(f *filter) {
		f.load(argument(0))
		f.when(unix.BPF_JEQ, unix.AF_UNIX, func(f *filter) { // for another family the kernel may load a module
			f.load(argument(1))
			f.mask(socketKind)
			f.to(allow, unix.SOCK_STREAM, unix.SOCK_SEQPACKET)
		})
		f.answer(refuse)
	})
	f.when(unix.BPF_JEQ, unix.SYS_SETSOCKOPT, func(f *filter) {
		f.load(argument(2))
		f.to(refuse, unix.SO_SNDBUF, unix.SO_SNDBUFFORCE)
		f.answer(allow)
	})
	for _, c := range modeCalls { // none may make a file set-uid or set-gid
		f.when(unix.BPF_JEQ, c.call, func(f *filter) {
			if c.open > 0 {
				f.load(argument(c.open))
				f.unless(unix.BPF_JSET, making, allow)
			}
			f.load(argument(c.mode))
			f.when(unix.BPF_JSET, setID, refused)
			f.answer(allow)
		})
	}
	f.answer(allow)
	return f
}

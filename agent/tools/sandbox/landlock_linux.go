package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock's versions. minABI is the first that guards truncation, without
// which a command could empty files it may not write; netABI brings TCP, devABI
// ioctls on devices, scopeABI signals and abstract sockets.
//
// Source: Linux Documentation/userspace-api/landlock.rst, "Previous limitations".
const (
	minABI   = 3
	netABI   = 4
	devABI   = 5
	scopeABI = 6
)

const (
	accessRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	accessWrite = accessRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK
	accessAll = accessWrite | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	// accessFile is what a rule on a single file may name.
	accessFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// landlockABI returns the kernel's version of Landlock, 0 when it has none.
func landlockABI() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// restrictFiles leaves this thread the system's programs to read, the workspace
// to write, and nothing else. Where the kernel can, TCP, abstract sockets and
// signals to processes outside are refused as well.
func restrictFiles(abi int, spec stageSpec) error {
	if abi < minABI {
		return fmt.Errorf("landlock: the kernel offers version %d, needed is %d", abi, minABI)
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: accessAll}
	if abi >= netABI {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= devABI {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= scopeABI {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("landlock: make rules: %w", errno)
	}
	defer unix.Close(int(fd))
	if err := addRules(int(fd), spec); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("landlock: restrict: %w", errno)
	}
	return nil
}

func addRules(ruleset int, spec stageSpec) error {
	if err := misplaced(spec.Workspace); err != nil {
		return err
	}
	if _, err := os.Stat(spec.Workspace); err != nil {
		return err
	}
	allowed := map[string]uint64{}
	for _, place := range readablePlaces {
		allowed[place] = accessRead
	}
	if spec.Proc {
		allowed["/proc"] = accessRead
	}
	for _, device := range writableDevices {
		allowed[device] = accessRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	}
	if ownTemp(spec) {
		allowed["/tmp"] = accessWrite
	}
	allowed[spec.Workspace] = accessWrite
	for place, access := range allowed {
		if err := addRule(ruleset, place, access); err != nil {
			return err
		}
	}
	return nil
}

// misplaced says that the workspace lies where commands may read.
func misplaced(workspace string) error {
	for _, place := range readablePlaces {
		if inside(workspace, place) {
			return fmt.Errorf("the workspace lies in %s, which commands may read; move data_dir", place)
		}
	}
	return nil
}

func inside(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// addRule grants access to place and what is below it; a place that is not
// there needs no rule.
func addRule(ruleset int, place string, access uint64) error {
	fd, err := unix.Open(place, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("landlock: %s: %w", place, err)
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("landlock: %s: %w", place, err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= accessFile
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("landlock: allow %s: %w", place, errno)
	}
	return nil
}

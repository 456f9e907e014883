package tools

import (
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func init() {
	probes["namespaces"] = makeNamespaces
	probes["sockets"] = makeSockets
	probes["modes"] = makeModes
}

// makeModes tries each system call that gives a file a mode, with a set-uid one.
func makeModes() {
	const mode = 0o4755
	for name, err := range map[string]error{
		"fchmodat": unix.Fchmodat(unix.AT_FDCWD, "a", mode, 0), "fchmodat2": unix.Fchmodat(unix.AT_FDCWD, "a", mode, unix.AT_SYMLINK_NOFOLLOW),
		"chmod": unix.Chmod("a", mode), "mknod": unix.Mknod("m", mode|unix.S_IFREG, 0),
	} {
		if err == nil {
			fmt.Println(name, "is permitted")
		}
	}
	if fd, err := unix.Open("a", unix.O_RDONLY, mode); err != nil || unix.Fchmod(fd, mode) == nil {
		fmt.Println("open or fchmod:", err)
	}
	if _, err := unix.Open("o", unix.O_CREAT|unix.O_WRONLY, mode); err == nil {
		fmt.Println("open is permitted")
	}
	if _, err := unix.Openat2(unix.AT_FDCWD, "p", &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: mode}); err == nil {
		fmt.Println("openat2 is permitted")
	}
	if fd, err := unix.Open(".", unix.O_TMPFILE|unix.O_WRONLY, mode); err == nil {
		fmt.Println("a file without a name is permitted", fd)
	}
	if _, err := unix.Open("q", unix.O_CREAT|unix.O_WRONLY, 0o755); err != nil {
		fmt.Println("an ordinary mode:", err)
	}
	fmt.Println("done")
}

// makeNamespaces tries each kind of new namespace by clone, and clone3.
func makeNamespaces() {
	for name, flag := range map[string]uintptr{
		"user": unix.CLONE_NEWUSER, "mount": unix.CLONE_NEWNS, "pid": unix.CLONE_NEWPID, "net": unix.CLONE_NEWNET,
		"ipc": unix.CLONE_NEWIPC, "uts": unix.CLONE_NEWUTS, "cgroup": unix.CLONE_NEWCGROUP,
	} {
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flag}
		if flag != unix.CLONE_NEWUSER { // for which a new user namespace would give the right
			cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		}
		fmt.Printf("%s: %v\n", name, cmd.Run())
	}
	_, _, errno := unix.Syscall(unix.SYS_CLONE3, 0, 0, 0)
	fmt.Printf("clone3: %v\n", errno)
}

// makeSockets holds 200 sockets in each of three processes.
func makeSockets() {
	for range 100 {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			fmt.Println("socketpair:", err)
			return
		}
		if err := unix.SetsockoptInt(pair[0], unix.SOL_SOCKET, unix.SO_SNDBUF, 1<<20); err == nil {
			fmt.Println("the buffer grew")
		}
	}
	time.Sleep(time.Minute)
}

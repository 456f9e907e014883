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

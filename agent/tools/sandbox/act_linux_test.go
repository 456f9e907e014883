package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	probes["namespaces"] = makeNamespaces
	probes["sockets"] = makeSockets
	probes["modes"] = makeModes
	probes["headless"] = growHeadless
	probes["tables"] = growTables
	probes["ahead"] = setAhead
	probes["shared"] = shareMemory
	probes["splits"] = splitMappings
	probes["lazy"] = dropShared
	probes["blind"] = holdBlind
	probes["inflight"] = sendFile
	probes["shared-limits"] = takeShared
	probes["private"] = growPrivate
	if os.Getenv(probeEnv) == "headless" {
		runtime.LockOSThread() // to the first thread, which is to end
	}
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

// growHeadless ends the first thread, and holds 160 MB in another.
func growHeadless() {
	go func() {
		time.Sleep(300 * time.Millisecond)
		all, err := unix.Mmap(-1, 0, 160<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		for i := 0; i < len(all); i += 4096 {
			all[i] = 1
		}
		fmt.Println("held:", err)
		time.Sleep(10 * time.Second)
		os.Exit(0)
	}()
	_, _, _ = unix.Syscall(unix.SYS_EXIT, 0, 0, 0)
}

// growTables holds 200 MB of page tables, and nearly no pages.
func growTables() {
	const apart = 2 << 20
	all, err := unix.Mmap(-1, 0, 50_000*apart, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err == nil {
		err = unix.Madvise(all, unix.MADV_NOHUGEPAGE)
	}
	sum := byte(0)
	for i := 0; i < len(all); i += apart {
		sum += all[i]
	}
	fmt.Println("held:", err, sum)
	time.Sleep(10 * time.Second)
}

// setAhead tries what takes disk or memory that nobody counts.
func setAhead() {
	f, err := os.Create("ahead")
	if err != nil {
		fmt.Println(err)
		return
	}
	fd := int(f.Fd())
	fmt.Println("fallocate:", unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, 50<<20))
	reserve := struct { // struct space_resv
		kind, whence int16
		start, size  int64
		_            [6]int32
	}{size: 50 << 20}
	for _, request := range settingAside {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(unsafe.Pointer(&reserve)))
		fmt.Println("ioctl:", errno)
	}
	var ends [2]int
	if err := unix.Pipe(ends[:]); err != nil {
		fmt.Println(err)
	}
	part := make([]byte, 4096)
	_, err = unix.Vmsplice(ends[1], []unix.Iovec{{Base: &part[0], Len: 4096}}, 0)
	fmt.Println("vmsplice:", err)
}

// shareMemory tries each way to share memory with no file, of which nothing shows how much it holds.
func shareMemory() {
	_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON)
	fmt.Println("shared:", err)
	_, err = os.OpenFile("/dev/zero", os.O_RDWR, 0)
	fmt.Println("zero:", errors.Is(err, unix.EACCES))
	f, err := os.Create("own")
	if err == nil {
		err = f.Truncate(4096)
	}
	if err == nil {
		_, err = unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	fmt.Println("file:", err)
}

// dropShared holds 200 MB of shared memory that it does not show.
func dropShared() {
	all, err := unix.Mmap(-1, 0, 200<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON)
	for i := 0; i < len(all); i += 1 << 20 {
		for j := range 256 {
			all[i+4096*j] = 1
		}
		err = errors.Join(err, unix.Madvise(all[i:i+1<<20], unix.MADV_DONTNEED))
	}
	fmt.Println("held:", err)
	time.Sleep(10 * time.Second)
}

// splitMappings holds as many mappings as a process may have, and hardly any page.
func splitMappings() {
	all, err := unix.Mmap(-1, 0, 70_000*4096, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	for i := 0; err == nil && i < len(all); i += 2 * 4096 {
		err = unix.Mprotect(all[i:i+4096], unix.PROT_NONE)
	}
	fmt.Println("held:", err)
	time.Sleep(20 * time.Second)
}

// holdBlind keeps 300 MB in files of each of which only one page is mapped.
func holdBlind() {
	for range 20 {
		f, err := os.CreateTemp(".", "f")
		if err == nil {
			_, err = f.Write(make([]byte, 15<<20))
		}
		if err == nil {
			_, err = unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
		}
		if err == nil {
			err = errors.Join(os.Remove(f.Name()), f.Close())
		}
		if err != nil {
			fmt.Println("held:", err)
		}
	}
	time.Sleep(20 * time.Second)
}

// sendFile tries to leave an open file in a socket.
func sendFile() {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("sendmsg:", unix.Sendmsg(pair[0], []byte("x"), unix.UnixRights(0), nil, 0))
	_, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(pair[0]), 0, 0, 0, 0, 0)
	fmt.Println("sendmmsg:", errno)
	_, err = unix.Write(pair[0], []byte("x"))
	fmt.Println("write:", err)
}

// takeShared tries what the user who runs the program has for the whole machine, and memory of the kernel's.
func takeShared() {
	made := 0
	for made < 1000 {
		if _, err := unix.InotifyInit1(0); err != nil {
			break
		}
		made++
	}
	fmt.Println("watchers:", made < 100)
	_, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	fmt.Println("rules:", errno)
	_, err := unix.Socketpair(unix.AF_INET, unix.SOCK_STREAM, 0)
	fmt.Println("pair:", err)
}

// growPrivate asks for more memory than a process may have, and touches none.
func growPrivate() {
	_, err := unix.Mmap(-1, 0, 2<<30, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	fmt.Println("private:", err)
	_, err = unix.Mmap(-1, 0, 64<<30, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	fmt.Println("reserved:", err)
}

package sandbox

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	maxOpenFiles = 256 // of one process; pipes and sockets hold memory that is no process's
	niceness     = 5
)

// confinedMain is the last stage: it confines itself and becomes the command.
func confinedMain() {
	spec, report := readStage()
	err := becomeUser(spec.UID)
	if err == nil {
		err = prepare(spec)
	}
	if err == nil && spec.Confined {
		err = confine(spec)
	}
	if err == nil {
		err = unix.Exec("/bin/sh", []string{"sh", "-c", spec.Line}, spec.Env)
		err = fmt.Errorf("start /bin/sh: %w", err)
	}
	_ = report.Encode(stageReport{Error: err.Error()})
	os.Exit(1)
}

// becomeUser gives up root for the command's own ID.
func becomeUser(id int) error {
	if id == os.Geteuid() {
		return nil
	}
	if err := errors.Join(unix.Setgroups(nil), unix.Setresgid(id, id, id), unix.Setresuid(id, id, id)); err != nil {
		return fmt.Errorf("become user %d: %w", id, err)
	}
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0) // the change cleared it
}

// prepare sets what every command gets, confined or not.
func prepare(spec stageSpec) error {
	unix.Umask(0o077)
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, niceness) // so that the helper gets its turn
	if !spec.Confined {
		firstToGo()
	}
	for _, limit := range []struct {
		resource int
		most     uint64
	}{
		{unix.RLIMIT_CORE, 1}, // at 0 the kernel still starts a handler of cores, as root
		{unix.RLIMIT_FSIZE, uint64(spec.MaxFile)},
		{unix.RLIMIT_NOFILE, maxOpenFiles},
		{unix.RLIMIT_NPROC, taskRoom(spec)},
		{unix.RLIMIT_DATA, uint64(spec.MaxData) - 1}, // 0 becomes no limit
	} {
		if err := lowerLimit(limit.resource, limit.most); err != nil {
			return fmt.Errorf("set resource limits: %w", err)
		}
	}
	if err := unix.Chdir(spec.Workspace); err != nil {
		return fmt.Errorf("enter the workspace: %w", err)
	}
	if err := unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close open files: %w", err)
	}
	return nil
}

// taskRoom is the kernel's own count of a command's processes and threads; the
// helper's look at the tree comes too late for what doubles every millisecond. The
// kernel counts by user and user namespace, and never stops host ID 0.
//
// Source: getrlimit(2), RLIMIT_NPROC; Linux 5.14, kernel/ucount.c.
func taskRoom(spec stageSpec) uint64 {
	room := spec.MaxTasks
	if !spec.Confined {
		room += threadsOf(os.Geteuid())
	}
	return uint64(room)
}

// threadsOf counts the threads of a user's processes.
func threadsOf(uid int) (sum int) {
	ids, _ := numbered("/proc")
	for _, id := range ids {
		var stat unix.Stat_t
		if unix.Stat("/proc/"+strconv.Itoa(id), &stat) != nil || int(stat.Uid) != uid {
			continue
		}
		if p, ok := readProcess(id); ok {
			sum += p.threads
		}
	}
	return sum
}

func lowerLimit(resource int, most uint64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(resource, &now); err != nil {
		return err
	}
	most = min(most, now.Max)
	return unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most})
}

// confine takes away from this thread, and so from what it becomes, everything
// but the workspace and the system's programs, and then looks whether that is
// so. The order matters: each step needs what a later one takes.
func confine(spec stageSpec) error {
	steps := []func() error{
		dropBounding,
		noNewPrivileges,
		func() error { return restrictFiles(landlockABI(), spec) },
		dropCapabilities,
		func() error { return filterCalls(spec.Counted) },
	}
	if spec.Probe {
		steps = append(steps, tryCount)
	}
	for _, step := range append(steps, verify) {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// tryCount makes sure that the kernel refuses one task too many.
func tryCount() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &limit); err != nil {
		return err
	}
	// The Go runtime ends the program if it needs a thread just now; then the probe is made again.
	if err := unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: 1, Max: limit.Max}); err != nil {
		return err
	}
	pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", ":"}, &syscall.ProcAttr{})
	if err == nil {
		_, err = unix.Wait4(pid, nil, 0, nil)
		return errors.Join(fmt.Errorf("the kernel does not count the processes of user %d", os.Geteuid()), err)
	}
	if !errors.Is(err, unix.EAGAIN) {
		return fmt.Errorf("try the limit of processes: %w", err)
	}
	return unix.Setrlimit(unix.RLIMIT_NPROC, &limit)
}

// dropBounding empties the sets from which an exec could give rights back.
func dropBounding() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clear ambient capabilities: %w", err)
	}
	for c := uintptr(0); ; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		switch {
		case errors.Is(err, unix.EINVAL):
			return nil // past the last one
		case errors.Is(err, unix.EPERM):
			return nil // we have none to give back; no_new_privs keeps it so
		case err != nil:
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
}

func noNewPrivileges() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	return nil
}

// dropCapabilities leaves no capability; the user stays who it is.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// verify tries what must not work. A kernel that says yes to everything and
// enforces nothing would be caught here.
func verify() error {
	var held [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &held[0]); err != nil || held != ([2]unix.CapUserData{}) {
		return fmt.Errorf("capabilities are still held (%v)", err)
	}
	if fd, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
		return errors.Join(errors.New("files outside are still open to the command"), unix.Close(fd))
	}
	for _, family := range []int{unix.AF_INET, unix.AF_INET6, unix.AF_UNIX, unix.AF_NETLINK} {
		if fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err == nil {
			return errors.Join(errors.New("the network is still open to the command"), unix.Close(fd))
		}
	}
	return nil
}

// readablePlaces are those outside the workspace that commands may read and run
// programs from. Of /etc only what programs need to start and to name things.
var readablePlaces = strings.Fields(`
	/usr /bin /sbin /lib /lib32 /lib64 /libx32 /nix/store
	/etc/ld.so.cache /etc/ld.so.conf /etc/ld.so.conf.d /etc/ld.so.preload
	/etc/alternatives /etc/passwd /etc/group /etc/nsswitch.conf /etc/localtime /etc/timezone /etc/os-release /etc/debian_version
	/etc/hosts /etc/host.conf /etc/resolv.conf /etc/services /etc/protocols /etc/mime.types /etc/magic
	/etc/ssl/certs /etc/ssl/openssl.cnf /etc/pki/tls/certs /etc/pki/ca-trust /etc/ca-certificates
	/etc/profile /etc/bash.bashrc /etc/inputrc /etc/terminfo /etc/fonts /etc/perl /etc/python3 /etc/gitconfig
	/dev/random /dev/urandom /dev/zero
	/proc/cpuinfo /proc/meminfo /proc/version /proc/uptime /proc/loadavg /proc/filesystems`)

// writableDevices swallow bytes and nothing else. /dev/zero is not one of them: who may write to
// it may share memory through it.
var writableDevices = []string{"/dev/null", "/dev/full", "/dev/tty"}

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"switchboard/agent/tools/workspace"
)

// Where this program may make control groups, each command has one, in which the kernel counts all its
// memory: what no process shows any more, and what the kernel keeps for it.
//
// Source: Linux Documentation/admin-guide/cgroup-v2.rst, "Delegation" and "No Internal Process Constraint".

// engineGroup is the group of this program itself, next to those of its commands: a group that has others
// below it may have no processes. The unit names it in DelegateSubgroup=.
const engineGroup = "engine"

// groupTasks is how many tasks a group may have besides the command's: those of init and of
// the last stage, for which RLIMIT_NPROC does not count.
const groupTasks = 64

// ownGroups returns the folder in which commands may have groups, or why there is none.
func ownGroups() (string, error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	return findGroups("/sys/fs/cgroup", string(own), os.Getpid())
}

// findGroups is ownGroups of the process with that line of /proc/PID/cgroup, where all groups lie below
// root. It moves the process into a group below its own when it is alone there.
func findGroups(root, own string, pid int) (string, error) {
	path, ok := strings.CutPrefix(strings.TrimSuffix(own, "\n"), "0::")
	if !ok || strings.Contains(path, "\n") {
		return "", errors.New("this machine does not use cgroup v2 alone")
	}
	dir := filepath.Join(root, path)
	leaf := filepath.Base(dir) == engineGroup
	if leaf {
		dir = filepath.Dir(dir)
	}
	given, err := os.ReadFile(dir + "/cgroup.controllers")
	if err != nil {
		return "", err
	}
	for _, name := range []string{"memory", "pids"} {
		if !slices.Contains(strings.Fields(string(given)), name) {
			return "", fmt.Errorf("the controller %s is not delegated to %s", name, path)
		}
	}
	control := dir + "/cgroup.subtree_control"
	if err := unix.Access(control, unix.W_OK); err != nil {
		return "", fmt.Errorf("%s is not delegated: %w", path, err)
	}
	if !leaf {
		if err := enterLeaf(dir, pid); err != nil {
			return "", err
		}
	}
	return dir, os.WriteFile(control, []byte("+memory +pids"), 0o600)
}

// enterLeaf moves the process from the group into one below it, unless others are there too.
func enterLeaf(dir string, pid int) error {
	there, err := os.ReadFile(dir + "/cgroup.procs")
	if err != nil {
		return err
	}
	if strings.TrimSpace(string(there)) != strconv.Itoa(pid) {
		return errors.New("other processes are in this program's control group")
	}
	leaf := filepath.Join(dir, engineGroup)
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return os.WriteFile(leaf+"/cgroup.procs", []byte(strconv.Itoa(pid)), 0o600)
}

// newGroup is the path of a command's group in the folder groups; empty: it has none.
func newGroup(groups string) string {
	if groups == "" {
		return ""
	}
	return filepath.Join(groups, "command-"+workspace.RandomWord())
}

// makeGroup makes the command's group with its limits; nil: it has none.
func makeGroup(spec helperSpec) (*os.File, error) {
	if spec.Group == "" {
		return nil, nil
	}
	if err := os.Mkdir(spec.Group, 0o755); err != nil {
		return nil, err
	}
	write := func(file string, number int64) error {
		return os.WriteFile(filepath.Join(spec.Group, file), []byte(strconv.FormatInt(number, 10)), 0o600)
	}
	_ = write("memory.swap.max", 0) // not there where the kernel does not count swap
	err := errors.Join(write("memory.max", spec.MemoryLimit), write("memory.oom.group", 1), write("pids.max", int64(spec.MaxTasks+groupTasks)))
	if err != nil {
		return nil, err
	}
	return os.Open(spec.Group)
}

// memoryRanOut says that the kernel ended processes of the group for its limit of memory.
func memoryRanOut(group string) bool {
	ended, _ := number(filepath.Join(group, "memory.events"), "oom_kill ") // none: no group
	return ended > 0
}

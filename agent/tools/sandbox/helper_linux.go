package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"switchboard/agent/tools/workspace"
)

// A command runs at the end of this chain of processes, each this same program
// under another first argument:
//
//	engine ─pipe─► helper ─► init (process 1 of the namespaces, if any) ─► confined ─exec─► /bin/sh -c LINE
//
// A confined command has user, process, mount, network and IPC namespaces of its own;
// one whose confinement the settings lift has none.
//
// The names are arguments and not variables: a command sees its environment.
const (
	helperName   = "switchboard: command helper"
	initName     = "switchboard: command init"
	confinedName = "switchboard: command"
)

// File descriptors that each stage is started with.
const (
	specFD   = 3 // where it reads its spec; the helper's is the control pipe
	reportFD = 4 // where it says how it went
)

// A helperSpec is what the engine tells the helper.
type helperSpec struct {
	stageSpec           // Env is what the command has besides the usual; the helper adds the rest
	Path         string // the search path
	Timeout      time.Duration
	MemoryLimit  int64
	Group        string // the folder of the command's control group, which the helper makes; empty: none
	MaxProcesses int
	MaxBytes     int64 // of the workspace; 0: as much as there is room for
	MaxFiles     int
	Lease        lease // what comes after the spec on the control pipe are newer ones
}

// unseen is how much more than the limit a process may ask for, in bytes, where its memory is looked at and
// not counted: one that takes all it can is seen, and ended with a reason, before it gets there.
const unseen = 1 << 30

// A stageSpec is what all stages are told.
type stageSpec struct {
	Line      string
	Workspace string
	Temp      string // in the workspace; a confined command has it as /tmp too
	Env       []string
	Confined  bool
	UID       int  // the host ID, user and group, that the command runs under
	Proc      bool // /proc belongs to the command alone
	MaxTasks  int
	MaxFile   int64 // bytes of one file
	Counted   bool  // the kernel counts the command's memory in a control group
	MaxData   int64 // bytes of memory of its own that one process may ask for; 0: any
	Probe     bool  // try whether the kernel counts the command's tasks
}

// A stageReport is one of the things a stage says; zero fields say nothing.
type stageReport struct {
	Error  string           `json:",omitempty"` // what could not be set up; the command did not run
	Proc   bool             `json:",omitempty"` // see stageSpec
	Status *unix.WaitStatus `json:",omitempty"` // how the command ended, from init
}

// RunHelper turns the process into a helper when it was started as one, and
// then never returns; otherwise it returns at once. Every main and TestMain of a
// program that runs commands calls it before anything else.
func RunHelper() {
	switch os.Args[0] {
	case helperName:
		helperMain()
	case initName:
		initMain()
	case confinedName:
		confinedMain()
	default:
		return
	}
	os.Exit(0)
}

func helperMain() {
	// The parent-death signal of our child is tied to the thread that starts it.
	runtime.LockOSThread()
	// Caught, not ignored: children would inherit that. Only the pipe ends us.
	signal.Notify(make(chan os.Signal, 1))
	unix.CloseOnExec(specFD)
	unix.CloseOnExec(reportFD)
	control, report := os.NewFile(specFD, "control"), os.NewFile(reportFD, "report")
	var spec helperSpec
	dec := json.NewDecoder(control)
	if err := dec.Decode(&spec); err != nil {
		os.Exit(1) // not started by an engine, or it is gone already
	}
	closed := make(chan struct{})
	var until atomic.Pointer[lease] // the newest lease
	until.Store(&spec.Lease)
	go func() { // ends with the process
		defer close(closed)
		for {
			var news lease
			if dec.Decode(&news) != nil {
				return
			}
			until.Store(&news)
		}
	}()
	o, err := runTree(spec, &until, closed)
	if err != nil {
		o = Outcome{Kind: "helper_failed", Detail: err.Error()}
	}
	_ = json.NewEncoder(report).Encode(o)
}

// runTree runs the command and returns when nothing of it is left.
func runTree(spec helperSpec, until *atomic.Pointer[lease], closed <-chan struct{}) (Outcome, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return Outcome{}, fmt.Errorf("become a subreaper: %w", err)
	}
	if _, err := descendants(); err != nil {
		return Outcome{}, fmt.Errorf("look for processes: %w", err)
	}
	root, err := workspace.Open(spec.Workspace)
	if err != nil {
		return Outcome{}, fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close()
	if spec.UID != os.Geteuid() {
		_ = os.Stdout.Chown(spec.UID, spec.UID) // for commands that open /dev/stdout
	}
	if err := handOver(root, spec); err != nil {
		return Outcome{}, fmt.Errorf("hand the workspace over: %w", err)
	}
	temp, err := makeTemp(root)
	if err != nil {
		return Outcome{}, fmt.Errorf("make a folder for temporary files: %w", err)
	}
	defer func() { _ = workspace.Discard(root, temp) }()
	stage := spec.stageSpec
	stage.Temp, stage.Env = temp, environ(spec.Workspace, spec.Env, filepath.Join(spec.Workspace, temp), spec.Path)
	name := confinedName
	if spec.Confined {
		name = initName
		if stage.Counted = spec.Group != ""; !stage.Counted {
			stage.MaxData = spec.MemoryLimit + unseen
		}
	}
	if until.Load().passed() {
		return Outcome{Kind: "interrupted"}, nil
	}
	group, err := makeGroup(spec)
	if err != nil {
		return Outcome{Kind: "sandbox", Detail: fmt.Sprintf("make a control group: %v", err)}, nil
	}
	t, err := startTree(name, stage, group)
	_ = group.Close() // nil, or the command is in it by now
	if err != nil {
		return Outcome{Kind: "sandbox", Detail: err.Error()}, nil
	}
	o := t.watch(spec, root, until, closed)
	if stage.Counted && (o.Kind == "signal" || o.Kind == "exit_status") && memoryRanOut(spec.Group) {
		o = Outcome{Kind: "memory_limit", Proc: o.Proc}
	}
	return o, nil
}

// handOver makes all of the workspace the command's own, unless that was done
// before. What an unconfined command of root leaves is handed over by the next one
// that is confined.
func handOver(root *os.Root, spec helperSpec) error {
	info, err := root.Stat(".")
	if err != nil || os.Geteuid() != 0 {
		return err
	}
	if !spec.Confined {
		return root.Lchown(".", 0, 0)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) == spec.UID {
		return nil
	}
	err = workspace.WalkSome(context.Background(), root, ".", math.MaxInt, workspace.MaxDeep, func(name string, _ fs.FileInfo) error {
		return root.Lchown(name, spec.UID, spec.UID)
	})
	if err != nil {
		return err
	}
	return root.Lchown(".", spec.UID, spec.UID)
}

// makeTemp makes the command's TMPDIR inside the workspace, where its quota and
// its confinement are, and returns its path there.
func makeTemp(root *os.Root) (string, error) {
	temp := path.Join(workspace.Hidden, "tmp-"+workspace.RandomWord())
	if err := workspace.MakeHidden(root); err != nil {
		return "", err
	}
	err := root.Mkdir(temp, 0o700)
	workspace.Give(root, temp)
	return temp, err
}

// cloneAttr says how the next stage is started; with a group it begins in it.
func cloneAttr(spec stageSpec, group *os.File) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if group != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(group.Fd())
	}
	if !spec.Confined {
		return attr
	}
	attr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNET | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	if spec.UID != os.Geteuid() {
		own := syscall.SysProcIDMap{ContainerID: spec.UID, HostID: spec.UID, Size: 1}
		attr.UidMappings, attr.GidMappings = append(attr.UidMappings, own), append(attr.GidMappings, own)
		attr.GidMappingsEnableSetgroups = true
	}
	// Kept over the exec of init, which mounts, sets limits and then drops all.
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_RESOURCE}
	return attr
}

// startStage starts this program again under name and tells it spec.
func startStage(name string, spec stageSpec, attr *syscall.SysProcAttr, report *os.File) (*os.Process, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{name}, Env: []string{}, Dir: "/",
		Stdout: os.Stdout, Stderr: os.Stderr, ExtraFiles: []*os.File{r, report}, SysProcAttr: attr,
	}
	err = cmd.Start()
	r.Close()
	if err != nil {
		return nil, err
	}
	// Nobody may look into us or trace us. Only now: a process that cannot be
	// traced cannot set its child's user mappings. The stage waits for its spec,
	// so no command runs yet.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, errors.Join(err, cmd.Process.Kill())
	}
	if err := json.NewEncoder(w).Encode(spec); err != nil {
		return nil, errors.Join(err, cmd.Process.Kill())
	}
	return cmd.Process, nil
}

// readStage is how a stage begins: it dies with its parent and reads its spec.
// It ends the process when the parent is gone already.
func readStage() (stageSpec, *json.Encoder) {
	runtime.LockOSThread() // what is set on a thread must be set on the one that goes on
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
	unix.CloseOnExec(specFD)
	unix.CloseOnExec(reportFD)
	spec := stageSpec{}
	if err := json.NewDecoder(os.NewFile(specFD, "spec")).Decode(&spec); err != nil {
		os.Exit(1)
	}
	return spec, json.NewEncoder(os.NewFile(reportFD, "report"))
}

// limitWatches bounds what the user who runs the program has for the whole machine, in this namespace.
//
// Source: user_namespaces(7), "/proc/sys/user".
func limitWatches() {
	for name, most := range map[string]string{"inotify_instances": "64", "inotify_watches": "8192", "fanotify_groups": "0", "fanotify_marks": "0"} {
		_ = os.WriteFile("/proc/sys/user/max_"+name, []byte(most), 0) // of a kernel that has no such limit
	}
}

// initMain is process 1 of the command's namespaces: when it ends, by itself or
// killed, the kernel ends all others in there.
func initMain() {
	spec, report := readStage()
	signal.Notify(make(chan os.Signal, 1))
	fail := func(err error) {
		_ = report.Encode(stageReport{Error: err.Error()})
		os.Exit(1)
	}
	firstToGo()
	limitWatches()
	var err error
	if spec.Proc, err = makeRoot(spec); err != nil {
		fail(err)
	}
	main, err := startStage(confinedName, spec, &syscall.SysProcAttr{Setsid: true}, os.NewFile(reportFD, "report"))
	if err != nil {
		fail(fmt.Errorf("start the command: %w", err))
	}
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			fail(fmt.Errorf("wait for the command: %w", err))
		}
		if pid == main.Pid {
			_ = report.Encode(stageReport{Status: &status, Proc: spec.Proc})
			os.Exit(0)
		}
	}
}

// firstToGo makes the kernel choose the command before the engine when memory
// runs out.
func firstToGo() {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
}

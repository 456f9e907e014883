// Package sandbox runs commands in a session's folder, each under a helper process
// that kills the command's whole tree when it ends, takes too long, grows too big, or
// when this program is gone. On Linux a command is confined: it sees the system's
// programs and its folder, and no network.
//
// It knows no tool, no taint and no role; agent/tools calls it. Package main calls
// RunHelper.
package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"switchboard/agent/tools/workspace"
)

// Config is how commands run. The zero value works.
type Config struct {
	// Timeout is how long one command may take. 0: 2 minutes.
	Timeout time.Duration
	// MaxOutput is how many bytes a command may print; one that prints more is
	// stopped. 0: 2 GiB.
	MaxOutput int64
	// MemoryLimit is the most all processes of a command may hold together, in
	// bytes. In namespaces each socket counts as much as its buffers could hold;
	// without them only the limits of open files and processes bound those. Pipes
	// are not counted: the kernel bounds a user's. 0: 2 GiB.
	MemoryLimit int64
	// MaxTasks is the most threads and processes of a command that the kernel lets
	// live at once. 0: 512.
	MaxTasks int
	// MaxProcesses is how many processes at once end a command. They are looked for now
	// and then, so a command may have more for a moment. 0: 256.
	MaxProcesses int
	// Space is what a workspace may hold; a command that would have it hold more is
	// refused or stopped. Nil: the default limits.
	Space *workspace.Space
	// SafeUntil says until when, by the wall clock, commands may run unless it says
	// later: the helper is told and kills its command when that instant passes, though
	// this program may be stopped by then. Zero, or nil: there is no such instant. The
	// context of Run ends no later than it passes.
	SafeUntil func() time.Time
	// HelperPath is the program that is started as the helper; its main calls
	// RunHelper first. Empty: this program.
	HelperPath string
}

// A Sandbox runs commands. Its methods are safe for use by several turns at once.
type Sandbox struct {
	cfg    Config
	groups func() (string, error) // the folder in which commands may have control groups, or why there is none

	probing chan struct{} // holds one while layers are read, or found out
	layers  *layers       // what works here; nil until the probe succeeded
}

// ownProgram is the helper where none is set; tests may have another.
var ownProgram = "/proc/self/exe"

// New returns a Sandbox; nothing is started or probed yet.
func New(cfg Config) *Sandbox {
	cfg.Timeout = cmp.Or(cfg.Timeout, 2*time.Minute)
	cfg.MaxOutput = cmp.Or(cfg.MaxOutput, 2<<30)
	cfg.MemoryLimit = cmp.Or(cfg.MemoryLimit, 2<<30)
	cfg.MaxTasks = cmp.Or(cfg.MaxTasks, 512)
	cfg.MaxProcesses = cmp.Or(cfg.MaxProcesses, 256)
	cfg.HelperPath = cmp.Or(cfg.HelperPath, ownProgram)
	return &Sandbox{cfg: cfg, groups: ownGroups, probing: make(chan struct{}, 1)}
}

// A Command is what Run runs.
type Command struct {
	Line      string // for /bin/sh -c
	Workspace string // absolute path without symbolic links; the working folder, and the only place it may write
	// Env are variables besides PATH, HOME, LANG, TZ and TMPDIR.
	Env    []string
	Lifted bool // it is not confined
}

// An Outcome is how a command ended.
type Outcome struct {
	// Kind is exit_status (Status 0: it did well), signal, timeout, memory_limit,
	// process_limit, workspace_full, disk_low, output_flood, interrupted (SafeUntil
	// passed), stopped (its context ended) or helper_failed.
	Kind   string
	Status int    // exit status or signal number
	Detail string // a line for people
	Proc   bool   // the command had a /proc of its own
}

// ErrUnavailable says that a command which has to be confined cannot be; it never runs
// bare.
var ErrUnavailable = errors.New("commands cannot be confined on this machine")

// ErrNoAnswer says that nobody knows yet whether commands can be confined: trying it came to no end. The next command tries it again.
var ErrNoAnswer = errors.New("trying whether commands can be confined came to no end")

func unavailable(reason string) error {
	return fmt.Errorf("%w: %s. %s", ErrUnavailable, reason, fixSandbox)
}

const fixSandbox = "Needed is Linux 6.2 or newer with Landlock, seccomp filters and user namespaces (sysctl kernel.unprivileged_userns_clone=1, " +
	"kernel.apparmor_restrict_unprivileged_userns=0, user.max_user_namespaces above 0; in a container also security_opt: " +
	"seccomp=unconfined and apparmor=unconfined); switchboard doctor shows what is missing"

// told is o with a line for people.
func (s *Sandbox) told(o Outcome) Outcome {
	switch o.Kind {
	case "exit_status":
		o.Detail = fmt.Sprintf("exit status %d", o.Status)
	case "signal":
		o.Detail = "killed by a signal: " + o.Detail
	case "timeout":
		o.Detail = fmt.Sprintf("stopped after %s", s.cfg.Timeout)
	case "memory_limit":
		o.Detail = fmt.Sprintf("stopped: its processes held more than %d MiB of memory", s.cfg.MemoryLimit>>20)
	case "process_limit":
		o.Detail = fmt.Sprintf("stopped: it had more than %d processes", s.cfg.MaxProcesses)
	case "workspace_full":
		o.Detail = "stopped: " + s.cfg.Space.Full()
	case "disk_low":
		o.Detail = "stopped: the disk is nearly full"
	case "output_flood":
		o.Detail = "stopped: it printed far more than can be kept"
	case "interrupted":
		o.Detail = "stopped midway"
	case "stopped":
		o.Detail = "cancelled"
	default:
		o.Kind, o.Detail = "helper_failed", "the command's helper failed: "+cmp.Or(o.Detail, "it was killed")
	}
	return o
}

// environ is all a command sees of the environment; later entries win.
func environ(workspace string, extra []string, temp, path string) []string {
	own := []string{"PATH=" + path, "HOME=" + workspace, "LANG=C.UTF-8", "TZ=UTC", "TMPDIR=" + temp}
	byName := map[string]string{}
	for _, entry := range append(own, extra...) {
		name, _, _ := strings.Cut(entry, "=")
		byName[name] = entry
	}
	return slices.Collect(maps.Values(byName))
}

const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// A Layer is one part of the confinement, for switchboard doctor.
type Layer struct {
	Name   string
	Works  bool
	Detail string
	Fix    string // what to do; empty when nothing has to be done
}

// layers is what a probe found.
type layers struct {
	uid    int    // the host ID that confined commands run under
	groups string // the folder of their control groups; empty: they have none
	list   []Layer
}

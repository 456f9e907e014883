package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// ExecConfig is how commands run. The zero value works and confines everybody.
type ExecConfig struct {
	// Timeout is how long one command may take. 0: 2 minutes.
	Timeout time.Duration
	// OutputLimit is the most a command's output may keep, in bytes. 0:
	// DefaultOutputLimit. A command that prints more than 2048 times as much is
	// stopped.
	OutputLimit int64
	// Sandbox is "auto" or "off". Off lifts the confinement for admins only.
	// Empty: auto.
	Sandbox string
	// AdminUnconfined lifts the confinement for admins.
	AdminUnconfined bool
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
	Space *Space
	// SafeUntil says until when, by the wall clock, commands may run unless it says
	// later: the helper is told and kills its command when that instant passes, though
	// this program may be stopped by then. Zero, or nil: there is no such instant. The
	// context of Run ends with the cause ErrUnsafe no later than it passes.
	SafeUntil func() time.Time
	// HelperPath is the program that is started as the helper; its main calls
	// RunHelper first. Empty: this program.
	HelperPath string
	// Log gets what an operator should know. Nil: nothing is logged.
	Log *slog.Logger
}

// floodFactor times the output limit is what a command may print at all: what
// is beyond the limit is thrown away, but nobody needs to wait for all of it.
const floodFactor = 2048

// Exec runs commands, each under a helper process that kills its whole tree
// when the command ends, takes too long, grows too big, or when this program is
// gone. Its methods are safe for use by several turns at once.
type Exec struct {
	cfg ExecConfig

	mu     sync.Mutex
	layers *layers // what works here; nil until the probe succeeded
}

// ownProgram is the helper where none is set; tests may have another.
var ownProgram = "/proc/self/exe"

// NewExec returns an Exec; nothing is started or probed yet.
func NewExec(cfg ExecConfig) *Exec {
	cfg.Timeout = cmp.Or(cfg.Timeout, 2*time.Minute)
	cfg.OutputLimit = cmp.Or(cfg.OutputLimit, DefaultOutputLimit)
	cfg.MemoryLimit = cmp.Or(cfg.MemoryLimit, 2<<30)
	cfg.MaxTasks = cmp.Or(cfg.MaxTasks, 512)
	cfg.MaxProcesses = cmp.Or(cfg.MaxProcesses, 256)
	cfg.HelperPath = cmp.Or(cfg.HelperPath, ownProgram)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Exec{cfg: cfg}
}

// A Layer is one part of the confinement, for switchboard doctor.
type Layer struct {
	Name   string
	Works  bool
	Detail string
	Mend   string // what to do; empty when nothing has to be done
}

// Run runs the command and returns when no process of it is left. It ends it
// early when ctx ends; with the cause ErrUnsafe the result has the code
// CodeInterrupted. A command that has to be confined and cannot be is refused with
// the code "sandbox_unavailable"; it never runs bare.
func (e *Exec) Run(ctx context.Context, cmd Command) Result {
	workspace, fault := checkCommand(cmd)
	if fault != nil {
		return *fault
	}
	cmd.Workspace = workspace
	if ctx.Err() != nil {
		return notBegun(ctx)
	}
	trace, err := beginTrace(ctx, cmd)
	if err != nil {
		if ctx.Err() != nil {
			return notBegun(ctx)
		}
		e.cfg.Log.ErrorContext(ctx, "command not started", slog.Any("error", err))
		return ioFault("the workspace", err)
	}
	res := e.run(ctx, cmd, !e.lifted(cmd))
	res.Taint, err = trace.end(ctx)
	if err != nil {
		e.cfg.Log.ErrorContext(ctx, "taint of workspace files not stored", slog.Any("error", err))
		res.Taint = res.Taint.Join(taintLost)
	}
	return res
}

// lifted reports whether the settings free this command from confinement.
func (e *Exec) lifted(cmd Command) bool {
	return cmd.Admin && (e.cfg.Sandbox == "off" || e.cfg.AdminUnconfined)
}

func checkCommand(cmd Command) (string, *Result) {
	var res Result
	workspace, err := filepath.EvalSymlinks(cmd.Workspace)
	info, statErr := os.Stat(workspace)
	switch {
	case strings.TrimSpace(cmd.Line) == "":
		res = refused("empty_command", "say what to run", "the command is empty")
	case strings.Contains(cmd.Line, "\x00") || strings.Contains(strings.Join(cmd.Env, ""), "\x00"):
		res = refused("bad_command", "leave the NUL byte out", "the command holds a NUL byte")
	case len(cmd.Line) > maxLine:
		res = refused("bad_command", "write a script with workspace.write and run that", "the command has %d bytes; the limit is %d", len(cmd.Line), maxLine)
	case err != nil || statErr != nil || !info.IsDir() || !filepath.IsAbs(workspace) || workspace == "/":
		res = failed("workspace_missing", "", "the session has no workspace to run in")
	default:
		return workspace, nil
	}
	return "", &res
}

// maxLine is less than what the kernel takes as one argument (128 KiB).
const maxLine = 100 << 10

// environ is all a command sees of the environment; later entries win.
func environ(cmd Command, temp, path string) []string {
	env := append([]string{
		"PATH=" + path, "HOME=" + cmd.Workspace, "LANG=C.UTF-8", "TZ=UTC", "TMPDIR=" + temp,
	}, cmd.Env...)
	seen := map[string]int{}
	var list []string
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if at, again := seen[name]; again {
			list[at] = entry
			continue
		}
		seen[name] = len(list)
		list = append(list, entry)
	}
	return list
}

const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// An outcome is how the helper says that a command ended.
type outcome struct {
	Kind   string // exit | signal | timeout | memory | processes | workspace | disk | lease | closed | sandbox | failed
	Status int    // exit status or signal number
	Detail string
	Proc   bool // the command had a /proc of its own
}

// result turns an outcome and what was printed into a Result.
func (e *Exec) result(o outcome, text string) Result {
	res := Result{End: EndError, Output: text}
	last := ""
	switch o.Kind {
	case "exit":
		if o.Status == 0 {
			res.End = EndOK
			return res
		}
		res.Code, last = "exit_status", fmt.Sprintf("exit status %d", o.Status)
	case "signal":
		res.Code, last = "signal", "killed by a signal: "+o.Detail
	case "timeout":
		res.End, res.Code = EndTimeout, "timeout"
		last = fmt.Sprintf("stopped after %s", e.cfg.Timeout)
		res.Hint = "split the work, or make it faster"
	case "memory":
		res.Code, last = "memory_limit", fmt.Sprintf("stopped: its processes held more than %d MiB of memory", e.cfg.MemoryLimit>>20)
		res.Hint = "work in smaller pieces"
	case "processes":
		res.Code, last = "process_limit", fmt.Sprintf("stopped: it had more than %d processes", e.cfg.MaxProcesses)
		res.Hint = "start fewer processes at a time"
	case "workspace":
		res.Code, last, res.Hint = "workspace_full", "stopped: "+e.cfg.Space.full(), fullHint
	case "disk":
		res.Code, last = "disk_low", "stopped: the disk is nearly full"
		res.Hint = "tell the person; trying again does not help"
	case "flood":
		res.Code, last = "output_flood", "stopped: it printed far more than can be kept"
		res.Hint = "write to a file, or filter the output"
	case "cancelled":
		res.End, res.Code, last = EndCancelled, "cancelled", "cancelled"
	case "lease":
		res.Code, res.Hint, last = CodeInterrupted, hintUnsafe, "stopped midway"
	case "sandbox":
		return e.unavailable(o.Detail)
	default:
		res.Code, last = "helper_failed", "the command's helper failed: "+cmp.Or(o.Detail, "it was killed")
	}
	res.Output = joinMark(text, cleanText(last), "")
	return res
}

// unavailable refuses a command that cannot be confined here.
func (e *Exec) unavailable(reason string) Result {
	return Result{
		End: EndRefused, Code: "sandbox_unavailable", Rule: "agent.sandbox",
		Output: "commands cannot be confined on this machine: " + reason + ". " + mendSandbox,
		Hint:   "plan without exec; tell the person that commands cannot run here",
	}
}

const mendSandbox = "Needed is Linux 6.2 or newer with Landlock, seccomp filters and user namespaces (sysctl kernel.unprivileged_userns_clone=1, " +
	"kernel.apparmor_restrict_unprivileged_userns=0, user.max_user_namespaces above 0; in a container also security_opt: " +
	"seccomp=unconfined and apparmor=unconfined); switchboard doctor shows what is missing"

// A collector keeps the beginning and the end of what a command prints, in
// bounded memory.
type collector struct {
	head, ring []byte
	headSize   int
	total      int64
}

// newCollector keeps at most limit bytes, with room left for a mark and a last
// line.
func newCollector(limit int64) *collector {
	room := int(max(limit-4*markRoom, 0))
	return &collector{headSize: room - room/4, ring: make([]byte, 0, room/4)}
}

// Write never fails.
func (c *collector) Write(p []byte) (int, error) {
	n := len(p)
	if room := c.headSize - len(c.head); room > 0 {
		take := min(room, len(p))
		c.head = append(c.head, p[:take]...)
		p = p[take:]
	}
	c.total += int64(n)
	if size := cap(c.ring); len(p) >= size {
		c.ring = append(c.ring[:0], p[len(p)-size:]...)
	} else if over := len(c.ring) + len(p) - size; over > 0 {
		// Shifting is cheap here: reads are large, the ring is a quarter.
		c.ring = append(c.ring[:copy(c.ring, c.ring[over:])], p...)
	} else {
		c.ring = append(c.ring, p...)
	}
	return n, nil
}

// text returns what was kept, with a mark where something was left out.
func (c *collector) text() string {
	left := c.total - int64(len(c.head)) - int64(len(c.ring))
	if left == 0 {
		whole := cleanText(string(slices.Concat(c.head, c.ring)))
		if room := c.headSize + cap(c.ring); len(whole) > room {
			return Shorten(whole, c.headSize, cap(c.ring))
		}
		return whole
	}
	first, last := wholeLines(c.head), fromLine(c.ring)
	left = c.total - int64(len(first)) - int64(len(last))
	head := cutHead(cleanText(string(first)), c.headSize)
	tail := cutTail(cleanText(string(last)), cap(c.ring))
	return joinMark(head, truncationMark(left), tail)
}

// layers is what a probe found.
type layers struct {
	uid  int // the host ID that confined commands run under
	list []Layer
}

var errNoHelper = errors.New("the helper could not be started")

package tools

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"switchboard/agent/tools/command"
	"switchboard/agent/tools/sandbox"
	"switchboard/internal/secrets"
)

// ExecConfig is how commands run. The zero value works and confines everybody.
type ExecConfig struct {
	// Config is how the sandbox runs them; its MaxOutput is set by OutputLimit. The context
	// of Run ends with the cause ErrUnsafe no later than SafeUntil says.
	sandbox.Config
	// OutputLimit is the most a command's output may keep, in bytes. 0:
	// DefaultOutputLimit. A command that prints more than 2048 times as much is
	// stopped.
	OutputLimit int64
	// AdminUnconfined lifts the confinement for admins.
	AdminUnconfined bool
	// Mask takes known secrets out of what commands print.
	Mask *secrets.Masker
	// Log gets what an operator should know. Nil: nothing is logged.
	Log *slog.Logger
}

// floodFactor times the output limit is what a command may print at all: what
// is beyond the limit is thrown away, but nobody needs to wait for all of it.
const floodFactor = 2048

// Exec runs commands in the sandbox, and lets the files that they write inherit taint.
// Its methods are safe for use by several turns at once.
type Exec struct {
	cfg     ExecConfig
	sandbox *sandbox.Sandbox
}

// NewExec returns an Exec; nothing is started or probed yet.
func NewExec(cfg ExecConfig) *Exec {
	cfg.OutputLimit = cmp.Or(cfg.OutputLimit, DefaultOutputLimit)
	cfg.MaxOutput = floodFactor * cfg.OutputLimit
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Exec{cfg, sandbox.New(cfg.Config)}
}

// Run runs the command, as command.Runs prints its line, and returns when no process of it
// is left. It ends it early when ctx ends; with the cause ErrUnsafe the result has the code
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
	res := e.run(ctx, cmd)
	res.Taint, err = trace.end(ctx)
	if err != nil {
		e.cfg.Log.ErrorContext(ctx, "taint of workspace files not stored", slog.Any("error", err))
		res.Taint = res.Taint.Join(taintLost)
	}
	return res
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

// run runs a checked command.
func (e *Exec) run(ctx context.Context, cmd Command) Result {
	kept := newCollector(e.cfg.OutputLimit, e.cfg.Mask)
	o, err := e.sandbox.Run(ctx, sandbox.Command{
		Line: command.Runs(cmd.Line), Workspace: cmd.Workspace, Env: cmd.Env, Lifted: cmd.Admin && e.cfg.AdminUnconfined,
	}, kept)
	switch {
	case err != nil && ctx.Err() != nil:
		return notBegun(ctx)
	case errors.Is(err, sandbox.ErrUnavailable):
		return Result{
			End: EndRefused, Code: "sandbox_unavailable", Rule: "agent.sandbox", Output: err.Error(),
			Hint: "plan without exec; tell the person that commands cannot run here",
		}
	case errors.Is(err, sandbox.ErrNoAnswer):
		return Result{End: EndError, Code: "sandbox_no_answer", Output: err.Error(), Hint: "nothing ran; try once more, the machine was busy"}
	case err != nil:
		return noRoom(err)
	case o.Kind == "exit_status" && o.Status == 0:
		return Result{End: EndOK, Output: kept.text()}
	}
	if o.Kind == "stopped" && errors.Is(context.Cause(ctx), ErrUnsafe) {
		o.Kind, o.Detail = CodeInterrupted, "stopped midway"
	}
	res := Result{End: EndError, Code: o.Kind, Hint: hints[o.Kind], Output: joinMark(kept.text(), cleanText(e.cfg.Mask.Text(o.Detail)), "")}
	switch o.Kind {
	case "timeout":
		res.End = EndTimeout
	case "stopped":
		res.End, res.Code = EndCancelled, "cancelled"
	}
	return res
}

// notBegun is the result of what ctx ended before it began.
func notBegun(ctx context.Context) Result {
	if errors.Is(context.Cause(ctx), ErrUnsafe) {
		return Result{End: EndError, Code: CodeInterrupted, Hint: hintNotBegun}
	}
	return Result{End: EndCancelled, Code: "cancelled"}
}

// hints are advice for the next plan, by the code of a result.
var hints = map[string]string{
	"timeout":        "split the work, or make it faster",
	"memory_limit":   "work in smaller pieces",
	"process_limit":  "start fewer processes at a time",
	"workspace_full": "remove what is no longer needed with workspace.remove, or ask the person what may go",
	"disk_low":       "tell the person; trying again does not help",
	"output_flood":   "write to a file, or filter the output",
	CodeInterrupted:  hintUnsafe,
}

// A collector keeps the beginning and the end of what a command prints, in
// bounded memory.
type collector struct {
	mask       *secrets.Masker
	head, ring []byte
	headSize   int
	margin     int // of the ring: it is not shown, and tells what its rest begins with
	total      int64
}

// newCollector keeps at most limit bytes, with room left for a mark and a last
// line. Only what is kept is masked.
func newCollector(limit int64, mask *secrets.Masker) *collector {
	room, margin := int(max(limit-4*markRoom, 0)), mask.Margin()
	return &collector{mask: mask, headSize: room - room/4, margin: margin, ring: make([]byte, 0, room/4+margin)}
}

// tailSize is how much of the ring is shown.
func (c *collector) tailSize() int { return cap(c.ring) - c.margin }

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
		whole := cleanText(c.mask.Text(string(slices.Concat(c.head, c.ring))))
		if room := c.headSize + c.tailSize(); len(whole) > room {
			return Shorten(whole, c.headSize, c.tailSize())
		}
		return whole
	}
	first, last := wholeLines(c.head), fromLine(c.ring[c.margin:])
	left = c.total - int64(len(first)) - int64(len(last))
	head := cutHead(cleanText(c.mask.Begin(string(first))), c.headSize)
	tail := cutTail(cleanText(c.mask.End(string(c.ring), len(c.ring)-len(last))), c.tailSize())
	return joinMark(head, truncationMark(left), tail)
}

//go:build !linux

package tools

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// RunHelper returns at once: there is no helper on this system.
func RunHelper() {}

var errSystem = errors.New("there is no confinement on " + runtime.GOOS)

// run runs commands only where the settings lift the confinement. Their
// background processes are not hunted down: that takes Linux.
func (e *Exec) run(ctx context.Context, cmd Command, confined bool) Result {
	if confined {
		return e.unavailable(errSystem.Error())
	}
	limited, stop := context.WithTimeout(ctx, e.cfg.Timeout)
	defer stop()
	kept := newCollector(e.cfg.OutputLimit)
	c := exec.CommandContext(limited, "/bin/sh", "-c", cmd.Line)
	c.Dir, c.Env = cmd.Workspace, environ(cmd, filepath.Join(cmd.Workspace), systemPath)
	c.Stdout, c.Stderr, c.WaitDelay = kept, kept, time.Second
	err := c.Run()
	o := outcome{Kind: "exit"}
	exit, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		o.Kind = stopKind(ctx)
	case limited.Err() != nil:
		o.Kind = "timeout"
	case exited:
		o.Status = exit.ExitCode()
	case err != nil:
		o = outcome{Kind: "failed", Detail: err.Error()}
	}
	return e.result(o, kept.text())
}

// Layers says that there are none.
func (e *Exec) Layers(context.Context) []Layer {
	return []Layer{{Name: "commands", Detail: errSystem.Error(), Mend: "run the engine on Linux; commands are refused"}}
}

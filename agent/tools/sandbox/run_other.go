//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"runtime"
	"time"
)

// RunHelper returns at once: there is no helper on this system.
func RunHelper() {}

const noConfinement = "there is no confinement on " + runtime.GOOS

func ownGroups() (string, error) { return "", errors.New(noConfinement) }

// Run runs only commands whose confinement is lifted. Their background processes are
// not hunted down: that takes Linux.
func (s *Sandbox) Run(ctx context.Context, cmd Command, out io.Writer) (Outcome, error) {
	if !cmd.Lifted {
		return Outcome{}, unavailable(noConfinement)
	}
	limited, stop := context.WithTimeout(ctx, s.cfg.Timeout)
	defer stop()
	c := exec.CommandContext(limited, "/bin/sh", "-c", cmd.Line)
	c.Dir, c.Env = cmd.Workspace, environ(cmd.Workspace, cmd.Env, cmd.Workspace, systemPath)
	c.Stdout, c.Stderr, c.WaitDelay = out, out, time.Second
	err := c.Run()
	o := Outcome{Kind: "exit_status"}
	exit, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		o.Kind = "stopped"
	case limited.Err() != nil:
		o.Kind = "timeout"
	case exited:
		o.Status = exit.ExitCode()
	case err != nil:
		o = Outcome{Kind: "helper_failed", Detail: err.Error()}
	}
	return s.told(o), nil
}

// Layers says that there are none.
func (s *Sandbox) Layers(context.Context) []Layer {
	return []Layer{{Name: "commands", Detail: noConfinement, Fix: "run the engine on Linux; commands are refused"}}
}

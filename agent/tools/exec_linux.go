package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// killGrace is how long the helper may take to kill a tree before it is killed
// itself.
const killGrace = 10 * time.Second

// run runs a checked command under a helper.
func (e *Exec) run(ctx context.Context, cmd Command, confined bool) Result {
	spec := helperSpec{
		Line: cmd.Line, Workspace: cmd.Workspace, Confined: confined, UID: os.Geteuid(),
		Timeout: e.cfg.Timeout, MemoryLimit: e.cfg.MemoryLimit, MaxTasks: e.cfg.MaxTasks, MaxProcesses: e.cfg.MaxProcesses,
		Env: cmd.Env, Path: systemPath,
	}
	if confined {
		found, err := e.probe(ctx, cmd.Workspace)
		if err != nil {
			return e.unavailable(err.Error())
		}
		spec.UID = found.uid
	} else if own := os.Getenv("PATH"); own != "" {
		spec.Path = own
	}
	root, err := openWorkspace(cmd.Workspace)
	if err != nil {
		return ioFault("the workspace", err)
	}
	defer root.Close()
	room, fault := e.cfg.Space.room(ctx, root)
	if fault != nil {
		return *fault
	}
	spec.MaxFile = room
	spec.MaxBytes, spec.MaxFiles = e.cfg.Space.limits()
	if spec.Lease = e.lease(); ctx.Err() != nil { // asked last: what it says is not newer than ctx
		return notBegun(ctx)
	}
	o, text := e.supervise(ctx, spec)
	if o.Kind == "sandbox" && !confined {
		o.Kind = "failed"
	}
	return e.result(o, text)
}

// supervise starts a helper, gathers the output and returns how it ended. The
// helper kills the tree as soon as our end of the control pipe closes, be it by
// us or by our death.
func (e *Exec) supervise(ctx context.Context, spec helperSpec) (outcome, string) {
	h, err := startHelper(e.cfg.HelperPath, spec)
	if err != nil {
		return outcome{Kind: "failed", Detail: err.Error()}, ""
	}
	kept := newCollector(e.cfg.OutputLimit)
	flood, exited := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { drain(h.output, kept, floodFactor*e.cfg.OutputLimit, flood) })
	wg.Go(func() {
		_ = h.cmd.Wait() // how the helper itself ended says nothing about the command
		// All writers are dead; what is left in the pipes is read at once.
		soon := time.Now().Add(time.Second)
		_ = h.output.SetReadDeadline(soon)
		_ = h.report.SetReadDeadline(soon)
		close(exited)
	})
	ended := e.follow(ctx, h, spec, exited, flood)
	h.control.Close()
	select {
	case <-exited:
	case <-time.After(killGrace):
		_ = h.cmd.Process.Kill()
		<-exited
	}
	var o outcome
	if err := json.NewDecoder(h.report).Decode(&o); err != nil {
		o = outcome{Kind: "failed"}
	}
	wg.Wait()
	h.output.Close()
	h.report.Close()
	// A command that was done before the helper heard of it is not cancelled.
	if ended != "" && (o.Kind == "closed" || o.Kind == "failed") {
		o.Kind = ended
	}
	return o, kept.text()
}

// follow returns when the helper has exited, or with the reason to end it. While
// its command runs, the helper hears how long it may.
func (e *Exec) follow(ctx context.Context, h *helper, spec helperSpec, exited, flood <-chan struct{}) string {
	stuck := time.NewTimer(spec.Timeout + killGrace)
	defer stuck.Stop()
	news := time.NewTicker(leaseNews)
	defer news.Stop()
	if spec.Lease.forEver() {
		news.Stop()
	}
	for {
		select {
		case <-exited:
			return ""
		case <-ctx.Done():
			return stopKind(ctx)
		case <-flood:
			return "flood"
		case <-stuck.C:
			return "timeout"
		case <-news.C:
			if next := e.lease(); next.Wall != spec.Lease.Wall && ctx.Err() == nil {
				spec.Lease = next
				_ = json.NewEncoder(h.control).Encode(next) // a helper that is gone is seen above
			}
		}
	}
}

// drain reads to the end, so that a command never waits for us, and reports
// once when more than limit bytes came.
func drain(r io.Reader, kept *collector, limit int64, flood chan<- struct{}) {
	buf := make([]byte, 64<<10)
	told := false
	for {
		n, err := r.Read(buf)
		_, _ = kept.Write(buf[:n])
		if kept.total > limit && !told {
			told = true
			close(flood)
		}
		if err != nil {
			return
		}
	}
}

// A helper is a running helper process and our ends of its pipes.
type helper struct {
	cmd                     *exec.Cmd
	control, output, report *os.File
}

func startHelper(path string, spec helperSpec) (*helper, error) {
	pipes, err := openPipes(3)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoHelper, err)
	}
	control, output, report := pipes[0], pipes[1], pipes[2]
	cmd := &exec.Cmd{
		Path: path, Args: []string{helperName}, Env: []string{}, Dir: "/",
		Stdout: output.w, Stderr: output.w, ExtraFiles: []*os.File{control.r, report.w},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	err = cmd.Start()
	control.r.Close()
	output.w.Close()
	report.w.Close()
	if err == nil {
		if err = json.NewEncoder(control.w).Encode(spec); err != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	if err != nil {
		control.w.Close()
		output.r.Close()
		report.r.Close()
		return nil, fmt.Errorf("%w: %w", errNoHelper, err)
	}
	return &helper{cmd: cmd, control: control.w, output: output.r, report: report.r}, nil
}

type pipe struct{ r, w *os.File }

func openPipes(n int) ([]pipe, error) {
	var list []pipe
	for range n {
		r, w, err := os.Pipe()
		if err != nil {
			for _, p := range list {
				p.r.Close()
				p.w.Close()
			}
			return nil, err
		}
		list = append(list, pipe{r, w})
	}
	return list, nil
}

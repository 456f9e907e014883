package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"switchboard/agent/tools/workspace"
)

// killGrace is how long the helper may take to kill a tree before it is killed
// itself.
const killGrace = 10 * time.Second

// Run runs a command, writes what it prints to out, and returns when no process of it
// is left. It ends the command early when ctx ends. An error says that the command never
// began: ErrUnavailable, ErrNoAnswer, a *workspace.LimitError, ctx's, or what is wrong with the workspace.
func (s *Sandbox) Run(ctx context.Context, cmd Command, out io.Writer) (Outcome, error) {
	spec := helperSpec{
		stageSpec: stageSpec{
			Line: cmd.Line, Workspace: cmd.Workspace, Env: cmd.Env, Confined: !cmd.Lifted, UID: os.Geteuid(), MaxTasks: s.cfg.MaxTasks,
		},
		Timeout: s.cfg.Timeout, MemoryLimit: s.cfg.MemoryLimit, MaxProcesses: s.cfg.MaxProcesses, Path: systemPath,
	}
	if spec.Confined {
		found, err := s.probe(ctx, cmd.Workspace)
		switch {
		case errors.Is(err, ErrNoAnswer) || err != nil && ctx.Err() != nil:
			return Outcome{}, err
		case err != nil:
			return Outcome{}, unavailable(err.Error())
		}
		spec.UID, spec.Group = found.uid, newGroup(found.groups)
	} else if own := os.Getenv("PATH"); own != "" {
		spec.Path = own
	}
	root, err := workspace.Open(cmd.Workspace)
	if err != nil {
		return Outcome{}, err
	}
	defer root.Close()
	if spec.MaxFile, err = s.cfg.Space.Room(ctx, root); err != nil {
		return Outcome{}, err
	}
	spec.MaxBytes, spec.MaxFiles = s.cfg.Space.Limits()
	if spec.Lease = s.lease(); ctx.Err() != nil { // asked last: what it says is not newer than ctx
		return Outcome{}, ctx.Err()
	}
	o := s.supervise(ctx, spec, out)
	if o.Kind == "sandbox" && spec.Confined {
		return Outcome{}, unavailable(o.Detail)
	}
	return s.told(o), nil
}

// supervise starts a helper, hands the output on and returns how it ended. The
// helper kills the tree as soon as our end of the control pipe closes, be it by
// us or by our death.
func (s *Sandbox) supervise(ctx context.Context, spec helperSpec, out io.Writer) Outcome {
	h, err := startHelper(s.cfg.HelperPath, spec)
	if err != nil {
		return Outcome{Kind: "helper_failed", Detail: err.Error()}
	}
	flood, exited := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { drain(h.output, out, s.cfg.MaxOutput, flood) })
	wg.Go(func() {
		_ = h.cmd.Wait()                         // how the helper itself ended says nothing about the command
		_ = h.output.SetReadDeadline(time.Now()) // all writers are dead: what is there by now is the rest
		close(exited)
	})
	ended := s.follow(ctx, h, spec, exited, flood)
	h.control.Close()
	select {
	case <-exited:
	case <-time.After(killGrace):
		_ = h.cmd.Process.Kill()
		<-exited
	}
	var o Outcome
	if err := json.NewDecoder(h.report).Decode(&o); err != nil { // only the helper writes there, and it has ended
		o = Outcome{Kind: "helper_failed"}
	}
	wg.Wait()
	closeAll(h.output, h.report)
	if spec.Group != "" {
		_ = os.Remove(spec.Group) // nobody is in it any more
	}
	// A command that was done before the helper could stop it is not cancelled.
	if ended != "" && (o.Kind == "closed" || o.Kind == "helper_failed") {
		o.Kind = ended
	}
	return o
}

// follow returns when the helper has exited, or with the reason to end it. While
// its command runs, the helper is told how long it may.
func (s *Sandbox) follow(ctx context.Context, h *helper, spec helperSpec, exited, flood <-chan struct{}) string {
	stuck := time.NewTimer(spec.Timeout + killGrace)
	defer stuck.Stop()
	news := time.NewTicker(leaseEvery)
	defer news.Stop()
	if spec.Lease.forEver() {
		news.Stop()
	}
	for {
		select {
		case <-exited:
			return ""
		case <-ctx.Done():
			return "stopped"
		case <-flood:
			return "output_flood"
		case <-stuck.C:
			return "timeout"
		case <-news.C:
			if next := s.lease(); next.Wall != spec.Lease.Wall && ctx.Err() == nil {
				spec.Lease = next
				_ = json.NewEncoder(h.control).Encode(next) // a helper that is gone is seen above
			}
		}
	}
}

// drain reads to the end, so that a command never waits for us, and reports
// once when more than limit bytes came. When the deadline of r has passed, the end is
// what is in the pipe, however late this program comes to it.
func drain(r *os.File, out io.Writer, limit int64, flood chan<- struct{}) {
	buf := make([]byte, 64<<10)
	take := func(n int) {
		_, _ = out.Write(buf[:n]) // whoever wants the output takes it all
		if limit -= int64(n); limit < 0 && limit+int64(n) >= 0 {
			close(flood)
		}
	}
	for {
		n, err := r.Read(buf)
		take(n)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			return
		}
	}
	conn, err := r.SyscallConn()
	if err != nil || r.SetReadDeadline(time.Time{}) != nil { // a read behind its deadline gives nothing
		return
	}
	left := 0 // no more than is there by now: somebody may have outlived a helper that was killed
	_ = conn.Control(func(fd uintptr) { left, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	for left > 0 {
		n := readNow(conn, buf)
		if n == 0 {
			return
		}
		take(n)
		left -= n
	}
}

// readNow reads what is in the pipe, without waiting for more; 0: nothing.
func readNow(conn syscall.RawConn, buf []byte) (n int) {
	_ = conn.Read(func(fd uintptr) bool {
		for err := error(unix.EINTR); errors.Is(err, unix.EINTR); {
			n, err = unix.Read(int(fd), buf)
		}
		return true
	})
	return max(n, 0)
}

// A helper is a running helper process and our ends of its pipes.
type helper struct {
	cmd                     *exec.Cmd
	control, output, report *os.File
}

func startHelper(path string, spec helperSpec) (*helper, error) {
	pipes, err := openPipes(3)
	if err != nil {
		return nil, fmt.Errorf("the helper could not be started: %w", err)
	}
	control, output, report := pipes[0], pipes[1], pipes[2]
	h := &helper{control: control.w, output: output.r, report: report.r, cmd: &exec.Cmd{
		Path: path, Args: []string{helperName}, Env: []string{}, Dir: "/",
		Stdout: output.w, Stderr: output.w, ExtraFiles: []*os.File{control.r, report.w},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}}
	err = h.cmd.Start()
	closeAll(control.r, output.w, report.w)
	if err == nil {
		if err = json.NewEncoder(h.control).Encode(spec); err != nil {
			_ = h.cmd.Process.Kill()
			_ = h.cmd.Wait()
		}
	}
	if err != nil {
		closeAll(h.control, h.output, h.report)
		return nil, fmt.Errorf("the helper could not be started: %w", err)
	}
	return h, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		f.Close()
	}
}

type pipe struct{ r, w *os.File }

func openPipes(n int) ([]pipe, error) {
	var list []pipe
	for range n {
		r, w, err := os.Pipe()
		if err != nil {
			for _, p := range list {
				closeAll(p.r, p.w)
			}
			return nil, err
		}
		list = append(list, pipe{r, w})
	}
	return list, nil
}

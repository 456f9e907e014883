//go:build linux

package programtest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"switchboard/internal/testkit"
)

// A Screen is the program on a terminal.
type Screen struct {
	T      *testing.T
	cmd    *exec.Cmd
	tty    *os.File
	Shown  testkit.Log
	Exited chan error
}

// A Step is a question, what is typed there, and what is shown for it.
type Step [3]string

// Follow answers questions one after the other.
func (s *Screen) Follow(steps ...Step) {
	s.T.Helper()
	mark := 0
	for _, step := range steps {
		question, types, shows := step[0], step[1], step[2]
		s.Await(mark, question)
		mark = s.Press(types + "\r")
		if shows != "" {
			s.Await(mark, shows)
		}
	}
}

// Lent says that the shell has given the terminal to a job.
func (s *Screen) Lent() bool {
	s.T.Helper()
	group := s.cmd.Process.Pid
	raw, err := s.tty.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { group, err = unix.IoctlGetInt(int(fd), unix.TIOCGPGRP) })
	}
	if err != nil {
		s.T.Fatal(err)
	}
	return group != s.cmd.Process.Pid
}

// OnTerminal runs the program with args as a person would.
func OnTerminal(t *testing.T, r *Rig, env []string, args ...string) *Screen {
	t.Helper()
	cmd := exec.Command(program.path, append([]string{"--config", r.Config}, args...)...)
	cmd.Dir, cmd.Env = r.Dir, append(Environ(), append([]string{"TERM=xterm"}, env...)...)
	return StartOn(t, cmd)
}

// StartOn starts cmd on a terminal of its own.
func StartOn(t *testing.T, cmd *exec.Cmd) *Screen {
	t.Helper()
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 200})
	if err != nil {
		t.Fatal(err)
	}
	s := &Screen{T: t, cmd: cmd, tty: tty, Exited: make(chan error, 1)}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			s.Shown.Write(buf[:n])
			if err != nil {
				s.Exited <- cmd.Wait()
				return
			}
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Kill() // no harm to one that has ended
		tty.Close()        // hangs up on its jobs
		if t.Failed() {
			t.Logf("the end of what the terminal shows: %q", Tail(s.Shown.String(), 2000))
		}
	})
	return s
}

// Await waits until want is on the screen, after what was there at mark.
func (s *Screen) Await(mark int, want string) {
	s.T.Helper()
	testkit.Await(s.T, fmt.Sprintf("%q appears", want), 15*time.Second, func() bool { return strings.Contains(s.Shown.String()[mark:], want) })
}

// Press types keys and returns the mark from which to look.
func (s *Screen) Press(keys string) (mark int) {
	s.T.Helper()
	mark = len(s.Shown.String())
	if _, err := s.tty.WriteString(keys); err != nil {
		s.T.Fatal(err)
	}
	return mark
}

// Leaves waits for the end and wants exit 0.
func (s *Screen) Leaves() {
	s.T.Helper()
	select {
	case err := <-s.Exited:
		if err != nil {
			s.T.Errorf("it ended with %v:\n%q", err, Tail(s.Shown.String(), 1000))
		}
	case <-time.After(time.Minute):
		s.T.Fatalf("it did not end:\n%q", Tail(s.Shown.String(), 1000))
	}
}

// Keys, and how faint text begins.
const (
	CtrlC = "\x03"
	CtrlD = "\x04"
	Faint = "\x1b[2m"
)

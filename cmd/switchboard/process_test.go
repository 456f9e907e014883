package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"switchboard/internal/testkit"
)

// A server is the program that serves, started again and again as another process.
type server struct {
	t      testing.TB
	name   string // among several; empty: there is one
	path   string // of the program
	dir    string
	config string
	env    []string  // settings of this one alone
	cmd    *exec.Cmd // nil: it does not run
	exited chan struct{}
	log    *testkit.Log
	pids   []int // of all its processes so far
}

// newServer is a program that does not run yet, and not any more when the test ends.
func newServer(t testing.TB, name, path, dir, config string) *server {
	s := &server{t: t, name: name, path: path, dir: dir, config: config, log: &testkit.Log{}}
	t.Cleanup(func() {
		if s.cmd != nil {
			s.thaw()
			s.kill()
		}
		if s.log.Has("DATA RACE") {
			t.Errorf("engine %s has a data race", s.name)
		}
		if t.Failed() {
			t.Logf("engine %s, the end of its log:\n%s", s.name, tail(s.log.String(), 8000))
		}
	})
	return s
}

// start runs the program.
func (s *server) start() {
	s.t.Helper()
	s.cmd = exec.Command(s.path, "--config", s.config, "serve")
	s.cmd.Dir, s.cmd.Env = s.dir, append(environ(), s.env...)
	s.cmd.Stderr = s.log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.exited = make(chan struct{})
	cmd, exited := s.cmd, s.exited
	go func() { cmd.Wait(); close(exited) }()
	s.pids = append(s.pids, cmd.Process.Pid)
}

// mustLive fails the test when the program ended by itself.
func (s *server) mustLive() {
	s.t.Helper()
	if ended := s.ended(0); ended != nil {
		s.t.Fatalf("engine %s ended by itself: %s\n%s", s.name, ended.ProcessState, tail(s.log.String(), 500))
	}
}

// ended waits for the program to end; nil: it still runs.
func (s *server) ended(within time.Duration) *exec.Cmd {
	select {
	case <-s.exited:
	case <-time.After(within):
		return nil
	}
	cmd := s.cmd
	s.cmd = nil
	return cmd
}

// kill ends the program at once.
func (s *server) kill() {
	s.cmd.Process.Kill()
	<-s.exited
	s.cmd = nil
}

// freeze stops the process where it stands, all of its threads; its commands and helpers run on.
func (s *server) freeze() {
	s.cmd.Process.Signal(syscall.SIGSTOP)
	testkit.Await(s.t, "it stands still", 10*time.Second, func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.cmd.Process.Pid))
		return !slices.ContainsFunc(threads, func(path string) bool {
			stat, err := os.ReadFile(path)
			return err == nil && !strings.Contains(string(stat), ") T ")
		})
	})
}
func (s *server) thaw() { s.cmd.Process.Signal(syscall.SIGCONT) }

// stop asks the program to end and wants it to end well. It says how long that took.
func (s *server) stop(within time.Duration) time.Duration {
	s.t.Helper()
	began := time.Now()
	s.cmd.Process.Signal(syscall.SIGTERM)
	ended := s.ended(max(within, patience))
	if ended == nil {
		s.t.Fatalf("engine %s did not stop within %s of SIGTERM", s.name, max(within, patience))
	}
	if code := ended.ProcessState.ExitCode(); code != 0 {
		s.t.Errorf("engine %s: exit %d after SIGTERM", s.name, code)
	}
	return time.Since(began)
}

// ready says how often the program said that it is.
func (s *server) ready() int { return strings.Count(s.log.String(), `"ready"`) }

// cpuOf is what a process has used so far.
//
// Source: proc_pid_stat(5); the kernel counts in hundredths of a second.
func cpuOf(t testing.TB, pid int) (used time.Duration) {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	for _, field := range fields[11:13] {
		ticks, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		used += time.Duration(ticks) * 10 * time.Millisecond
	}
	return used
}

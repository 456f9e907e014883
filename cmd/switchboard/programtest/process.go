//go:build linux

package programtest

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

// A Server is the program that serves, started again and again as another process.
type Server struct {
	T      testing.TB
	Name   string // among several; empty: there is one
	path   string // of the program
	Dir    string
	Config string
	Env    []string  // settings of this one alone
	Cmd    *exec.Cmd // nil: it does not run
	exited chan struct{}
	Log    *testkit.Log
	pids   []int // of all its processes so far
}

// newServer is a program that does not run yet, and not any more when the test ends.
func newServer(t testing.TB, name, path, dir, config string) *Server {
	s := &Server{T: t, Name: name, path: path, Dir: dir, Config: config, Log: &testkit.Log{}}
	t.Cleanup(func() {
		if s.Cmd != nil {
			s.Thaw()
			s.Kill()
		}
		if s.Log.Has("DATA RACE") {
			t.Errorf("engine %s has a data race", s.Name)
		}
		if t.Failed() {
			t.Logf("engine %s, the end of its log, and of its warnings:\n%s", s.Name, warnings(s.Log.String()))
		}
	})
	return s
}

// warnings is the end of a log, and after it the last of what went wrong in it; no line is long.
func warnings(log string) string {
	var infos, others strings.Builder
	for line := range strings.Lines(log) {
		to := &infos
		if strings.Contains(line, `"level":"WARN"`) || strings.Contains(line, `"level":"ERROR"`) || !strings.HasPrefix(line, "{") {
			to = &others
		}
		if len(line) > 1000 {
			line = line[:1000] + "…\n"
		}
		to.WriteString(line)
	}
	return Tail(infos.String(), 4000) + Tail(others.String(), 4000)
}

// listenVariable sets where the HTTP API is.
const listenVariable = "SWITCHBOARD_SERVER__LISTEN="

func isListen(variable string) bool { return strings.HasPrefix(variable, listenVariable) }

// Start runs the program.
func (s *Server) Start() {
	s.T.Helper()
	s.Cmd = exec.Command(s.path, "--config", s.Config, "serve")
	s.Cmd.Dir, s.Cmd.Env = s.Dir, append(Environ(), s.Env...)
	if text, _ := os.ReadFile(s.Config); !strings.Contains(string(text), "listen =") && !slices.ContainsFunc(s.Env, isListen) {
		s.Cmd.Env = append(s.Cmd.Env, listenVariable+"127.0.0.1:0") // several run at once
	}
	s.Cmd.Stderr = s.Log
	s.Cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.Cmd.Start(); err != nil {
		s.T.Fatal(err)
	}
	s.exited = make(chan struct{})
	cmd, exited := s.Cmd, s.exited
	go func() { cmd.Wait(); close(exited) }()
	s.pids = append(s.pids, cmd.Process.Pid)
}

// MustLive fails the test when the program ended by itself.
func (s *Server) MustLive() {
	s.T.Helper()
	if ended := s.Ended(0); ended != nil {
		s.T.Fatalf("engine %s ended by itself: %s\n%s", s.Name, ended.ProcessState, Tail(s.Log.String(), 500))
	}
}

// Ended waits for the program to end; nil: it still runs.
func (s *Server) Ended(within time.Duration) *exec.Cmd {
	select {
	case <-s.exited:
	case <-time.After(within):
		return nil
	}
	cmd := s.Cmd
	s.Cmd = nil
	return cmd
}

// Kill ends the program at once.
func (s *Server) Kill() {
	s.Cmd.Process.Kill()
	<-s.exited
	s.Cmd = nil
}

// Freeze stops the process where it stands, all of its threads; its commands and helpers run on.
func (s *Server) Freeze() {
	s.Cmd.Process.Signal(syscall.SIGSTOP)
	testkit.Await(s.T, "it stands still", 10*time.Second, func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.Cmd.Process.Pid))
		return !slices.ContainsFunc(threads, func(path string) bool {
			stat, err := os.ReadFile(path)
			return err == nil && !strings.Contains(string(stat), ") T ")
		})
	})
}

// Thaw lets a frozen process go on.
func (s *Server) Thaw() { s.Cmd.Process.Signal(syscall.SIGCONT) }

// Stop asks the program to end and wants it to end well. It says how long that took.
func (s *Server) Stop(within time.Duration) time.Duration {
	s.T.Helper()
	began := time.Now()
	s.Cmd.Process.Signal(syscall.SIGTERM)
	ended := s.Ended(max(within, Patience))
	if ended == nil {
		s.T.Fatalf("engine %s did not stop within %s of SIGTERM", s.Name, max(within, Patience))
	}
	if code := ended.ProcessState.ExitCode(); code != 0 {
		s.T.Errorf("engine %s: exit %d after SIGTERM", s.Name, code)
	}
	return time.Since(began)
}

// Ready says how often the program said that it is.
func (s *Server) Ready() int { return strings.Count(s.Log.String(), `"ready"`) }

// CpuOf is what a process has used so far.
//
// Source: proc_pid_stat(5); the kernel counts in hundredths of a second.
func CpuOf(t testing.TB, pid int) (used time.Duration) {
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

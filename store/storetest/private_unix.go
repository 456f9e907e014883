//go:build unix

package storetest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"switchboard/internal/testkit"
)

// A Server is a PostgreSQL of one test, to be broken: the package's shared server is
// never touched. It listens on 127.0.0.1 and on a socket in its own folder, at the
// same place after every start. Unlike the shared one it is as durable as PostgreSQL is
// by default. Its methods are for one goroutine at a time, and fail the test.
type Server struct {
	t         testing.TB
	bin, dir  string
	addr      string // host:port
	attr      func() *syscall.SysProcAttr
	postgres  *exec.Cmd
	exited    chan struct{}
	guardPipe io.Closer
	frozen    []int
}

// guarding ends a server whose test died without an end, frozen or not, and removes
// its folder. It is told the end of the test process by the end of its input.
const guarding = `
read -r _
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ]; then
	kill -KILL $pid $(cat "/proc/$pid/task/$pid/children" 2>/dev/null) 2>/dev/null
fi
cd /
for i in 1 2 3 4 5 6 7 8 9 10; do
	rm -rf "$1" 2>/dev/null
	[ -e "$1" ] || break
	sleep 0.2
done
`

// NewServer makes a cluster of its own and starts it; both are gone when the test
// ends. Each of prepare is given the cluster's folder while that is empty, to mount
// something there. Without the binaries of PostgreSQL the test is skipped, or fails
// if CI=true.
func NewServer(t testing.TB, prepare ...func(dir string)) *Server {
	t.Helper()
	bin, err := binaries()
	if err != nil {
		unavailable(t, err)
	}
	s := &Server{t: t, bin: bin, addr: testkit.FreeAddress(t)}
	if err := s.create(prepare); err != nil {
		t.Fatalf("PostgreSQL of this test: %v", err)
	}
	s.Start()
	return s
}

// create makes the cluster and its guard.
func (s *Server) create(prepare []func(dir string)) (err error) {
	if s.dir, err = os.MkdirTemp("", "switchboard-pg-"); err != nil {
		return err
	}
	uid, gid := os.Getuid(), os.Getgid()
	if os.Geteuid() == 0 {
		if uid, gid, err = unprivileged(); err == nil {
			err = os.Chown(s.dir, uid, gid)
		}
		if err != nil {
			return errors.Join(err, os.RemoveAll(s.dir))
		}
	}
	s.attr = func() *syscall.SysProcAttr {
		attr := &syscall.SysProcAttr{Setsid: true} // an interrupt from the terminal is not for the server
		if os.Geteuid() == 0 {
			attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
		return attr
	}
	guard := exec.Command("/bin/sh", "-c", guarding, "sh", s.dir)
	guard.Dir, guard.SysProcAttr = s.dir, s.attr()
	if s.guardPipe, err = guard.StdinPipe(); err == nil {
		err = guard.Start()
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(s.dir))
	}
	s.t.Cleanup(func() {
		s.Thaw()
		s.Kill()
		s.guardPipe.Close()
		guard.Wait() // its word on how it ended changes nothing
	})
	for _, f := range prepare {
		f(s.dir)
	}
	initdb := exec.Command(filepath.Join(s.bin, "initdb"), "-D", filepath.Join(s.dir, "data"),
		"-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = s.dir, s.attr()
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}

// URL is the address of the server's one database, by its socket. Tables go to the
// schema public, so that a server serves one store.
func (s *Server) URL() string {
	return fmt.Sprintf("postgres://postgres@/postgres?sslmode=disable&port=%s&host=%s", s.port(), url.QueryEscape(s.dir))
}

// Addr is host:port, for a Proxy.
func (s *Server) Addr() string { return s.addr }

func (s *Server) port() string {
	_, port, _ := net.SplitHostPort(s.addr)
	return port
}

// URLAt is the same database through addr, which leads to the server.
func (s *Server) URLAt(addr string) string {
	return "postgres://postgres@" + addr + "/postgres?sslmode=disable"
}

// Start starts the server after Stop or Kill and waits until it answers.
func (s *Server) Start() {
	s.t.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	s.postgres = exec.Command(filepath.Join(s.bin, "postgres"), "-D", filepath.Join(s.dir, "data"), "-k", s.dir,
		"-p", s.port(), "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200", "-c", "shared_buffers=32MB", "-c", "deadlock_timeout=100ms")
	s.postgres.Dir, s.postgres.SysProcAttr = s.dir, s.attr()
	s.postgres.Stdout, s.postgres.Stderr = log, log
	if err := s.postgres.Start(); err != nil {
		s.t.Fatalf("start PostgreSQL: %v", err)
	}
	s.exited = make(chan struct{})
	process, exited := s.postgres, s.exited
	go func() { process.Wait(); close(exited) }()
	if err := ready(s.URL(), log.Name()); err != nil {
		s.t.Fatalf("start PostgreSQL: %v", err)
	}
}

// Stop ends the server as an administrator does: every connection is ended and what
// it was doing is rolled back.
func (s *Server) Stop() { s.end(syscall.SIGINT) }

// Kill ends the server as the end of its machine does. What it had told committed is
// there after Start.
func (s *Server) Kill() {
	s.t.Helper()
	if s.postgres == nil {
		return
	}
	s.Freeze() // it starts nobody while its processes are counted
	for _, pid := range s.frozen[1:] {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	s.frozen = nil
	s.end(syscall.SIGKILL)
	// The number may soon be another process's; the guard ends whom the file names.
	os.Remove(filepath.Join(s.dir, "data", "postmaster.pid"))
}

func (s *Server) end(signal os.Signal) {
	s.t.Helper()
	if s.postgres == nil {
		return
	}
	s.postgres.Process.Signal(signal)
	select {
	case <-s.exited:
	case <-time.After(time.Minute):
		s.t.Fatal("PostgreSQL does not end")
	}
	s.postgres = nil
}

// SwitchLog has the server begin a new file of its write-ahead log, which on a full
// disk ends it. It need not succeed.
func (s *Server) SwitchLog() {
	_ = admin(s.URL(), "CREATE TABLE IF NOT EXISTS nothing (); SELECT pg_switch_wal(); DROP TABLE nothing")
}

// Revive starts the server if it has ended by itself, and does nothing if it runs.
func (s *Server) Revive() {
	s.t.Helper()
	select {
	case <-s.exited:
		s.Start()
	default:
		if err := ready(s.URL(), filepath.Join(s.dir, "log")); err != nil {
			s.t.Fatal(err)
		}
	}
}

// Freeze stops every process of the server where it stands: connections stay open,
// new ones are taken by the kernel, and nothing is answered until Thaw.
func (s *Server) Freeze() {
	s.t.Helper()
	postmaster := s.postgres.Process.Pid
	syscall.Kill(postmaster, syscall.SIGSTOP)
	s.frozen = append([]int{postmaster}, children(postmaster)...)
	for _, pid := range s.frozen[1:] {
		syscall.Kill(pid, syscall.SIGSTOP)
	}
}

// Thaw lets a frozen server go on; without Freeze it does nothing.
func (s *Server) Thaw() {
	for _, pid := range s.frozen {
		syscall.Kill(pid, syscall.SIGCONT)
	}
	s.frozen = nil
}

// Do runs one statement on a connection of its own.
func (s *Server) Do(statement string) {
	s.t.Helper()
	if err := admin(s.URL(), statement); err != nil {
		s.t.Fatal(err)
	}
}

func children(pid int) (pids []int) {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, word := range strings.Fields(string(data)) {
		if child, err := strconv.Atoi(word); err == nil {
			pids = append(pids, child)
		}
	}
	return pids
}

package main_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// atShell is an interactive shell with job control on a terminal of its own.
func atShell(t *testing.T, r *rig) *screen {
	t.Helper()
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	cmd := exec.Command(shell, "--norc", "--noprofile", "-i")
	cmd.Dir, cmd.Env = r.dir, append(environ(), "TERM=xterm", "NO_COLOR=1", "PS1=shell$ ", "HISTFILE=")
	s := startOn(t, cmd)
	s.await(0, "shell$ ")
	return s
}

// settled waits until the engine of r answers, and goes on answering.
func (r *rig) settled() {
	r.t.Helper()
	alive := func() bool { _, _, code := r.command("doctor", "--alive"); return code == 0 }
	r.await("the engine is up", 10*time.Second, alive)
	time.Sleep(300 * time.Millisecond)
	if !alive() {
		r.t.Fatal("the engine stopped")
	}
}

var jobState = regexp.MustCompile(`\[1\]. +(\w+)`)

// state is what the shell says of its job.
func (s *screen) state(mark int) string {
	s.t.Helper()
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if m := jobState.FindStringSubmatch(s.shown.String()[mark:]); m != nil {
			return m[1]
		}
	}
	s.t.Fatalf("the shell says nothing of its job:\n%q", s.shown.String()[mark:])
	return ""
}

// lent says that the shell has given the terminal to a job.
func (s *screen) lent() bool {
	s.t.Helper()
	group := s.cmd.Process.Pid
	raw, err := s.tty.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { group, err = unix.IoctlGetInt(int(fd), unix.TIOCGPGRP) })
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return group != s.cmd.Process.Pid
}

// An engine that a shell runs in the background leaves the terminal alone, and is not
// stopped by it; brought to the foreground, Ctrl-C ends it.
func TestServeInTheBackgroundLeavesTheTerminalAlone(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]string{"usual": "", "with stty tostop": "stty tostop; "} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := bare(t)
			s := atShell(t, r)
			mark := s.press(fmt.Sprintf("%s%s --config %s serve &\r", set, binary.path, r.config))
			s.await(mark, "ready")
			r.settled()
			mark = s.press("jobs\r")
			if got := s.state(mark); got != "Running" {
				t.Errorf("the job is %s:\n%s", got, s.shown.String())
			}
			s.await(s.press("echo it is $((40+2))\r"), "it is 42") // the keys are the shell's
			mark = s.press("fg\r")
			s.await(mark, "serve\r\n")
			r.await("the job has the terminal", 5*time.Second, s.lent) // the shell says so before
			s.await(s.press(ctrlC), "shell$ ")                         // the prompt after it, not one still on its way
			if left, _ := filepath.Glob(filepath.Join(r.dir, "data", "run", "*.sock")); len(left) > 0 {
				t.Errorf("the engine did not end as it should: %q", left)
			}
			if shown := s.shown.String(); strings.Contains(shown, "/help shows the commands") {
				t.Errorf("it greets nobody:\n%s", shown)
			}
			s.press("exit\r")
		})
	}
}

// An engine that is put into the background goes on there, says nothing, and is back as
// it was; what was said meanwhile stands there.
func TestServePutIntoTheBackgroundSaysNothingUntilItIsBack(t *testing.T) {
	t.Parallel()
	r := bare(t)
	s := atShell(t, r)
	mark := s.press(fmt.Sprintf("%s --config %s serve\r", binary.path, r.config))
	s.await(mark, "> ")
	s.await(s.press("/whoami\r"), "You are owner")
	var pid string
	r.await("its process is known", 5*time.Second, func() bool {
		out, _ := exec.Command("pgrep", "-f", r.config).Output()
		pid = strings.TrimSpace(string(out))
		return pid != ""
	})
	mark = len(s.shown.String())
	if err := exec.Command("kill", "-TSTP", pid).Run(); err != nil {
		t.Fatal(err)
	}
	s.await(mark, "Stopped")
	mark = s.press("bg\r")
	s.await(mark, "serve &")
	r.settled()
	mark = s.press("echo it is $((40+2)); jobs\r")
	s.await(mark, "it is 42")
	if got := s.state(mark); got != "Running" {
		t.Errorf("the job is %s:\n%s", got, s.shown.String())
	}
	mark = len(s.shown.String())
	if out, errs, code := r.commandWith("what time is it in Tokyo?\n", "chat"); code != 0 {
		t.Fatalf("exit %d, %s%s", code, out, errs)
	}
	if said := s.shown.String()[mark:]; strings.Contains(said, "Tokyo") {
		t.Errorf("it writes on the shell's terminal: %q", said)
	}
	mark = s.press("fg\r")
	s.await(mark, "Asia/Tokyo")
	s.await(mark, "> ")
	s.await(s.press("/whoami\r"), "You are owner")
	mark = s.press(ctrlD)
	s.await(mark, "shell$ ")
	s.await(s.press("echo it is $((40+3))\r"), "it is 43") // the terminal is as it was
	s.press("exit\r")
}

// Ended in the background it leaves the shell's terminal as it is.
func TestServeEndsInTheBackground(t *testing.T) {
	t.Parallel()
	r := bare(t)
	s := atShell(t, r)
	mark := s.press(fmt.Sprintf("%s --config %s chat &\r", binary.path, r.config))
	s.await(mark, "without \"&\"")
	mark = s.press(fmt.Sprintf("%s --config %s serve\r", binary.path, r.config))
	s.await(mark, "> ")
	out, _ := exec.Command("pgrep", "-f", r.config).Output()
	pid := strings.TrimSpace(string(out))
	exec.Command("kill", "-TSTP", pid).Run()
	s.await(mark, "Stopped")
	s.press("bg\r")
	r.settled()
	mark = len(s.shown.String())
	exec.Command("kill", "-TERM", pid).Run()
	r.await("it ended", 10*time.Second, func() bool { return exec.Command("kill", "-0", pid).Run() != nil })
	s.await(s.press("echo it is $((40+2))\r"), "it is 42")
	if said := s.shown.String()[mark:]; strings.Contains(said, "2004l\x1b") {
		t.Errorf("%q", said)
	}
	s.press("exit\r")
}

package chat_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// atShell is an interactive shell with job control on a terminal of its own.
func atShell(t *testing.T, r *programtest.Rig) *programtest.Screen {
	t.Helper()
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	cmd := exec.Command(shell, "--norc", "--noprofile", "-i")
	cmd.Dir, cmd.Env = r.Dir, append(programtest.Environ(), "TERM=xterm", "NO_COLOR=1", "PS1=shell$ ", "HISTFILE=")
	s := programtest.StartOn(t, cmd)
	s.Await(0, "shell$ ")
	return s
}

// settled waits until the engine of r answers, and goes on answering.
func settled(r *programtest.Rig) {
	r.T.Helper()
	alive := func() bool { _, _, code := r.Command("doctor", "--alive"); return code == 0 }
	r.Await("the engine is up", 10*time.Second, alive)
	time.Sleep(300 * time.Millisecond)
	if !alive() {
		r.T.Fatal("the engine stopped")
	}
}

var jobState = regexp.MustCompile(`\[1\]. +(\w+)`)

// state is what the shell says of its job.
func state(s *programtest.Screen, mark int) string {
	s.T.Helper()
	var m []string
	testkit.Await(s.T, "the shell says something of its job", programtest.Patience, func() bool {
		m = jobState.FindStringSubmatch(s.Shown.String()[mark:])
		return m != nil
	})
	return m[1]
}

// An engine that a shell runs in the background leaves the terminal alone, and is not
// stopped by it; brought to the foreground, Ctrl-C ends it.
func TestServeInTheBackgroundLeavesTheTerminalAlone(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]string{"usual": "", "with stty tostop": "stty tostop; "} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := programtest.Bare(t)
			s := atShell(t, r)
			mark := s.Press(fmt.Sprintf("%s%s --config %s serve &\r", set, programtest.Build(t), r.Config))
			s.Await(mark, "ready")
			settled(r)
			mark = s.Press("jobs\r")
			if got := state(s, mark); got != "Running" {
				t.Errorf("the job is %s:\n%s", got, s.Shown.String())
			}
			s.Await(s.Press("echo it is $((40+2))\r"), "it is 42") // the keys are the shell's
			mark = s.Press("fg\r")
			s.Await(mark, "serve\r\n")
			r.Await("the job has the terminal", 5*time.Second, s.Lent) // the shell says so before
			s.Await(s.Press(programtest.CtrlC), "shell$ ")             // the prompt after it, not one still on its way
			if left, _ := filepath.Glob(filepath.Join(r.Dir, "data", "run", "*.sock")); len(left) > 0 {
				t.Errorf("the engine did not end as it should: %q", left)
			}
			if shown := s.Shown.String(); strings.Contains(shown, "/help shows the commands") {
				t.Errorf("it greets nobody:\n%s", shown)
			}
			s.Press("exit\r")
		})
	}
}

// An engine that is put into the background goes on there, says nothing, and is back as
// it was; what was said meanwhile stands there.
func TestServePutIntoTheBackgroundSaysNothingUntilItIsBack(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	s := atShell(t, r)
	mark := s.Press(fmt.Sprintf("%s --config %s serve\r", programtest.Build(t), r.Config))
	s.Await(mark, "> ")
	s.Await(s.Press("/whoami\r"), "You are owner")
	var pid string
	r.Await("its process is known", 5*time.Second, func() bool {
		out, _ := exec.Command("pgrep", "-f", r.Config).Output()
		pid = strings.TrimSpace(string(out))
		return pid != ""
	})
	mark = len(s.Shown.String())
	if err := exec.Command("kill", "-TSTP", pid).Run(); err != nil {
		t.Fatal(err)
	}
	s.Await(mark, "Stopped")
	mark = s.Press("bg\r")
	s.Await(mark, "serve &")
	settled(r)
	mark = s.Press("echo it is $((40+2)); jobs\r")
	s.Await(mark, "it is 42")
	if got := state(s, mark); got != "Running" {
		t.Errorf("the job is %s:\n%s", got, s.Shown.String())
	}
	mark = len(s.Shown.String())
	if out, errs, code := r.CommandWith("what time is it in Tokyo?\n", "chat"); code != 0 {
		t.Fatalf("exit %d, %s%s", code, out, errs)
	}
	if said := s.Shown.String()[mark:]; strings.Contains(said, "Tokyo") {
		t.Errorf("it writes on the shell's terminal: %q", said)
	}
	mark = s.Press("fg\r")
	s.Await(mark, "Asia/Tokyo")
	s.Await(mark, "> ")
	s.Await(s.Press("/whoami\r"), "You are owner")
	mark = s.Press(programtest.CtrlD)
	s.Await(mark, "shell$ ")
	s.Await(s.Press("echo it is $((40+3))\r"), "it is 43") // the terminal is as it was
	s.Press("exit\r")
}

// Ended in the background it leaves the shell's terminal as it is.
func TestServeEndsInTheBackground(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	s := atShell(t, r)
	mark := s.Press(fmt.Sprintf("%s --config %s chat &\r", programtest.Build(t), r.Config))
	s.Await(mark, "without \"&\"")
	mark = s.Press(fmt.Sprintf("%s --config %s serve\r", programtest.Build(t), r.Config))
	s.Await(mark, "> ")
	var pid string
	r.Await("its process is the only one", 5*time.Second, func() bool {
		out, _ := exec.Command("pgrep", "-f", r.Config).Output()
		pid = strings.TrimSpace(string(out))
		return pid != "" && !strings.Contains(pid, "\n")
	})
	exec.Command("kill", "-TSTP", pid).Run()
	s.Await(mark, "Stopped")
	s.Press("bg\r")
	settled(r)
	mark = len(s.Shown.String())
	exec.Command("kill", "-TERM", pid).Run()
	r.Await("it ended", 10*time.Second, func() bool { return exec.Command("kill", "-0", pid).Run() != nil })
	s.Await(s.Press("echo it is $((40+2))\r"), "it is 42")
	if said := s.Shown.String()[mark:]; strings.Contains(said, "2004l\x1b") {
		t.Errorf("%q", said)
	}
	s.Press("exit\r")
}

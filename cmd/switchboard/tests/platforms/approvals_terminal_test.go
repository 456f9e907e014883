package platforms_test

import (
	"regexp"
	"strings"
	"testing"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// asking is a rig that asks before it runs echo.
func asking(t *testing.T) *office {
	t.Helper()
	return &office{Rig: programtest.PlannedBy(t, "[policy.exec]\nask = [\"echo *\"]\n", programtest.Clerk)}
}

// In a pipe nobody can be asked: what asks is denied at once, which is an answer; with --yolo it runs.
func TestPipeIsDeniedWhatAsks(t *testing.T) {
	t.Parallel()
	o := asking(t)
	out, errs, code := o.CommandWith("run echo piped >> runs.txt\nhello\n", "chat")
	if code != 0 || !strings.Contains(out, "did not allow the command") || !strings.HasSuffix(out, "heard: hello\n") {
		t.Errorf("exit %d, %q\n%s", code, out, errs)
	}
	o.wantRan(0, "piped")
	out, errs, code = o.CommandWith("run echo piped >> runs.txt\n", "chat", "--yolo")
	if code != 0 || out != "ran: echo piped\n" {
		t.Errorf("with --yolo: exit %d, %q\n%s", code, out, errs)
	}
	o.wantRan(1, "piped")
}

// On a terminal the question is shown, the prompt is usable meanwhile, and what is typed decides.
func TestTerminalAsksAndGoesOn(t *testing.T) {
	t.Parallel()
	o := asking(t)
	s := programtest.OnTerminal(t, o.Rig, []string{"NO_COLOR=1"}, "chat")
	s.Await(0, "> ")
	ask := func(command string) (code string) {
		t.Helper()
		mark := s.Press("run " + command + "\r")
		typed := regexp.MustCompile(`/approve ([A-Z2-7]{4}-[A-Z2-7]{4})`)
		testkit.Await(t, "the question appears", programtest.Patience, func() bool {
			found := typed.FindStringSubmatch(s.Shown.String()[mark:])
			if found != nil {
				code = found[1]
			}
			return found != nil
		})
		for _, want := range []string{"May I run this command?", command, "policy.exec.ask", "10 minutes"} {
			s.Await(mark, want)
		}
		return code
	}
	code := ask("echo typed >> runs.txt")
	s.Await(s.Press("hello\r"), "heard: hello")
	o.wantRan(0, "typed")
	s.Await(s.Press("/approve "+strings.ToLower(code)+"\r"), "ran: echo typed")
	o.wantRan(1, "typed")
	code = ask("echo refused >> runs.txt")
	s.Await(s.Press("/deny "+code+" not now\r"), `did not allow the command ("not now")`)
	o.wantRan(0, "refused")
	code = ask("echo later >> runs.txt")
	s.Press(programtest.CtrlD)
	s.Leaves()
	s = programtest.OnTerminal(t, o.Rig, []string{"NO_COLOR=1"}, "chat")
	s.Await(0, "still to be decided:")
	s.Await(0, "echo later >> runs.txt")
	s.Await(s.Press("/approve "+code+"\r"), "ran: echo later")
	s.Press(programtest.CtrlD)
	s.Leaves()
	s = programtest.OnTerminal(t, o.Rig, []string{"NO_COLOR=1"}, "chat")
	s.Await(0, "> ")
	if strings.Contains(s.Shown.String(), "still to be decided:") {
		t.Errorf("it was decided: %s", s.Shown.String())
	}
	s.Press(programtest.CtrlD)
	s.Leaves()
}

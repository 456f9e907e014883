package main_test

import (
	"regexp"
	"strings"
	"testing"

	"switchboard/internal/testkit"
)

// asking is a rig that asks before it runs echo.
func asking(t *testing.T) *office {
	t.Helper()
	return &office{rig: plannedBy(t, "[policy.exec]\nask = [\"echo *\"]\n", clerk)}
}

// In a pipe nobody can be asked: what asks is denied at once, which is an answer; with --yolo it runs.
func TestPipeIsDeniedWhatAsks(t *testing.T) {
	t.Parallel()
	o := asking(t)
	out, errs, code := o.commandWith("run echo piped >> runs.txt\nhello\n", "chat")
	if code != 0 || !strings.Contains(out, "did not allow the command") || !strings.HasSuffix(out, "heard: hello\n") {
		t.Errorf("exit %d, %q\n%s", code, out, errs)
	}
	o.wantRan(0, "piped")
	out, errs, code = o.commandWith("run echo piped >> runs.txt\n", "chat", "--yolo")
	if code != 0 || out != "ran: echo piped\n" {
		t.Errorf("with --yolo: exit %d, %q\n%s", code, out, errs)
	}
	o.wantRan(1, "piped")
}

// On a terminal the question is shown, the prompt is usable meanwhile, and what is typed decides.
func TestTerminalAsksAndGoesOn(t *testing.T) {
	t.Parallel()
	o := asking(t)
	s := onTerminal(t, o.rig, []string{"NO_COLOR=1"}, "chat")
	s.await(0, "> ")
	ask := func(command string) (code string) {
		t.Helper()
		mark := s.press("run " + command + "\r")
		typed := regexp.MustCompile(`/approve ([A-Z2-7]{4}-[A-Z2-7]{4})`)
		testkit.Await(t, "the question appears", patience, func() bool {
			found := typed.FindStringSubmatch(s.shown.String()[mark:])
			if found != nil {
				code = found[1]
			}
			return found != nil
		})
		for _, want := range []string{"May I run this command?", command, "policy.exec.ask", "10 minutes"} {
			s.await(mark, want)
		}
		return code
	}
	code := ask("echo typed >> runs.txt")
	s.await(s.press("hello\r"), "heard: hello")
	o.wantRan(0, "typed")
	s.await(s.press("/approve "+strings.ToLower(code)+"\r"), "ran: echo typed")
	o.wantRan(1, "typed")
	code = ask("echo refused >> runs.txt")
	s.await(s.press("/deny "+code+" not now\r"), `did not allow the command ("not now")`)
	o.wantRan(0, "refused")
	code = ask("echo later >> runs.txt")
	s.press(ctrlD)
	s.leaves()
	s = onTerminal(t, o.rig, []string{"NO_COLOR=1"}, "chat")
	s.await(0, "still to be decided:")
	s.await(0, "echo later >> runs.txt")
	s.await(s.press("/approve "+code+"\r"), "ran: echo later")
	s.press(ctrlD)
	s.leaves()
	s = onTerminal(t, o.rig, []string{"NO_COLOR=1"}, "chat")
	s.await(0, "> ")
	if strings.Contains(s.shown.String(), "still to be decided:") {
		t.Errorf("it was decided: %s", s.shown.String())
	}
	s.press(ctrlD)
	s.leaves()
}

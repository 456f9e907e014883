package faults_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/cmd/switchboard/programtest"
)

// paying has a command write one line to a file, and then a message that the model
// cannot write while it is broken.
func paying(broken *atomic.Bool) func(llmtest.Request) llmtest.Reply {
	return func(req llmtest.Request) llmtest.Reply {
		if broken.Load() && req.Role == "worker" {
			return llmtest.Fail(400, "invalid_request_error", "", "no")
		}
		return programtest.Doing("echo paid >> paid.txt")(req)
	}
}

// A turn fails behind a side effect, and its person has it tried again, over a kill: the
// effect is there once.
func TestRetryAfterAKillRepeatsNoEffect(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	broken.Store(true)
	r := programtest.PlannedBy(t, "", paying(&broken), "u1")
	r.Up()
	first := r.Ask("u1", "pay the bill")
	r.Await("it failed", 10*time.Second, func() bool { return r.TurnOf("pay the bill").State == "failed" })
	broken.Store(false)
	r.Noted()
	r.Kill()
	r.Up()
	if got := r.Ask("u1", "/retry"); got == first {
		t.Errorf("tried again, it says %q", got)
	}
	files, _ := filepath.Glob(filepath.Join(r.Dir, "data", "workspaces", "*", "paid.txt"))
	if len(files) != 1 {
		t.Fatalf("files %v", files)
	}
	if data, err := os.ReadFile(files[0]); err != nil || strings.Count(string(data), "paid") != 1 {
		t.Errorf("paid: %q, %v", data, err)
	}
	again := r.TurnOf("/retry")
	if again.RetryOf != r.TurnOf("pay the bill").ID || again.Plans[0].Tasks[0].Outcome == "" || !strings.Contains(again.Plans[0].Tasks[0].Outcome, "done_before") {
		t.Errorf("the retry: %+v", again)
	}
	if out, errs, _ := r.Command("turn", "show", fmt.Sprint(again.ID)); !strings.Contains(out, fmt.Sprintf("\nIt tries turn %d again", again.RetryOf)) {
		t.Errorf("turn show: %s%s", out, errs)
	}
}

// What the platform kept for hours is offered when the program is back, and no model is
// asked until somebody wants it.
func TestStaleBacklogIsOfferedAndNoModelAsked(t *testing.T) {
	t.Parallel()
	r := programtest.PlannedBy(t, "", programtest.Echo, "u1")
	r.RanBefore()
	for _, text := range []string{"one", "two", "three"} {
		r.Platform.Write(scripted.Message{Conversation: "cu1", User: "u1", Text: text, At: time.Now().Add(-3 * time.Hour)})
	}
	r.Up()
	r.Await("an offer", 20*time.Second, func() bool { return len(r.Shown("u1")) > 0 })
	if got := r.Shown("u1"); len(got) != 1 || !strings.Contains(got[0], "these 3 messages") || r.Model.Count() != 0 {
		t.Errorf("shown %q after %d model calls", got, r.Model.Count())
	}
	r.Answers("u1", "go on", "heard: one\n\ntwo\n\nthree")
	if n := len(r.Turns()); n != 4 {
		t.Errorf("%d turns for 4 messages", n)
	}
}

// The terminal shows a retry like any turn, with its plan.
func TestRetryOnTheTerminalRunsTheTurnAgain(t *testing.T) {
	t.Parallel()
	s := programtest.OnTerminal(t, programtest.Bare(t), []string{"NO_COLOR="}, "chat")
	s.Await(0, "> ")
	s.Await(s.Press("/retry\r"), "nothing of yours")
	s.Await(s.Press("run echo $((40+2)) apples\r"), "42 apples\x1b[0m\r\n")
	s.Await(s.Press("/retry\r"), "42 apples\x1b[0m\r\n")
	s.Press(programtest.CtrlD)
	s.Leaves()
}

// /retry in a pipe.
func TestRetryInThePipeRunsTheTurnAgain(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	out, errs, code := r.CommandWith("/retry\nrun echo $((40+2)) apples\n/retry\n", "chat")
	if code != 0 || strings.Count(out, "42 apples") != 2 || !strings.Contains(out, "nothing of yours") {
		t.Errorf("exit %d\n%s\n%s", code, out, errs)
	}
}

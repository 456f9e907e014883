package main_test

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
)

// paying has a command write one line to a file, and then a message that the model
// cannot write while it is broken.
func paying(broken *atomic.Bool) func(llmtest.Request) llmtest.Reply {
	return func(req llmtest.Request) llmtest.Reply {
		if broken.Load() && req.Role == "worker" {
			return llmtest.Fail(400, "invalid_request_error", "", "no")
		}
		return doing("echo paid >> paid.txt")(req)
	}
}

// A turn fails behind a side effect, and its person has it tried again, over a kill: the
// effect is there once.
func TestRetryAfterAKillRepeatsNoEffect(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	broken.Store(true)
	r := plannedBy(t, "", paying(&broken), "u1")
	r.up()
	first := r.ask("u1", "pay the bill")
	r.await("it failed", 10*time.Second, func() bool { return r.turnOf("pay the bill").State == "failed" })
	broken.Store(false)
	r.noted()
	r.kill()
	r.up()
	if got := r.ask("u1", "/retry"); got == first {
		t.Errorf("tried again, it says %q", got)
	}
	files, _ := filepath.Glob(filepath.Join(r.dir, "data", "workspaces", "*", "paid.txt"))
	if len(files) != 1 {
		t.Fatalf("files %v", files)
	}
	if data, err := os.ReadFile(files[0]); err != nil || strings.Count(string(data), "paid") != 1 {
		t.Errorf("paid: %q, %v", data, err)
	}
	again := r.turnOf("/retry")
	if again.RetryOf != r.turnOf("pay the bill").ID || again.Plans[0].Tasks[0].Outcome == "" || !strings.Contains(again.Plans[0].Tasks[0].Outcome, "done_before") {
		t.Errorf("the retry: %+v", again)
	}
	if out, errs, _ := r.command("turn", "show", fmt.Sprint(again.ID)); !strings.Contains(out, fmt.Sprintf("\nretries  turn %d\n", again.RetryOf)) {
		t.Errorf("turn show: %s%s", out, errs)
	}
}

// What the platform kept for hours is offered when the program is back, and no model is
// asked until somebody wants it.
func TestStaleBacklogIsOfferedAndNoModelAsked(t *testing.T) {
	t.Parallel()
	r := plannedBy(t, "", echo, "u1")
	r.ranBefore()
	for _, text := range []string{"one", "two", "three"} {
		r.platform.Write(scripted.Message{Conversation: "cu1", User: "u1", Text: text, At: time.Now().Add(-3 * time.Hour)})
	}
	r.up()
	r.await("an offer", 20*time.Second, func() bool { return len(r.shown("u1")) > 0 })
	if got := r.shown("u1"); len(got) != 1 || !strings.Contains(got[0], "these 3 messages") || r.model.Count() != 0 {
		t.Errorf("shown %q after %d model calls", got, r.model.Count())
	}
	r.answers("u1", "go on", "heard: one\n\ntwo\n\nthree")
	if n := len(r.turns()); n != 4 {
		t.Errorf("%d turns for 4 messages", n)
	}
}

// The terminal shows a retry like any turn, with its plan.
func TestRetryOnTheTerminalRunsTheTurnAgain(t *testing.T) {
	t.Parallel()
	s := onTerminal(t, bare(t), []string{"NO_COLOR="}, "chat")
	s.await(0, "> ")
	s.await(s.press("/retry\r"), "nothing of yours")
	s.await(s.press("run echo $((40+2)) apples\r"), "42 apples\x1b[0m\r\n")
	s.await(s.press("/retry\r"), "42 apples\x1b[0m\r\n")
	s.press(ctrlD)
	s.leaves()
}

// /retry in a pipe.
func TestRetryInThePipeRunsTheTurnAgain(t *testing.T) {
	t.Parallel()
	r := bare(t)
	out, errs, code := r.commandWith("/retry\nrun echo $((40+2)) apples\n/retry\n", "chat")
	if code != 0 || strings.Count(out, "42 apples") != 2 || !strings.Contains(out, "nothing of yours") {
		t.Errorf("exit %d\n%s\n%s", code, out, errs)
	}
}

package main_test

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/router/view"
)

// slowly is a plan with that ready answer, a word at a time: with room for a busy machine
// between one and the next.
func slowly(answer string, hangAt int) llmtest.Reply {
	plan := llmtest.Plan("answer", llmtest.Answer(answer))
	before, after, _ := strings.Cut(plan, answer)
	pieces := append([]string{before}, strings.SplitAfter(answer, " ")...)
	return llmtest.Reply{Text: plan, Pieces: append(pieces, after), Pause: 20 * time.Millisecond, HangAt: hangAt}
}

// On a terminal an answer is seen while the model writes it, and Ctrl-C ends it there;
// in a pipe only the whole answer is.
func TestAnswersGrowOnATerminal(t *testing.T) {
	t.Parallel()
	const long, worked = "alpha beta gamma delta epsilon zeta eta theta iota kappa", "one two three four five six seven eight nine ten"
	told, done := make(chan struct{}), make(chan struct{})
	r := plannedBy(t, "", func(req llmtest.Request) llmtest.Reply {
		switch {
		case req.Role == "worker":
			return llmtest.Reply{Text: worked, Pause: 20 * time.Millisecond, HoldAt: 5, Hold: done}
		case said(req) == "work on it":
			return llmtest.Text(llmtest.Plan("write", llmtest.Msg("write something")))
		case strings.HasPrefix(said(req), "never end"):
			return slowly(long, 4)
		}
		reply := slowly(long, 0)
		reply.HoldAt, reply.Hold = 5, told
		return reply
	})
	r.up()
	s := onTerminal(t, r, []string{"NO_COLOR=1"}, "chat")
	s.await(0, "> ")
	for _, tt := range []struct {
		text, second, eighth, last string // of each answer, which the one before may be drawn along with
		rest                       chan struct{}
	}{
		{"tell me", "beta", "theta", "kappa", told}, {"work on it", "two", "eight", "ten", done},
	} {
		mark := s.press(tt.text + "\r")
		s.await(mark, tt.second)
		if strings.Contains(s.shown.String()[mark:], tt.eighth) {
			t.Errorf("%s: the beginning came with the end:\n%q", tt.text, s.shown.String()[mark:])
		}
		close(tt.rest)
		s.await(mark, tt.last+"\r\n")
		r.await("the turn has ended", patience, func() bool {
			return !slices.ContainsFunc(r.turns(), func(turn view.Turn) bool { return turn.State != "done" })
		})
	}
	mark := s.press("never end\r")
	s.await(mark, "gamma")
	mark = s.press(ctrlC)
	s.await(mark, "cancelling")
	s.await(mark, "gamma") // what was read stays
	s.await(mark, "(cut off)")
	s.await(mark, "Cancelled.")
	s.await(s.press("/whoami\r"), "You are owner")
	mark = s.press("never end again\r")
	s.await(mark, "gamma")
	s.press(ctrlC)
	s.press(ctrlC)
	s.leaves()

	cmd := exec.Command(binary.path, "--config", r.config, "chat", "--session", "piped")
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = r.dir, environ(), strings.NewReader("tell me\n"), &out, &errs
	if err := cmd.Run(); err != nil || out.String() != long+"\n" || strings.Contains(errs.String(), "alpha") {
		t.Errorf("%v, stdout %q, stderr %q", err, out.String(), errs.String())
	}
}

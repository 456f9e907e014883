package chat_test

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/router/turns"
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
	r := programtest.PlannedBy(t, "", func(req llmtest.Request) llmtest.Reply {
		switch {
		case req.Role == "worker":
			return llmtest.Reply{Text: worked, Pause: 20 * time.Millisecond, HoldAt: 5, Hold: done}
		case programtest.Said(req) == "work on it":
			return llmtest.Text(llmtest.Plan("write", llmtest.Msg("write something")))
		case strings.HasPrefix(programtest.Said(req), "never end"):
			return slowly(long, 4)
		}
		reply := slowly(long, 0)
		reply.HoldAt, reply.Hold = 5, told
		return reply
	})
	r.Up()
	s := programtest.OnTerminal(t, r, []string{"NO_COLOR=1"}, "chat")
	s.Await(0, "> ")
	for _, tt := range []struct {
		text, second, eighth, last string // of each answer, which the one before may be drawn along with
		rest                       chan struct{}
	}{
		{"tell me", "beta", "theta", "kappa", told}, {"work on it", "two", "eight", "ten", done},
	} {
		mark := s.Press(tt.text + "\r")
		s.Await(mark, tt.second)
		if strings.Contains(s.Shown.String()[mark:], tt.eighth) {
			t.Errorf("%s: the beginning came with the end:\n%q", tt.text, s.Shown.String()[mark:])
		}
		close(tt.rest)
		s.Await(mark, tt.last+"\r\n")
		r.Await("the turn has ended", programtest.Patience, func() bool {
			return !slices.ContainsFunc(r.Turns(), func(turn turns.Turn) bool { return turn.State != "done" })
		})
	}
	mark := s.Press("never end\r")
	s.Await(mark, "gamma")
	mark = s.Press(programtest.CtrlC)
	s.Await(mark, "cancelling")
	s.Await(mark, "gamma") // what was read stays
	s.Await(mark, "(cut off)")
	s.Await(mark, "Cancelled.")
	s.Await(s.Press("/whoami\r"), "You are owner")
	mark = s.Press("never end again\r")
	s.Await(mark, "gamma")
	s.Press(programtest.CtrlC)
	s.Press(programtest.CtrlC)
	s.Leaves()

	cmd := exec.Command(programtest.Build(t), "--config", r.Config, "chat", "--session", "piped")
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = r.Dir, programtest.Environ(), strings.NewReader("tell me\n"), &out, &errs
	if err := cmd.Run(); err != nil || out.String() != long+"\n" || strings.Contains(errs.String(), "alpha") {
		t.Errorf("%v, stdout %q, stderr %q", err, out.String(), errs.String())
	}
}

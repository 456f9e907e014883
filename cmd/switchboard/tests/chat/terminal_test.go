package chat_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"switchboard/channels/telegram/telegramtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

var coloured = regexp.MustCompile(`\x1b\[[39]\dm`)

func TestServeOnATerminalChatsAndHidesTheLog(t *testing.T) {
	t.Parallel()
	s := programtest.OnTerminal(t, programtest.Bare(t), []string{"NO_COLOR="})
	s.Await(0, "/help shows the commands")
	s.Await(0, "> ")
	s.Await(s.Press("what time is it in Tokyo?\r"), "1. Look up the date and time in Tokyo")
	s.Await(s.Press("/help\r"), "/cancel")
	s.Await(s.Press("run sleep 300\r"), "goal:")
	mark := s.Press(programtest.CtrlC)
	s.Await(mark, "cancelling")
	s.Await(mark, "Cancelled.")
	for try := 1; ; try++ { // that a line was taken may be heard behind its answer: till then it is cancelled
		s.Await(s.Press("/whoami\r"), "You are owner")
		s.Press("half a line" + programtest.CtrlC) // only clears the line
		mark = s.Press(programtest.CtrlC)
		s.Await(mark, "Ctrl-C again")
		if strings.Contains(s.Shown.String()[mark:], "Ctrl-C again or Ctrl-D leaves") {
			break
		} else if try == 20 {
			t.Fatal("Ctrl-C does not say how to leave")
		}
	}
	s.Await(s.Press("/whoami\r"), "You are owner")
	s.Press(programtest.CtrlD)
	s.Leaves()
	if strings.Contains(s.Shown.String(), `"level"`) {
		t.Errorf("log lines in JSON on a terminal:\n%s", s.Shown.String())
	}
	if strings.Contains(s.Shown.String(), "connecting") {
		t.Errorf("channels are told of where there are none:\n%s", s.Shown.String())
	}
}

// The person on the terminal learns where the log is and, once, that a channel does
// not connect; the log has the form that was asked for.
func TestServeOnATerminalReportsALostChannelOnce(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{"auto": `{"time":"`, "text": "INF ready"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			gone := "http://" + testkit.FreeAddress(t)
			r := programtest.Bare(t)
			r.Append(fmt.Sprintf("[log]\nformat = %q\n[channels.tg]\nkind = \"telegram\"\ntoken = \"1:x\"\napi_url = %q\n", format, gone))
			s := programtest.OnTerminal(t, r, []string{"NO_COLOR=1"})
			path := filepath.Join(r.Dir, "data", "switchboard.log")
			s.Await(0, "The log is in "+path)
			s.Await(0, "tg: connecting.")
			s.Await(0, "> ")
			s.Await(0, "tg has not been connected since ")
			s.Await(0, "connection refused")
			time.Sleep(200 * time.Millisecond) // four looks more
			s.Await(s.Press("/whoami\r"), "You are owner")
			s.Press(programtest.CtrlD)
			s.Leaves()
			log, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(log), want) || strings.Contains(string(log), "\x1b") {
				t.Errorf("%v\n%s", err, log)
			}
			if strings.Count(s.Shown.String(), "tg has not been connected") != 1 || !regexp.MustCompile("warnings? (is|are) in "+regexp.QuoteMeta(path)).MatchString(s.Shown.String()) {
				t.Errorf("told:\n%s", s.Shown.String())
			}
		})
	}
}

func TestServeOnATerminalSaysWhatIsConnected(t *testing.T) {
	t.Parallel()
	bot := telegramtest.New(t)
	r := programtest.Bare(t)
	r.Append(fmt.Sprintf("[channels.tg]\nkind = \"telegram\"\ntoken = %q\napi_url = %q\n", bot.Token(), bot.APIURL()))
	s := programtest.OnTerminal(t, r, []string{"NO_COLOR=1"})
	s.Await(0, "tg: connecting.")
	s.Await(0, "tg is connected.")
	s.Press(programtest.CtrlD)
	s.Leaves()
}

func TestChatOnATerminalWithNoColorHasNone(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	s := programtest.OnTerminal(t, r, []string{"NO_COLOR=1"}, "chat")
	s.Await(0, "> ")
	s.Await(s.Press("what time is it in Tokyo?\r"), "ok 1. Look up the date and time in Tokyo")
	s.Await(s.Press("/whoami\r"), "You are owner")
	s.Await(s.Press("hello\r"), "Hello!") // after the turn before it has ended
	s.Await(s.Press("/whoami\r"), "You are owner")
	s.Await(s.Press(programtest.CtrlC), "Ctrl-C again") // or "cancelling; …", where the line before is answered, but was not yet said to be taken
	s.Press(programtest.CtrlC)
	s.Leaves()
	if strings.Contains(s.Shown.String(), programtest.Faint) || coloured.MatchString(s.Shown.String()) {
		t.Errorf("colours in spite of NO_COLOR:\n%q", s.Shown.String())
	}
}

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"switchboard/channels/telegram/telegramtest"
	"switchboard/internal/testkit"
)

// A screen is the program on a terminal.
type screen struct {
	t      *testing.T
	cmd    *exec.Cmd
	tty    *os.File
	shown  testkit.Log
	exited chan error
}

// onTerminal runs the program with args as a person would.
func onTerminal(t *testing.T, r *rig, env []string, args ...string) *screen {
	t.Helper()
	cmd := exec.Command(binary.path, append([]string{"--config", r.config}, args...)...)
	cmd.Dir, cmd.Env = r.dir, append(environ(), append([]string{"TERM=xterm"}, env...)...)
	return startOn(t, cmd)
}

// startOn starts cmd on a terminal of its own.
func startOn(t *testing.T, cmd *exec.Cmd) *screen {
	t.Helper()
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 200})
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, cmd: cmd, tty: tty, exited: make(chan error, 1)}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			s.shown.Write(buf[:n])
			if err != nil {
				s.exited <- cmd.Wait()
				return
			}
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Kill() // no harm to one that has ended
		tty.Close()        // hangs up on its jobs
		if t.Failed() {
			t.Logf("the end of what the terminal shows: %q", tail(s.shown.String(), 2000))
		}
	})
	return s
}

// await waits until want is on the screen, after what was there at mark.
func (s *screen) await(mark int, want string) {
	s.t.Helper()
	testkit.Await(s.t, fmt.Sprintf("%q appears", want), 15*time.Second, func() bool { return strings.Contains(s.shown.String()[mark:], want) })
}

// press types keys and returns the mark from which to look.
func (s *screen) press(keys string) (mark int) {
	s.t.Helper()
	mark = len(s.shown.String())
	if _, err := s.tty.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
	return mark
}

// leaves waits for the end and wants exit 0.
func (s *screen) leaves() {
	s.t.Helper()
	select {
	case err := <-s.exited:
		if err != nil {
			s.t.Errorf("it ended with %v:\n%q", err, tail(s.shown.String(), 1000))
		}
	case <-time.After(time.Minute):
		s.t.Fatalf("it did not end:\n%q", tail(s.shown.String(), 1000))
	}
}

const (
	ctrlC = "\x03"
	ctrlD = "\x04"
	faint = "\x1b[2m"
)

var coloured = regexp.MustCompile(`\x1b\[[39]\dm`)

func TestServeOnATerminalChatsAndHidesTheLog(t *testing.T) {
	t.Parallel()
	s := onTerminal(t, bare(t), []string{"NO_COLOR="})
	s.await(0, "/help shows the commands")
	s.await(0, "> ")
	s.await(s.press("what time is it in Tokyo?\r"), "1. Look up the date and time in Tokyo")
	s.await(s.press("/help\r"), "/cancel")
	s.await(s.press("run sleep 60\r"), "goal:")
	mark := s.press(ctrlC)
	s.await(mark, "cancelling")
	s.await(mark, "Cancelled.")
	for try := 1; ; try++ { // that a line was taken may be heard behind its answer: till then it is cancelled
		s.await(s.press("/whoami\r"), "You are owner")
		s.press("half a line" + ctrlC) // only clears the line
		mark = s.press(ctrlC)
		s.await(mark, "Ctrl-C again")
		if strings.Contains(s.shown.String()[mark:], "Ctrl-C again or Ctrl-D leaves") {
			break
		} else if try == 20 {
			t.Fatal("Ctrl-C does not say how to leave")
		}
	}
	s.await(s.press("/whoami\r"), "You are owner")
	s.press(ctrlD)
	s.leaves()
	if strings.Contains(s.shown.String(), `"level"`) {
		t.Errorf("log lines in JSON on a terminal:\n%s", s.shown.String())
	}
	if strings.Contains(s.shown.String(), "connecting") {
		t.Errorf("channels are told of where there are none:\n%s", s.shown.String())
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
			r := bare(t)
			r.append(fmt.Sprintf("[log]\nformat = %q\n[channels.tg]\nkind = \"telegram\"\ntoken = \"1:x\"\napi_url = %q\n", format, gone))
			s := onTerminal(t, r, []string{"NO_COLOR=1"})
			path := filepath.Join(r.dir, "data", "switchboard.log")
			s.await(0, "The log is in "+path)
			s.await(0, "tg: connecting.")
			s.await(0, "> ")
			s.await(0, "tg has not been connected since ")
			s.await(0, "connection refused")
			time.Sleep(200 * time.Millisecond) // four looks more
			s.await(s.press("/whoami\r"), "You are owner")
			s.press(ctrlD)
			s.leaves()
			log, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(log), want) || strings.Contains(string(log), "\x1b") {
				t.Errorf("%v\n%s", err, log)
			}
			if strings.Count(s.shown.String(), "tg has not been connected") != 1 || !regexp.MustCompile("warnings? (is|are) in "+regexp.QuoteMeta(path)).MatchString(s.shown.String()) {
				t.Errorf("told:\n%s", s.shown.String())
			}
		})
	}
}

func TestServeOnATerminalSaysWhatIsConnected(t *testing.T) {
	t.Parallel()
	bot := telegramtest.New(t)
	r := bare(t)
	r.append(fmt.Sprintf("[channels.tg]\nkind = \"telegram\"\ntoken = %q\napi_url = %q\n", bot.Token(), bot.APIURL()))
	s := onTerminal(t, r, []string{"NO_COLOR=1"})
	s.await(0, "tg: connecting.")
	s.await(0, "tg is connected.")
	s.press(ctrlD)
	s.leaves()
}

func TestChatOnATerminalWithNoColorHasNone(t *testing.T) {
	t.Parallel()
	r := bare(t)
	s := onTerminal(t, r, []string{"NO_COLOR=1"}, "chat")
	s.await(0, "> ")
	s.await(s.press("what time is it in Tokyo?\r"), "ok 1. Look up the date and time in Tokyo")
	s.await(s.press("/whoami\r"), "You are owner")
	s.await(s.press("hello\r"), "Hello!") // after the turn before it has ended
	s.await(s.press("/whoami\r"), "You are owner")
	s.await(s.press(ctrlC), "Ctrl-C again or Ctrl-D leaves")
	s.press(ctrlC)
	s.leaves()
	if strings.Contains(s.shown.String(), faint) || coloured.MatchString(s.shown.String()) {
		t.Errorf("colours in spite of NO_COLOR:\n%q", s.shown.String())
	}
}

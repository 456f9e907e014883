package console

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// seat is a person at a terminal.
type seat struct {
	t      *testing.T
	engine *engine
	keys   *os.File
	tty    *os.File
	width  int
	screen buffer
	done   chan error
}

func sit(t *testing.T, e *engine, change func(*Options)) *seat {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: 200}); err != nil {
		t.Fatal(err)
	}
	s := &seat{t: t, engine: e, keys: master, tty: tty, width: 200, done: make(chan error, 1)}
	o := Options{Session: "default", Person: "ada", In: tty, Out: tty, Err: tty, Terminal: true, NoColor: true, Commands: []string{"/cancel", "/help", "/plan", "/start", "/status"}}
	if change != nil {
		change(&o)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		chunk := make([]byte, 4096)
		for {
			n, err := master.Read(chunk)
			_, _ = s.screen.Write(chunk[:n])
			if err != nil {
				return
			}
		}
	}()
	go func() { s.done <- Chat(t.Context(), e.client, o) }()
	t.Cleanup(func() {
		_ = tty.Close()
		_ = master.Close()
		<-read
	})
	s.await("> ")
	return s
}

func (s *seat) press(keys string) {
	s.t.Helper()
	if _, err := s.keys.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// await waits until the screen shows want.
func (s *seat) await(want string) {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(s.screen.String(), want); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("the screen never shows %q:\n%q", want, s.screen.String())
		}
	}
}

// leave presses Ctrl-D, and Chat ends.
func (s *seat) leave() {
	s.t.Helper()
	s.press("\x04")
	s.left()
}

func (s *seat) left() {
	s.t.Helper()
	select {
	case err := <-s.done:
		if err != nil {
			s.t.Errorf("Chat returned %v", err)
		}
	case <-time.After(time.Minute):
		s.t.Fatalf("Chat does not end:\n%q", s.screen.String())
	}
}

func TestTerminalEditsLinesAndKeepsHistory(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "data", "history")
	s := sit(t, newEngine(t, echo), func(o *Options) { o.HistoryFile = file })
	s.press("hallo\x7f\x7fXX\r") // a mistake is mended
	s.await("you said: halXX\r\n")
	s.press("\x1b[A!\r") // the last line again, with more
	s.await("you said: halXX!\r\n")
	s.press("/help\r")
	s.await("command /help\r\n")
	s.leave()
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("history: %v, %v", info, err)
	}
	kept, err := os.ReadFile(file)
	if err != nil || string(kept) != "halXX\nhalXX!\n/help\n" {
		t.Errorf("history: %q, %v", kept, err)
	}
	again := sit(t, newEngine(t, echo), func(o *Options) { o.HistoryFile = file })
	again.press("\x1b[A\x1b[A\r")
	again.await("you said: halXX!\r\n")
	again.leave()
}

func TestTerminalShowsProgress(t *testing.T) {
	t.Parallel()
	s := sit(t, newEngine(t, planned), nil)
	s.press("x\r")
	s.await("There is nothing in x.")
	last := -1
	for _, want := range []string{"goal: look", "failed 1. run a command: ls -l: it ended with an error", "not done 2. ask", "I try another way", "goal: look again", "ok 1. ask", "There is nothing"} {
		at := strings.Index(s.screen.String(), want)
		if at <= last {
			t.Errorf("%q is missing or out of order:\n%s", want, s.screen.String())
		}
		last = at
	}
	s.leave()
}

func TestInterruptOnTheTerminalCancelsTheTurn(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	s := sit(t, newEngine(t, func(text string, u *turn) {
		if text == "/cancel" {
			close(stop)
			return
		}
		<-stop
		u.say("Stopped.", false, true)
		u.state("cancelled")
	}), nil)
	s.press("\x03")
	s.await("Ctrl-D leaves")
	s.press("long\r")
	time.Sleep(100 * time.Millisecond) // the turn's start has to be seen first
	s.press("half a li\x03")           // clears the line
	s.press("\x03")
	s.await("cancelling")
	s.await("Stopped.")
	time.Sleep(50 * time.Millisecond) // the turn's end comes behind
	if strings.Contains(strings.ToLower(s.screen.String()), "cancelled") {
		t.Errorf("it says twice that it stopped:\n%s", s.screen.String())
	}
	if got := strings.Join(s.engine.said(), ","); got != "long,/cancel" {
		t.Errorf("sent %s", got)
	}
	s.press("a\x7f") // any key takes back the Ctrl-C before
	s.press("\x03")
	time.Sleep(20 * time.Millisecond)
	s.press("\x03")
	s.left()
}

func TestPastedLinesAreOneMessage(t *testing.T) {
	t.Parallel()
	s := sit(t, newEngine(t, echo), nil)
	s.press("\x1b[200~one\rtwo\x1b[201~\r")
	s.await("you said: one\r\ntwo\r\n")
	s.leave()
	if got := s.engine.said(); len(got) != 1 || got[0] != "one\ntwo" {
		t.Errorf("sent %q", got)
	}
}

func TestTerminalIsNotCommanded(t *testing.T) {
	t.Parallel()
	s := sit(t, newEngine(t, func(_ string, u *turn) {
		u.raw("plan", `{"goal":"\u001b]0;owned\u0007 goal","tasks":[{"type":"exec","detail":"\u001b[2J"}]}`)
		u.answer("safe \x1b]52;c;b3duZWQ=\x07&#27;[2J end\r\x08")
	}), nil)
	s.press("x\r")
	s.await("safe ")
	s.await(" end")
	for _, bad := range []string{"\x1b]0;", "\x1b]52;", "\x1b[2J", "\x07", "\x08"} {
		if strings.Contains(s.screen.String(), bad) {
			t.Errorf("the screen got %q", bad)
		}
	}
	s.leave()
}

func TestNoColorTurnsColoursOff(t *testing.T) {
	for _, off := range []string{"", "1"} {
		t.Setenv("NO_COLOR", off)
		t.Setenv("TERM", "xterm")
		s := sit(t, newEngine(t, planned), func(o *Options) { o.NoColor = false })
		s.press("x\r")
		s.await("There is nothing")
		if got := strings.Contains(s.screen.String(), "\x1b[2m"); got == (off != "") {
			t.Errorf("NO_COLOR=%q, colours: %v", off, got)
		}
		s.leave()
	}
}

// Leaving while what runs is being cancelled does not promise its answer.
func TestSecondInterruptPromisesNoAnswer(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	_, seen := seenFile(t)
	s := sit(t, newEngine(t, func(text string, u *turn) {
		if text != "/cancel" {
			<-stop
			u.state("cancelled")
		}
	}), seen)
	defer close(stop)
	s.press("long\r")
	time.Sleep(100 * time.Millisecond) // the turn's start has to be seen first
	s.press("\x03")
	s.await("cancelling")
	s.press("\x03")
	s.await("it is being cancelled")
	s.left()
	if strings.Contains(s.screen.String(), "still working") {
		t.Errorf("%s", s.screen.String())
	}
}

// A line that cannot be stored is said not to be taken, for as long as it takes, and
// then that it is; so is one that waits behind it.
func TestLineThatCannotBeStoredIsShownAsNotTaken(t *testing.T) {
	t.Parallel()
	e := newEngine(t, echo)
	s := sit(t, e, nil)
	e.mu.Lock()
	e.broken = 1 << 30
	e.mu.Unlock()
	s.press("one\r")
	s.await("not taken yet")
	s.press("two\r")
	s.shows("both are not taken", func(lines []string) bool {
		return strings.Count(strings.Join(lines, "\n"), "not taken yet") == 2
	})
	time.Sleep(faultPatience + time.Second) // a pipe would give up
	e.mu.Lock()
	e.broken = 0
	e.mu.Unlock()
	s.await("taken now: one")
	s.await("you said: one")
	s.await("taken now: two")
	s.await("you said: two")
	s.press("three\r")
	s.await("you said: three")
	if got := s.screen.String(); strings.Contains(got, "taken now: three") || strings.Contains(got, "not sent") {
		t.Errorf("%s", got)
	}
	s.leave()
}

package console

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchboard/channels"
)

func seenFile(t *testing.T) (file string, with func(*Options)) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "data", "seen.json")
	return file, func(o *Options) { o.SeenFile = file }
}

// greets waits until the terminal shows want and nothing else.
func (s *seat) greets(want string) {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		lines, _ := picture(s.screen.String(), s.width)
		diff := cmp.Diff(want, strings.Join(lines, "\n"))
		if diff == "" {
			return
		}
		if time.Now().After(deadline) {
			s.t.Error(diff)
			return
		}
	}
}

// Who leaves while a turn runs finds its answer next time, once.
func TestMissedAnswerIsShownOnceNextTime(t *testing.T) {
	t.Parallel()
	file, with := seenFile(t)
	turns := make(chan *turn, 1)
	e := newEngine(t, func(_ string, u *turn) { turns <- u })
	s := sit(t, e, with)
	s.press("how long?\r")
	u := <-turns
	s.press("\x04")
	s.await("still working on it; the answer will be here next time")
	s.left()
	u.say("I try another way.", false, true)
	u.answer("Three hours.")
	s = sit(t, e, with)
	s.greets("while you were away:\n> how long?\nThree hours.\n>")
	s.leave()
	s = sit(t, e, with)
	s.greets(">")
	s.leave()
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if left, err := filepath.Glob(file + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// A turn that runs still is known as running to who comes back.
func TestTurnThatRunsIsCancelledAfterComingBack(t *testing.T) {
	t.Parallel()
	_, with := seenFile(t)
	turns := make(chan *turn, 1)
	e := newEngine(t, func(text string, u *turn) {
		if text != "/cancel" {
			turns <- u
		}
	})
	s := sit(t, e, with)
	s.press("work\r")
	u := <-turns
	s.leave()
	s = sit(t, e, with)
	s.press("\x03")
	s.await("cancelling")
	u.state("cancelled")
	s.await("Cancelled.")
	s.leave()
	if strings.Contains(s.screen.String(), "still working") {
		t.Error("it says that a cancelled turn runs")
	}
}

func TestOfManyMissedTheLastAreShown(t *testing.T) {
	t.Parallel()
	m := newMissed(4)
	for n := range int64(40) {
		m.add(channels.SessionEvent{N: n, TurnID: n / 2, Message: &channels.SessionMessage{Direction: "out", Text: "x"}})
	}
	if len(m.said) != missedMost || m.left != 35-missedMost {
		t.Errorf("%d, and %d left out", len(m.said), m.left)
	}
	if got := m.lines(show)[1]; got != "(15 older ones are left out)" {
		t.Error(got)
	}
}

// A pipe notes what it showed, unless something before it was not shown.
func TestPipeAdvancesTheMark(t *testing.T) {
	t.Parallel()
	file, with := seenFile(t)
	e := newEngine(t, func(text string, u *turn) {
		if text == "disturb" {
			(&turn{e: u.e, conv: u.conv, id: 7}).answer("a reminder")
		}
		u.answer("re " + text)
	})
	mark := func() int64 { return readSeen(file)["ada/default"] }
	for _, step := range []struct {
		text string
		mark int64
	}{{"a", 4}, {"b", 8}, {"disturb", 10}, {"c", 10}} {
		out, _, err := inPipe(t, e, step.text, with)
		if err != nil || out != "re "+step.text+"\n" {
			t.Fatalf("%q, %v", out, err)
		}
		if got := mark(); got != step.mark {
			t.Fatalf("after %s the mark is %d, want %d", step.text, got, step.mark)
		}
	}
	s := sit(t, e, with)
	want := "while you were away:\na reminder\n> disturb\nre disturb\n> c\nre c\n>"
	s.greets(want)
	s.leave()
}

func TestBrokenSeenFileCountsAsNone(t *testing.T) {
	t.Parallel()
	file, _ := seenFile(t)
	if s := openSeen(file, "ada/x", 9); s.n != 0 {
		t.Errorf("without a file: %d", s.n)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, broken := range []string{"", "{", "[]", `{"ada/x":"1"}`, `{"ada/x":-4}`, "null"} {
		if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if s := openSeen(file, "ada/x", 9); s.n != 0 {
			t.Errorf("%q: %d", broken, s.n)
		}
	}
	for _, c := range []struct {
		conv          string
		last, advance int64
		want          map[string]int64
	}{
		{"ada/x", 9, 5, map[string]int64{"ada/x": 5}},
		{"bob/x", 9, 9, map[string]int64{"ada/x": 5, "bob/x": 9}},
		{"bob/x", 2, 2, map[string]int64{"ada/x": 5, "bob/x": 2}}, // of another database
	} {
		s := openSeen(file, c.conv, c.last)
		s.advance(c.advance)
		if err := s.save(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, readSeen(file)); diff != "" {
			t.Error(diff)
		}
	}
	further, behind := openSeen(file, "ada/x", 9), openSeen(file, "ada/x", 9)
	further.advance(9)
	behind.advance(7)
	if err := errors.Join(further.save(), behind.save()); err != nil || readSeen(file)["ada/x"] != 9 {
		t.Errorf("%v, %v", err, readSeen(file))
	}
	if err := (&seen{path: "/proc/none/seen", conv: "ada/x", n: 3}).save(); err == nil {
		t.Error("a file that cannot be written is no error")
	}
}

func TestSecondInterruptMuchLaterDoesNotLeave(t *testing.T) {
	t.Parallel()
	s := sit(t, newEngine(t, echo), nil)
	s.press("\x03")
	s.await("leaves")
	time.Sleep(armedFor + 200*time.Millisecond)
	s.press("\x03") // too late to leave
	s.press("still here\r")
	s.await("you said: still here\r\n")
	s.press("/EXIT\r")
	s.left()
	if diff := cmp.Diff([]string{"still here"}, s.engine.said()); diff != "" {
		t.Error(diff)
	}
}

func TestHelpNamesKeys(t *testing.T) {
	t.Parallel()
	s := sit(t, newEngine(t, echo), nil)
	s.press("/help\r")
	s.await("command /help\r\n")
	s.await("Ctrl-C clears")
	s.press("/other\r")
	s.await("command /other\r\n")
	s.leave()
	if strings.Count(s.screen.String(), "Ctrl-C clears") != 1 {
		t.Error("the keys are told twice")
	}
	if out, _, err := inPipe(t, newEngine(t, echo), "/help\n", nil); err != nil || out != "command /help\n" {
		t.Errorf("in a pipe: %q, %v", out, err)
	}
}

// The terminal says when the engine is away, and what was written meanwhile is sent.
func TestTerminalReconnects(t *testing.T) {
	t.Parallel()
	e := newEngine(t, echo)
	s := sit(t, e, nil)
	e.away.Store(true)
	e.stop()
	e.start(t)
	e.client.Close()
	s.await("connection to the engine lost, reconnecting…")
	s.press("hello\r")
	e.away.Store(false)
	s.await("connected again")
	s.await("you said: hello\r\n")
	s.leave()
}

package console

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
)

// sees waits until the screen's last line is want, with the cursor in that column.
func (s *seat) sees(want string, column int) {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		lines, cursor := picture(s.screen.String(), s.width)
		if n := len(lines); n > 0 && lines[n-1] == want && cursor == (place{n - 1, column}) {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("want %q, cursor at %d; the screen shows, cursor at %v:\n%s\n%q", want, column, cursor, strings.Join(lines, "\n"), s.screen.String())
		}
	}
}

func TestKeysEditTheLine(t *testing.T) {
	t.Parallel()
	s := sit(t, newEngine(t, echo), nil)
	family := "👨‍👩‍👧"
	for _, step := range []struct {
		keys, want string
		column     int
	}{
		{"日本", "> 日本", 6},
		{"\x7f", "> 日", 4},
		{"\x7f\x7f", ">", 2},
		{"🎉a", "> 🎉a", 5},
		{"\x7f", "> 🎉", 4},
		{"\x7f", ">", 2},
		{family + "x", "> " + family + "x", 5},
		{"\x1b[D\x7f", "> x", 2},
		{"\x05e\u0301", "> xe\u0301", 4},
		{"\x7f", "> x", 3},
		{"\x15", ">", 2},
		{"one two", "> one two", 9},
		{"\x01", "> one two", 2},
		{"日", "> 日one two", 4},
		{"\x1b[C\x1b[3~", "> 日oe two", 5},
		{"\x05\x17", "> 日oe", 7},
		{"\x19", "> 日oe two", 10},
		{"\x1b[1;5D\x0b", "> 日oe", 7},
		{"\x1b[H\x04", "> oe", 2},
		{"\x03", ">", 2},
		{"/h", "> /h", 4},
		{"\t", "> /help", 8},
		{"\x15/st\t", "> /sta", 6},
		{"\t", "> /sta", 6},
		{"\x03", ">", 2},
		{"first line\r", ">", 2},
		{"second\r", ">", 2},
		{"draft\x1b[A", "> second", 8},
		{"\x1b[A", "> first line", 12},
		{"\x1b[A", "> first line", 12},
		{"\x1b[B\x1b[B", "> draft", 7},
		{"\x12", "(search) :", 11},
		{"s", "(search) s: second", 12},
		{"\x12", "(search) s: first line", 15},
		{"\x12", "(search) s: first line", 15},
		{"e", "(search) se:", 13}, // older ones do not have it
		{"\x7f\x7fco", "(search) co: second", 15},
		{"\x1b[D", "> second", 7},
		{"\x12q\x07", "> second", 7},
		{"\x05\x15\x1b[200~a\rb\x1b[201~", "  b", 3},
		{"\x7fc", "  c", 3},
	} {
		s.press(step.keys)
		s.sees(step.want, step.column)
	}
	if lines, _ := picture(s.screen.String(), s.width); !strings.Contains(strings.Join(lines, "\n"), "/start  /status") {
		t.Errorf("the choices are not shown:\n%s", strings.Join(lines, "\n"))
	}
	s.press("\r")
	s.await("you said: a\r\nc\r\n")
	s.press("\x1b[A") // it is one line of history
	s.sees("  c", 3)
	s.press("\x03/quit\r")
	s.left()
	if diff := cmp.Diff([]string{"first line", "second", "a\nc"}, s.engine.said()); diff != "" {
		t.Error(diff)
	}
}

// A long line is drawn on several rows, whatever the window's width becomes, and
// what arrives while typing stands above it.
func TestOutputWhileTypingStandsAboveTheLine(t *testing.T) {
	t.Parallel()
	turns := make(chan *turn, 1)
	s := sit(t, newEngine(t, func(_ string, u *turn) { turns <- u }), func(o *Options) { o.Session = "x" })
	s.resize(20)
	s.press("go\r")
	u := <-turns
	s.press("日本語 is typed while it works")
	s.sees("ile it works", 12)
	u.say("Half of it is here, more follows.", false, false)
	s.await("more follows.")
	s.sees("ile it works", 12)
	lines, _ := picture(s.screen.String(), s.width)
	want := []string{"> go", "Half of it is here,", "more follows.", "> 日本語 is typed wh", "ile it works"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	u.answer("done")
	s.await("done")
	s.resize(12)
	s.press("\x7f")
	s.await("it work")
	s.press("\x03")
	s.sees(">", 2)
	s.leave()
}

func TestEscapeAloneEndsTheSearch(t *testing.T) {
	t.Parallel()
	s := sit(t, newEngine(t, echo), nil)
	s.press("one\r")
	s.await("you said: one\r\n")
	s.press("\x12on")
	s.sees("(search) on: one", 13)
	s.press("\x1b")
	s.sees("> one", 5)
	s.press("\x03\x04")
	s.left()
}

func (s *seat) resize(columns int) {
	s.t.Helper()
	if err := pty.Setsize(s.tty, &pty.Winsize{Rows: 24, Cols: uint16(columns)}); err != nil {
		s.t.Fatal(err)
	}
	s.width = columns
}

func TestTextIsWrappedBetweenWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"short", 10, "short"},
		{"one two three", 8, "one two\nthree"},
		{"one two\nthree four five", 10, "one two\nthree four\nfive"},
		{"日本語日本語", 5, "日本\n語日\n本語"},
		{"see 日本語", 6, "see 日\n本語"},
		{"abcdefghij k", 4, "abcd\nefgh\nij k"},
		{"  in two", 5, "  in\ntwo"},
		{"a\tb", 20, "a       b"},
		{"trailing   ", 8, "trailing"},
		{"👨‍👩‍👧👨‍👩‍👧", 3, "👨‍👩‍👧\n👨‍👩‍👧"},
		{"", 3, ""},
	} {
		if got := wrap(c.text, c.limit); got != c.want {
			t.Errorf("wrap(%q, %d) = %q, want %q", c.text, c.limit, got, c.want)
		}
	}
}

func FuzzWrap(f *testing.F) {
	f.Add("one two three", 5)
	f.Add("日本語 a\u0301", 3)
	f.Add("  a\tb\n\nc", 2)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = 2 + limit&63
		s = Printable(s)
		got := wrap(s, limit)
		for _, line := range strings.Split(got, "\n") {
			if width(line) > limit && strings.TrimSpace(line) != "" && !strings.ContainsFunc(line, func(r rune) bool { return r > 0x7f }) {
				t.Errorf("wrap(%q, %d) has the line %q", s, limit, line)
			}
		}
		bare := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if bare(got) != bare(s) {
			t.Errorf("wrap(%q, %d) = %q", s, limit, got)
		}
	})
}

// However the bytes of a key arrive, it is the same key.
func TestKeysInPiecesAreTheSameKeys(t *testing.T) {
	t.Parallel()
	const keys = "a日\x1b[A\x1b[1;5D\x1bOH\x1b[200~x\r\ny\x1b[2J\x1b[201~\x1bb\x1b[99~\xffz\x03"
	var whole decoder
	want := whole.feed([]byte(keys))
	var pieces decoder
	var got []key
	for i := range len(keys) {
		got = append(got, pieces.feed([]byte{keys[i]})...)
	}
	join := func(keys []key) (s string) {
		for _, k := range keys {
			s += k.text
			if k.name != "" {
				s += fmt.Sprintf("<%s>", k.name)
			}
		}
		return s
	}
	if join(want) != "a日<up><word-left><home>x\ny<paste><word-left>\uFFFDz<ctrl-c>" || join(got) != join(want) {
		t.Errorf("%q and %q", join(want), join(got))
	}
}

func FuzzDecoder(f *testing.F) {
	f.Add([]byte("a\x1b[A\x1b[200~x\x1b[201~"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var d decoder
		for _, k := range append(d.feed(b), d.flush()...) {
			if k.text != Printable(k.text) {
				t.Errorf("%q", k.text)
			}
		}
	})
}

func TestFitWrapsAtTheTerminalsWidth(t *testing.T) {
	t.Parallel()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer tty.Close()
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: 12}); err != nil {
		t.Fatal(err)
	}
	if got := Fit(tty, "Write to it; /help shows"); got != "Write to it;\n/help shows" {
		t.Errorf("%q", got)
	}
	long := strings.Repeat("word ", 15) + "tail tail"
	if got := Fit(nil, long); got != strings.Repeat("word ", 15)+"tail\ntail" {
		t.Errorf("%q", got)
	}
}

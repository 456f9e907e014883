package console

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// buffer can be read while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// inPipe runs Chat over input.
func inPipe(t *testing.T, e *engine, input string, change func(*Options)) (out, errs string, err error) {
	t.Helper()
	var stdout, stderr buffer
	o := Options{Session: "default", Person: "ada", In: strings.NewReader(input), Out: &stdout, Err: &stderr}
	if change != nil {
		change(&o)
	}
	err = Chat(t.Context(), e.client, o)
	return stdout.String(), stderr.String(), err
}

func TestPipeAnswersEachLineInOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply     func(string, *turn)
		in        string
		out, errs string
		failed    bool
	}{
		"empty":           {echo, "", "", "", false},
		"one by one":      {echo, "a\nb\n\n  \nc", "you said: a\nyou said: b\nyou said: c\n", "", false},
		"windows lines":   {echo, "a\r\nb\r\n", "you said: a\nyou said: b\n", "", false},
		"command":         {echo, "/help\nb\n", "command /help\nyou said: b\n", "", false},
		"unicode":         {echo, "👩‍👩‍👧 שלום\n", "you said: 👩‍👩‍👧 שלום\n", "", false},
		"plan is told":    {planned, "x\n", "There is nothing in x.\n", "goal: look\nfailed 1. run a command: ls -l: it ended with an error\nI try another way, because there is no such folder.\ngoal: look again\nok 1. ask\nok 2. write the answer\n", false},
		"failed turn":     {func(_ string, u *turn) { u.say("I could not.", false, true); u.state("failed") }, "x\n", "I could not.\n", "", false},
		"several answers": {func(_ string, u *turn) { u.say("one", false, false); u.say("wait", false, true); u.answer("two") }, "x\n", "one\ntwo\n", "wait\n", false},
		"silent turn":     {func(_ string, u *turn) { u.state("cancelled") }, "x\ny\n", "", "Cancelled.\nCancelled.\n", false},
		"fails silently":  {func(_ string, u *turn) { u.raw("turn", `{"state":"failed","outcome":"model_error"}`) }, "x\n", "", "It failed (the language model gave no answer); /why says more.\n", false},
		"invalid UTF-8":   {echo, "a\xff\nb\n", "you said: b\n", "message 1: it was not sent: it is not valid UTF-8\n", true},
		"NUL":             {echo, "a\x00\nb\n", "you said: b\n", "message 1: it was refused: the message holds a NUL byte\n", true},
		"long line":       {func(s string, u *turn) { u.answer(strings.Repeat("y", len(s)>>20)) }, strings.Repeat("x", 3<<20) + "\nb\n", "yyy\n\n", "", false},
		"too long a line": {echo, strings.Repeat("x", maxLine+5) + "\nb\n", "you said: b\n", "message 1: it was not sent: it is longer than 8 MB\n", true},
		"escape sequence": {func(_ string, u *turn) { u.answer("a\x1b[31mred\x1b]0;title\x07 &#27;[2Jb") }, "x\n", "ared b\n", "", false},
		"words of others": {func(_ string, u *turn) {
			other := &turn{e: u.e, conv: u.conv, id: 7}
			other.answer("a reminder")
			u.answer("mine")
		}, "x\n", "mine\n", "", false},
		"work of others": {func(_ string, u *turn) {
			other := &turn{e: u.e, conv: u.conv, id: 7}
			other.state("running")
			planned("y", other)
			u.answer("mine")
		}, "x\n", "mine\n", "", false},
		"answer to another's command": {func(_ string, u *turn) {
			(&turn{e: u.e, conv: u.conv}).say("not mine", false, false)
			u.answer("mine")
		}, "x\n", "mine\n", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, errs, err := inPipe(t, newEngine(t, c.reply), c.in, nil)
			if diff := cmp.Diff(c.out, out); diff != "" {
				t.Errorf("stdout: %s", diff)
			}
			if diff := cmp.Diff(c.errs, errs); diff != "" {
				t.Errorf("stderr: %s", diff)
			}
			if failed := errors.Is(err, ErrUnanswered); failed != c.failed || (err != nil && !failed) {
				t.Errorf("Chat returned %v", err)
			}
		})
	}
}

func TestPipeWritesAnObjectForEachMessage(t *testing.T) {
	t.Parallel()
	e := newEngine(t, func(text string, u *turn) {
		if text != "c" {
			echo(text, u)
			return
		}
		u.say("I begin.", false, false)
		u.say("I could not.", false, true)
		u.raw("turn", `{"state":"failed","outcome":"stalled"}`)
	})
	out, _, err := inPipe(t, e, "a\n/b\nc\n", func(o *Options) { o.JSON = true })
	if err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	for line := range strings.Lines(out) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Fatal(err)
		}
		delete(object, "at")
		got = append(got, object)
	}
	want := []map[string]any{
		{
			"id": "2", "direction": "out", "text": "**you** said: a", "author": "bot", "final": true, "notice": false,
			"event": 3.0, "turn_id": "101", "state": "done", "outcome": "answered",
		},
		{
			"id": "4", "direction": "out", "text": "command /b", "author": "bot", "final": false, "notice": false,
			"event": 6.0, "turn_id": nil,
		},
		{
			"id": "6", "direction": "out", "text": "I begin.", "author": "bot", "final": false, "notice": false,
			"event": 9.0, "turn_id": "105",
		},
		{
			"id": "7", "direction": "out", "text": "I could not.", "author": "bot", "final": false, "notice": true,
			"event": 10.0, "turn_id": "105", "state": "failed", "outcome": "stalled",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPipeOfAStrangerIsNotAnswered(t *testing.T) {
	t.Parallel()
	_, errs, err := inPipe(t, newEngine(t, echo), "a\n", func(o *Options) { o.Person = "stranger" })
	if !errors.Is(err, ErrUnanswered) || !strings.Contains(errs, "nobody will answer") {
		t.Errorf("%v, %q", err, errs)
	}
}

func TestPipeRefusesABadSessionName(t *testing.T) {
	t.Parallel()
	_, _, err := inPipe(t, newEngine(t, echo), "a\n", func(o *Options) { o.Session = "a/b" })
	if err == nil || errors.Is(err, ErrUnanswered) {
		t.Errorf("Chat returned %v", err)
	}
}

func TestPipeLingersForWhatComesLater(t *testing.T) {
	t.Parallel()
	var later sync.WaitGroup
	e := newEngine(t, func(text string, u *turn) {
		u.answer("yes")
		later.Go(func() {
			time.Sleep(30 * time.Millisecond)
			(&turn{e: u.e, conv: u.conv, id: 9}).say("a reminder", true, false)
		})
	})
	defer later.Wait()
	out, _, err := inPipe(t, e, "a\n", func(o *Options) { o.Linger = 3 * time.Second })
	if err != nil || out != "yes\na reminder\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// refusing writes nothing of a reminder.
type refusing struct{ buffer }

func (r *refusing) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "reminder") {
		return 0, io.ErrClosedPipe
	}
	return r.buffer.Write(p)
}

// What could not be written comes the next time.
func TestPipeThatCannotWriteCountsItAsNotShown(t *testing.T) {
	t.Parallel()
	e := newEngine(t, func(_ string, u *turn) {
		(&turn{e: u.e, conv: u.conv, id: 9}).say("a reminder", true, false)
		u.answer("yes")
	})
	_, seen := seenFile(t)
	_, _, err := inPipe(t, e, "a\n", func(o *Options) {
		seen(o)
		o.Linger, o.Out = time.Millisecond, &refusing{}
	})
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the error is %v", err)
	}
	out, _, err := inPipe(t, e, "", func(o *Options) {
		seen(o)
		o.Linger = time.Millisecond
	})
	if err != nil || out != "a reminder\nyes\n" && out != "yes\na reminder\n" {
		t.Errorf("then comes %q, %v", out, err)
	}
}

// What was said before the process listened, and before the last answer, comes too, once.
func TestPipeThatLingersMissesNothing(t *testing.T) {
	t.Parallel()
	var reminder *turn
	e := newEngine(t, func(_ string, u *turn) {
		reminder = &turn{e: u.e, conv: u.conv, id: 9}
		reminder.say("a reminder meanwhile", true, false)
		u.answer("yes")
	})
	_, seen := seenFile(t)
	linger := func(o *Options) {
		seen(o)
		o.Linger = 10 * time.Millisecond
	}
	for _, want := range []string{"yes\na reminder meanwhile\n", "yes\na reminder of before\na reminder meanwhile\n"} {
		out, _, err := inPipe(t, e, "a\n", linger)
		if err != nil || out != want {
			t.Errorf("%q, %v, want %q", out, err, want)
		}
		reminder.say("a reminder of before", true, false)
	}
}

// What was said before Chat began is not repeated.
func TestPipeRepeatsNothingFromBefore(t *testing.T) {
	t.Parallel()
	e := newEngine(t, echo)
	for _, want := range []string{"you said: a\n", "you said: b\n"} {
		out, _, err := inPipe(t, e, strings.TrimPrefix(strings.TrimSpace(want), "you said: "), nil)
		if err != nil || out != want {
			t.Errorf("%q, %v", out, err)
		}
	}
}

// A message is taken once, however often the engine fails to store it.
func TestPipeTriesAgainWhatCouldNotBeStored(t *testing.T) {
	t.Parallel()
	e := newEngine(t, echo)
	e.broken = 3
	out, _, err := inPipe(t, e, "a\n", nil)
	if err != nil || out != "you said: a\n" {
		t.Errorf("%q, %v", out, err)
	}
	if diff := cmp.Diff([]string{"a"}, e.said()); diff != "" {
		t.Error(diff)
	}
}

func TestLinesAreReadWholeAndBadOnesRefused(t *testing.T) {
	t.Parallel()
	in := bufio.NewReaderSize(strings.NewReader("a\n\nb\xff\n"+strings.Repeat("x", 70_000)+"\nlast"), 16)
	var got []int
	for {
		l, err := readLine(in)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		n := len(l.text)
		if l.refused != nil {
			n = -1
		}
		got = append(got, n)
	}
	if diff := cmp.Diff([]int{1, 0, -1, 70_000, 4}, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzPrintable(f *testing.F) {
	for _, s := range []string{"a\x1b[31mb", "\x1b]0;t\x07x", "\x1b]0;unended", "\u009b2J", "\x1b", "a\r\nb\tc", "\x1bPq\x1b\\z", "\x1b\x1b[m"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Printable(s)
		for _, r := range got {
			if r != '\n' && r != '\t' && (r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069) {
				t.Errorf("Printable(%q) = %q", s, got)
			}
		}
		if again := Printable(got); again != got {
			t.Errorf("Printable(%q) = %q, then %q", s, got, again)
		}
	})
}

func TestControlSequencesAreTakenOut(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain\ttext\n":                "plain\ttext\n",
		"a\x1b[1;31mb\x1b[0mc":         "abc",
		"\x1b]0;owned\x07x":            "x",
		"\x1b]8;;http://x\x1b\\l":      "l",
		"\x1b]52;no end\nsecond line":  "52;no end\nsecond line",
		"a\rb\x08\x7f":                 "ab",
		"\u009b31mred":                 "red",
		"\x1bcreset":                   "reset",
		"👩‍👩‍👧 שלום":                   "👩‍👩‍👧 שלום",
		"a\u202eb\u202cc\u2066d\u2069": "abcd",
		"mark\u200f":                   "mark\u200f",
		"\xc4\x1b\xb10":                "\uFFFD\uFFFD0",
	} {
		if got := Printable(in); got != want {
			t.Errorf("Printable(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestChatEndsWithItsContext(t *testing.T) {
	t.Parallel()
	e := newEngine(t, func(string, *turn) {}) // never answers
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	o := Options{Session: "s", Person: "ada", In: strings.NewReader("a\n"), Out: io.Discard, Err: io.Discard}
	if err := Chat(ctx, e.client, o); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Chat returned %v", err)
	}
}

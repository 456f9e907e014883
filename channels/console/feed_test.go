package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"switchboard/channels"
	"switchboard/internal/api"
)

// grow shows text as the router does.
func (u *turn) grow(text string) { u.e.channel.Stream(u.conv, u.id, text) }

// ends answers as the router does: the message, then the end of what grew.
func (u *turn) ends(text string) {
	u.say(text, true, false)
	u.grow("")
	u.raw("turn", `{"state":"done","outcome":"answered"}`)
}

// unheard says text, and wakes nobody.
func (u *turn) unheard(text string) {
	u.e.mu.Lock()
	defer u.e.mu.Unlock()
	session := "console:" + string(u.conv)
	u.e.events[session] = append(u.e.events[session], channels.SessionEvent{
		N: int64(len(u.e.events[session]) + 1), Kind: "message", TurnID: u.id,
		Message: &channels.SessionMessage{Direction: "out", Text: text, Final: true},
	})
}

// shows waits until the screen is what ok wants.
func (s *seat) shows(what string, ok func(lines []string) bool) {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		lines, _ := picture(s.screen.String(), s.width)
		if ok(lines) {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the screen never shows %s:\n%s", what, strings.Join(lines, "\n"))
		}
	}
}

// standing waits until the screen is these lines, whole.
func (s *seat) standing(want ...string) {
	s.t.Helper()
	s.shows(fmt.Sprintf("%q", want), func(lines []string) bool { return slices.Equal(lines, want) })
}

func TestTerminalShowsAnAnswerGrow(t *testing.T) {
	t.Parallel()
	next := make(chan string)
	defer close(next) // lets the turn go if the test fails
	s := sit(t, newEngine(t, func(_ string, u *turn) {
		for text := range next {
			if text == "." {
				break
			}
			u.grow(text)
		}
		u.ends("Title\n\nalpha **beta** gamma\n\ndelta")
	}), nil)
	s.press("go\r")
	next <- "Ti"
	s.standing("> go", "Ti", ">")
	next <- "Title\n\nalpha **be"
	s.standing("> go", "Title", "", "alpha **be", ">")
	s.press("half a ")
	next <- "Title\n\nalpha **beta** gamma\n\nde"
	s.standing("> go", "Title", "", "alpha beta gamma", "", "de", "> half a")
	next <- "."
	s.standing("> go", "Title", "", "alpha beta gamma", "", "delta", "> half a")
	if n := strings.Count(s.screen.String(), "gamma"); n != 1 {
		t.Errorf("a row that stood there was drawn %d times:\n%q", n, s.screen.String())
	}
	s.press("line")
	s.standing("> go", "Title", "", "alpha beta gamma", "", "delta", "> half a line")
	s.press("\x15\x04")
	s.left()
}

func TestTextThatIsTakenBackIsGone(t *testing.T) {
	t.Parallel()
	step := make(chan struct{})
	defer close(step) // lets the turn go if the test fails
	s := sit(t, newEngine(t, func(_ string, u *turn) {
		u.grow("one two three")
		<-step
		u.grow("")
		<-step
		u.grow("one too")
		<-step
		u.ends("one too many")
	}), nil)
	s.press("go\r")
	s.standing("> go", "one two three", ">")
	step <- struct{}{}
	s.standing("> go", ">")
	step <- struct{}{}
	s.standing("> go", "one too", ">")
	step <- struct{}{}
	s.standing("> go", "one too many", ">")
	s.leave()
}

// What was read of an answer stays when it is cut off, and says so.
func TestTextThatIsCutOffStays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(*turn)
		want []string
	}{
		"by a notice": {func(u *turn) { u.say("Cancelled.", false, true); u.grow(""); u.state("cancelled") }, []string{"Cancelled."}},
		"by the end":  {func(u *turn) { u.state("cancelled"); u.grow("") }, []string{"Cancelled."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			step := make(chan struct{})
			defer close(step) // lets the turn go if the test fails
			s := sit(t, newEngine(t, func(_ string, u *turn) {
				u.grow("one **two** three")
				<-step
				c.end(u)
			}), nil)
			s.press("go\r")
			s.standing("> go", "one two three", ">")
			step <- struct{}{}
			want := append([]string{"> go", "one two three", "(cut off)"}, c.want...)
			s.standing(append(want, ">")...)
			s.leave()
		})
	}
}

// What is sent while a text grows stands above it, and the text below both.
func TestLineSentWhileATextGrowsStandsAboveIt(t *testing.T) {
	t.Parallel()
	step := make(chan struct{})
	defer close(step) // lets the turn go if the test fails
	s := sit(t, newEngine(t, func(text string, u *turn) {
		if text != "go" {
			return
		}
		u.grow("one")
		<-step
		u.grow("one two")
		<-step
		u.ends("one two three")
	}), nil)
	s.press("go\r")
	s.standing("> go", "one", ">")
	s.press("and more\r")
	s.standing("> go", "> and more", "one", ">")
	step <- struct{}{}
	s.standing("> go", "> and more", "one two", ">")
	step <- struct{}{}
	s.standing("> go", "> and more", "one two three", ">")
	s.press("\x03")
	s.await("cancelling") // "and more" still runs
	s.press("\x03")
	s.left()
}

// On any window, with characters of any width, the text grows as it will stand there,
// and the message takes its place without a trace.
func TestTextGrowsOnAnyWindow(t *testing.T) {
	t.Parallel()
	const text = "日本語のテキスト and **words** 👨‍👩‍👧 é\n\n- item with more words\n- 2\n\n```\nlong long code line\n```\nend"
	for _, columns := range []int{7, 10, 23, 60} {
		t.Run(fmt.Sprintf("%d columns", columns), func(t *testing.T) {
			t.Parallel()
			steps := make(chan string)
			end := sync.OnceFunc(func() { close(steps) })
			defer end() // lets the turn go if the test fails
			s := sit(t, newEngine(t, func(_ string, u *turn) {
				for part := range steps {
					u.grow(part)
				}
				u.ends(text)
			}), nil)
			s.resize(columns)
			s.press("go\r")
			s.standing("> go", ">")
			at := func(text string) []string {
				rows := []string{"> go"}
				for row := range strings.SplitSeq(wrap(strings.TrimRight(show(text), " \n"), columns), "\n") {
					rows = append(rows, strings.TrimRight(row, " "))
				}
				return append(rows, ">")
			}
			for i := range text {
				if i%9 == 4 {
					steps <- text[:i]
					s.standing(at(text[:i])...)
				}
			}
			end()
			s.standing(at(text)...)
			s.leave()
		})
	}
}

// Of a text higher than the window its end is seen, and all of the message.
func TestTextHigherThanTheWindowShowsItsEnd(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 30 {
		lines = append(lines, fmt.Sprintf("line %d", i))
	}
	text := strings.Join(lines, "\n\n")
	step := make(chan struct{})
	defer close(step) // lets the turn go if the test fails
	s := sit(t, newEngine(t, func(_ string, u *turn) {
		u.grow(text[:strings.Index(text, "line 20")+3])
		<-step
		u.ends(text)
	}), nil)
	if err := pty.Setsize(s.tty, &pty.Winsize{Rows: 8, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	s.width = 80
	s.press("go\r")
	s.standing("> go", "…", "line 18", "", "line 19", "", "lin", ">")
	step <- struct{}{}
	s.shows("all", func(shown []string) bool {
		return len(shown) == 61 && shown[1] == "line 0" && shown[59] == "line 29" && shown[60] == ">" && !slices.Contains(shown, "…")
	})
	s.leave()
}

// Who comes while a text grows sees all of it, and so does who comes back.
func TestTextIsWholeForWhoConnects(t *testing.T) {
	t.Parallel()
	step := make(chan struct{})
	defer close(step) // lets the turn go if the test fails
	e := newEngine(t, func(_ string, u *turn) {
		u.grow("one")
		<-step
		<-step
		u.grow("one two")
		<-step
		u.ends("one two three")
	})
	first := sit(t, e, nil)
	first.press("go\r")
	first.standing("> go", "one", ">")
	second := sit(t, e, nil)
	second.shows("the text", func(lines []string) bool { return slices.Contains(lines, "one") })
	step <- struct{}{}
	e.restart(t)
	first.await("connected again")
	step <- struct{}{}
	for _, s := range []*seat{first, second} {
		s.shows("more of it", func(lines []string) bool { return slices.Contains(lines, "one two") && !slices.Contains(lines, "one") })
	}
	step <- struct{}{}
	for _, s := range []*seat{first, second} {
		s.shows("the message", func(lines []string) bool {
			return slices.Contains(lines, "one two three") && !slices.Contains(lines, "one two")
		})
		s.leave()
	}
}

func TestNothingOfATextReachesAPipe(t *testing.T) {
	t.Parallel()
	e := newEngine(t, func(_ string, u *turn) {
		u.grow("never to be seen")
		time.Sleep(3 * api.DeltaEvery)
		u.ends("answer")
	})
	var out, errs buffer
	if err := Chat(t.Context(), e.client, Options{Session: "default", Person: "ada", In: strings.NewReader("go\n"), Out: &out, Err: &errs}); err != nil {
		t.Fatal(err)
	}
	if out.String() != "answer\n" || strings.Contains(errs.String(), "never") {
		t.Errorf("out %q, err %q", out.String(), errs.String())
	}
}

// A client is told of a message before the end of the text that it takes the place of,
// whenever it is told; then of nothing more.
func TestMessageTakesTheTextsPlace(t *testing.T) {
	t.Parallel()
	e := newEngine(t, echo)
	const conv = channels.ConversationID("ada/default")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	query := url.Values{"user": {"ada"}, "after": {"0"}}
	response, err := e.client.Open(ctx, api.Call{Method: http.MethodGet, Path: api.EventsPath("default", query)})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	const rounds = 40
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := range rounds {
			u := &turn{e: e, conv: conv, id: int64(1 + i)}
			u.grow("some")
			time.Sleep(time.Duration(i) * 2 * time.Millisecond)
			u.grow("some text")
			switch i % 4 {
			case 1: // the end of the text is late
				u.say("some text", true, false)
				time.Sleep(api.DeltaEvery + 20*time.Millisecond)
			case 2: // nobody told of the message, as of another engine's
				u.unheard("some text")
			default:
				u.say("some text", true, false)
			}
			u.grow("")
			if i%4 == 2 {
				time.Sleep(api.DeltaEvery + 20*time.Millisecond)
				e.channel.Wake(conv)
			}
		}
	})
	text, said := channels.Growing{}, 0
	err = channels.ReadEvents(response.Body, func(event channels.SessionEvent) bool {
		switch {
		case event.Kind != channels.KindDelta:
			said++
			if text.Turn == event.TurnID && text.Text != "some" && text.Text != "some text" {
				t.Errorf("turn %d: %q stands there when its message comes", event.TurnID, text.Text)
			}
			text.Ended(event)
		case event.N != 0:
			t.Errorf("a delta has the number %d", event.N)
		default:
			if text.Add(event); text.Text == "" || event.TurnID <= int64(said) {
				t.Errorf("after %d messages turn %d shows %q", said, event.TurnID, text.Text)
			}
		}
		return said < rounds
	})
	writing.Wait()
	if said < rounds {
		t.Errorf("%d messages, error %v", said, err)
	}
}

// A message that is committed while events are read, with the end of its text, is the last that is seen of that text.
func TestMessageOfWhileEventsAreReadTakesTheTextsPlace(t *testing.T) {
	t.Parallel()
	e := newEngine(t, echo)
	const conv = channels.ConversationID("ada/default")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	response, err := e.client.Open(ctx, api.Call{Method: http.MethodGet, Path: api.EventsPath("default", url.Values{"user": {"ada"}, "after": {"0"}})})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	u, next := &turn{e: e, conv: conv, id: 1}, &turn{e: e, conv: conv, id: 2}
	u.grow("some")
	var heard []string
	text := func(event channels.SessionEvent) string {
		var grown channels.Growing
		if event.Message != nil {
			return event.Message.Text
		}
		grown.Add(event)
		return grown.Text
	}
	err = channels.ReadEvents(response.Body, func(event channels.SessionEvent) bool {
		heard = append(heard, event.Kind+" "+text(event))
		switch len(heard) {
		case 1:
			time.Sleep(api.DeltaEvery + 20*time.Millisecond) // it could be sent at once
			e.mu.Lock()
			e.reading = func() {
				u.unheard("some text")
				u.grow("")
			}
			e.mu.Unlock()
			u.raw("task", `{}`)
		case 3:
			next.grow("other")
		}
		return len(heard) < 4
	})
	if want := []string{"delta some", "task ", "message some text", "delta other"}; err != nil || !slices.Equal(heard, want) {
		t.Errorf("heard %v, want %v, error %v", heard, want, err)
	}
}

// As long as what was cancelled has not ended a second Ctrl-C leaves, however late.
func TestSecondInterruptLeaves(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	defer close(stop)
	s := sit(t, newEngine(t, func(text string, _ *turn) {
		if text != "/cancel" {
			<-stop
		}
	}), nil)
	s.press("long\r")
	time.Sleep(100 * time.Millisecond) // the turn's start has to be seen first
	s.press("\x03")
	s.await("cancelling")
	time.Sleep(armedFor + 100*time.Millisecond)
	s.press("\x03")
	s.left()
}

package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"switchboard/channels"
	"switchboard/channels/render"
)

const (
	// armedFor is how soon a second Ctrl-C leaves.
	armedFor = 2 * time.Second
	// keyWait is how long an ESC may be the beginning of a longer key.
	keyWait = 50 * time.Millisecond
)

const keysHelp = "In this terminal: Ctrl-C clears the line, or cancels what runs; Ctrl-D, /quit and /exit leave; " +
	"Tab completes commands, Ctrl-R searches what you wrote, Alt-Enter begins a new line."

// terminal talks to a person who edits lines, while answers and progress appear
// above the line being written. One goroutine does all but reading and sending.
type terminal struct {
	client   *client
	o        Options
	progress *progress
	live     channels.Growing // the answer that is being written
	seen     *seen
	missed   *missed
	color    bool
	screen   *screen
	editor   *editor
	decoder  decoder

	running  map[int64]bool   // turns that wait or run
	last     int64            // the number of the newest event that came
	sending  int              // messages that no engine has taken yet
	stuck    bool             // the person was told so
	tardy    <-chan time.Time // set: then the person is
	outbox   chan string
	sent     chan posted
	armed    <-chan time.Time // set: Ctrl-C was pressed, and the next one leaves
	stopping bool             // what runs was cancelled, and has not ended
	helped   bool             // help was asked for
	unseen   bool             // that the file of what was seen cannot be written was told
	splitKey <-chan time.Time // ends the wait for the rest of a key

	tty      *tty
	away     bool             // the terminal is another job's
	held     string           // what stands above the prompt when we are back
	checking <-chan time.Time // set while away
}

func newTerminal(c *client, o Options, seen *seen) *terminal {
	color, marks := !o.NoColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb", plain
	if color {
		marks = signs
	}
	return &terminal{
		client: c, o: o, progress: newProgress(marks), seen: seen, missed: newMissed(seen.n), color: color,
		running: map[int64]bool{}, outbox: make(chan string, sendMost), sent: make(chan posted),
		screen: &screen{out: o.Out, width: usualWidth, height: usualHeight},
	}
}

// catchUp reads what was said up to event number last, and learns which turns run.
func (t *terminal) catchUp(ctx context.Context, last int64) error {
	return t.client.between(ctx, max(0, t.seen.n-lookBack), last, func(e channels.SessionEvent) bool {
		t.missed.add(e)
		t.track(e)
		t.progress.settled(e) // it learns the plans
		return true
	})
}

// run talks until the person leaves.
func (t *terminal) run(ctx context.Context, events <-chan channels.SessionEvent, lost <-chan error) error {
	keyboard, err := openTTY(t.o.In)
	if err != nil {
		return err
	}
	t.tty = keyboard
	defer t.end()
	past, err := openHistory(t.o.HistoryFile)
	defer past.close()
	t.editor = &editor{past: past, recalled: len(past.lines), commands: append([]string{"/exit", "/quit"}, t.o.Commands...)}
	news := t.begin(ctx, err)

	var working sync.WaitGroup
	defer working.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	working.Go(func() { t.post(ctx) })
	resized := make(chan os.Signal, 1)
	defer signal.Stop(resized)
	continued := make(chan os.Signal, 1)
	watch(resized, continued)
	defer signal.Stop(continued)
	inputs := make(chan typed)
	reading := func() { read(ctx, t.o.In, inputs) }
	if canStop(t.o.In) {
		working.Go(reading)
	} else {
		go reading() // stays until its input ends
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-lost:
			return err
		case text := <-news:
			t.note(text)
		case text := <-t.o.Notes:
			t.note(text)
		case <-resized:
			t.draw("")
		case <-continued:
			t.checkForeground()
		case <-t.checking:
			t.checkForeground()
		case <-t.armed:
			t.armed = nil
		case in := <-inputs:
			if in.err != nil {
				t.leave()
				if errors.Is(in.err, io.EOF) {
					return nil
				}
				return fmt.Errorf("read the terminal: %w", in.err)
			}
			if t.typed(t.decoder.feed(in.keys)) {
				t.leave()
				return nil
			}
		case <-t.splitKey:
			t.typed(t.decoder.flush())
		case p := <-t.sent:
			t.posted(p)
		case <-t.tardy:
			t.delayed()
		case e := <-events:
			t.event(e)
			if text := decision(e, t.o.Yolo); t.o.Yolo && text != "" {
				working.Go(func() { _, _ = t.client.post(ctx, text) }) // the question says so where it stays open
			}
		}
	}
}

// begin draws the first screen, with what was missed, and returns what is told of the
// connection from now on.
func (t *terminal) begin(ctx context.Context, trouble error) <-chan string {
	news := make(chan string, 16)
	t.client.connection.notify(func(text string) { give(ctx, news, text) })
	_, _ = io.WriteString(t.o.Out, pasteOn)
	t.resize()
	maps.DeleteFunc(t.missed.questions, func(turn int64, _ string) bool { return !t.running[turn] })
	for _, l := range slices.Concat(
		t.missed.lines(t.rendered),
		t.missed.still("still to be decided:", t.missed.undecided, t.rendered),
		t.missed.still("still at work on:", t.missed.questions, asked),
	) {
		t.print(l)
	}
	if trouble != nil {
		t.note(trouble.Error())
	}
	t.shown()
	t.draw("")
	return news
}

// Whether pastes are marked.
const pasteOn, pasteOff = "\x1b[?2004h", "\x1b[?2004l"

// end leaves the terminal as it was; to another job's it does nothing.
func (t *terminal) end() {
	if t.away || !InForeground(t.o.In) {
		return
	}
	defer t.tty.restore()
	if t.editor.empty() {
		t.screen.draw("", scene{})
	} else {
		t.screen.draw("", t.editor.scene())
		t.screen.finish()
	}
	_, _ = io.WriteString(t.o.Out, pasteOff)
}

// checkForeground learns whether the terminal is ours. While it is another job's nothing is
// written on it and nothing read; what is to be said waits until we are back.
func (t *terminal) checkForeground() {
	if !InForeground(t.o.In) {
		t.away, t.checking = true, time.After(checkEvery)
		return
	}
	held := t.held
	t.away, t.checking, t.held = false, nil, ""
	if t.tty.before != nil { // a shell had it
		_, _ = term.MakeRaw(t.tty.fd) // it worked before
	}
	t.screen.reset(inPlace)
	_, _ = io.WriteString(t.o.Out, pasteOn)
	t.draw(held)
	t.shown()
}

// typed does what the keys say, and tells whether to leave.
func (t *terminal) typed(keys []key) (leave bool) {
	for _, k := range keys {
		if k.name != "ctrl-c" {
			t.armed = nil
		}
		if t.key(k) {
			return true
		}
	}
	t.splitKey = nil
	if t.decoder.waiting() {
		t.splitKey = time.After(keyWait)
	}
	t.draw("")
	return false
}

func (t *terminal) key(k key) (leave bool) {
	switch k.name {
	case "ctrl-c":
		return t.interrupted()
	case "ctrl-d":
		if t.editor.empty() {
			return true
		}
		t.editor.press(k)
	case "enter":
		return t.enter()
	case "tab":
		if choices := t.editor.complete(); choices != nil {
			t.note(strings.Join(choices, "  "))
		}
	case "ctrl-l":
		t.screen.reset(emptied)
	default:
		t.editor.press(k)
	}
	return false
}

// enter sends what is written.
func (t *terminal) enter() (leave bool) {
	t.editor.found()
	written := t.editor.scene()
	text := t.editor.submit()
	if strings.TrimSpace(text) == "" {
		return false
	}
	rows, _ := layout(written.before, written.text, 0, t.screen.width)
	t.draw(strings.Join(rows, "\n") + "\n")
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "/quit", "/exit":
		return true
	case "/help":
		t.helped = true
	}
	t.stopping = false
	t.send(text)
	return false
}

// interrupted handles Ctrl-C: it clears what is written; where nothing is, it
// cancels what runs, and a second one leaves: at once, or as long as what was
// cancelled has not ended.
func (t *terminal) interrupted() (leave bool) {
	switch {
	case !t.editor.empty():
		t.editor.clear()
		t.armed = nil
		return false
	case t.armed != nil, t.stopping:
		return true
	}
	t.armed = time.After(armedFor)
	if len(t.running) > 0 || t.sending > 0 {
		t.stopping = true
		t.note("cancelling; Ctrl-C again leaves")
		t.send("/cancel")
	} else {
		t.note("Ctrl-C again or Ctrl-D leaves; so does /quit")
	}
	return false
}

func (t *terminal) event(e channels.SessionEvent) {
	if e.Kind == channels.KindDelta {
		t.live.Add(e)
		t.draw("")
		return
	}
	cut := t.live.Cut(e)
	t.live.Ended(e)
	t.track(e)
	list, end := t.progress.settled(e)
	t.note(list...)
	if cut != "" {
		t.print(t.rendered(cut))
		t.note("(cut off)")
	}
	t.note(end...)
	if e.Says() {
		t.print(t.rendered(e.Message.Text))
		if t.helped && e.TurnID == 0 {
			t.helped = false
			t.print(keysHelp)
		}
	}
	t.draw("")
	t.shown()
}

// track learns from an event which turns run.
func (t *terminal) track(e channels.SessionEvent) {
	t.last = max(t.last, e.N)
	if e.Kind != "turn" || e.TurnID == 0 {
		return
	}
	if state := readData(e).State; over(state) || state == "waiting" {
		delete(t.running, e.TurnID)
		t.stopping = false
	} else {
		t.running[e.TurnID] = true
	}
}

// shown notes that all that came is on the screen. A window may be closed at any
// time, so it is written down at once.
func (t *terminal) shown() {
	if t.away {
		return
	}
	t.seen.advance(t.last)
	t.save()
}

func (t *terminal) save() {
	if err := t.seen.save(); err != nil && !t.unseen {
		t.unseen = true
		t.note(err.Error())
	}
}

// print writes text above the prompt.
func (t *terminal) print(text string) { t.draw(wrap(text, t.screen.width) + "\n") }

// rendered is Markdown as this terminal can show it.
func (t *terminal) rendered(markdown string) string {
	if t.color {
		return strings.Join(formatted(markdown, t.screen.width), "\n")
	}
	return strings.TrimRight(Printable(render.Parse(markdown).Fit(t.screen.width)), " \n")
}

// note writes progress, dimmed.
func (t *terminal) note(lines ...string) {
	if len(lines) > 0 {
		t.draw(strings.Join(t.dimmed(strings.Join(lines, "\n")), "\n") + "\n")
	}
}

// dimmed is text on rows that say that it is no answer.
func (t *terminal) dimmed(text string) []string {
	rows := strings.Split(wrap(Printable(text), t.screen.width), "\n")
	if t.color {
		for i, row := range rows {
			rows[i] = dim + row + bright
		}
	}
	return rows
}

// draw shows above, and below it what goes on and the line being written.
func (t *terminal) draw(above string) {
	if t.away {
		t.held += above
		return
	}
	t.resize()
	now := t.editor.scene()
	now.live = t.goingOn()
	t.screen.draw(above, now)
}

// goingOn is what is still to be done, and what there is of the answer.
func (t *terminal) goingOn() (rows []string) {
	for _, step := range t.progress.ahead() {
		rows = append(rows, t.dimmed(step)...)
	}
	if t.live.Text != "" {
		rows = append(rows, strings.Split(wrap(t.rendered(t.live.Text), t.screen.width), "\n")...)
	}
	return rows
}

// resize follows the window.
func (t *terminal) resize() {
	if width, height, err := term.GetSize(descriptor(t.o.Out)); err == nil && width > 0 && height > 0 {
		t.screen.width, t.screen.height = width, height
	}
}

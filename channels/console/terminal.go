package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"switchboard/channels"
)

const prompt = "> "

// terminal talks to a person who edits lines, while answers and progress appear
// above the line being written.
type terminal struct {
	client   *client
	o        Options
	progress *progress
	color    bool
	screen   *term.Terminal
	keys     *keys
	running  map[int64]bool // turns that have begun or wait
	armed    bool           // Ctrl-C was pressed; the next one leaves
}

func newTerminal(c *client, o Options) *terminal {
	return &terminal{
		client: c, o: o, progress: newProgress(), running: map[int64]bool{},
		color: !o.NoColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
	}
}

// typed is what the person did: a text to send, or leaving.
type typed struct {
	text string
	err  error // io.EOF: they left
}

// run talks until the person leaves.
func (t *terminal) run(ctx context.Context, events <-chan channels.SessionEvent, lost <-chan error) error {
	restore, err := makeRaw(t.o.In)
	if err != nil {
		return err
	}
	defer restore()
	defer func() { _, _ = io.WriteString(t.o.Out, "\r\n") }() // leave the prompt's line
	past, err := openHistory(t.o.HistoryFile)
	defer past.close()
	t.keys = &keys{in: t.o.In, interrupt: make(chan struct{}, 2)}
	t.screen = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{t.keys, t.o.Out}, prompt)
	t.screen.History = past
	t.screen.SetBracketedPasteMode(true)
	defer t.screen.SetBracketedPasteMode(false)
	if err != nil {
		t.note(err.Error())
	}
	inputs := make(chan typed)
	go t.edit(ctx, inputs)
	for {
		t.resize()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-lost:
			return err
		case <-t.keys.interrupt:
			if t.interrupted(ctx) {
				return nil
			}
		case in := <-inputs:
			if in.err != nil {
				return left(in.err)
			}
			t.armed = false
			t.send(ctx, in.text)
		case e := <-events:
			t.event(e)
		}
	}
}

func left(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("read the terminal: %w", err)
}

// edit reads what the person writes. Lines pasted together are one message, sent
// by the key that ends the last of them.
func (t *terminal) edit(ctx context.Context, inputs chan<- typed) {
	var pasted []string
	for {
		text, err := t.screen.ReadLine()
		if errors.Is(err, term.ErrPasteIndicator) {
			pasted = append(pasted, text)
			continue
		}
		text = strings.Join(append(pasted, text), "\n")
		pasted = nil
		if err == nil && strings.TrimSpace(text) == "" {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case inputs <- typed{text, err}:
		}
		if err != nil {
			return
		}
	}
}

// interrupted handles Ctrl-C and says whether to leave: the first one cancels what
// runs, a second one leaves.
func (t *terminal) interrupted(ctx context.Context) (leave bool) {
	if t.armed {
		return true
	}
	t.armed = true
	if len(t.running) == 0 {
		t.note("Ctrl-C again or Ctrl-D leaves")
		return false
	}
	t.note("cancelling; Ctrl-C again leaves")
	t.send(ctx, "/cancel")
	return false
}

func (t *terminal) send(ctx context.Context, text string) {
	got, err := t.client.post(ctx, strings.ToValidUTF8(text, "\uFFFD"))
	switch {
	case err != nil:
		t.note("not sent: " + sanitize(err.Error()))
	case got.Rejected != "":
		t.note("refused: " + sanitize(got.Rejected))
	case got.Event == 0:
		t.note(fmt.Sprintf("nobody will answer: %q is not among the people who are let in", t.client.person))
	}
}

func (t *terminal) event(e channels.SessionEvent) {
	if e.Kind == "turn" && e.TurnID != 0 {
		if t.running[e.TurnID] = !over(readData(e).State); !t.running[e.TurnID] {
			delete(t.running, e.TurnID)
			t.armed = false
		}
	}
	for _, l := range t.progress.lines(e) {
		t.note(l)
	}
	if m := e.Message; m != nil && m.Direction == "out" {
		t.print(show(m.Text))
	}
}

// print writes text above the prompt.
func (t *terminal) print(text string) { _, _ = io.WriteString(t.screen, text+"\n") }

// note writes progress, dimmed.
func (t *terminal) note(text string) {
	if t.color {
		text = "\x1b[2m" + text + "\x1b[0m"
	}
	t.print(text)
}

// resize follows the window's width.
func (t *terminal) resize() {
	if out, ok := t.o.Out.(interface{ Fd() uintptr }); ok {
		if width, height, err := term.GetSize(int(out.Fd())); err == nil && width > 0 {
			_ = t.screen.SetSize(width, height)
		}
	}
}

// makeRaw lets us read single keys, until restore is called. An input that is no
// device is taken as it is.
func makeRaw(in io.Reader) (restore func(), err error) {
	device, ok := in.(interface{ Fd() uintptr })
	if !ok || !term.IsTerminal(int(device.Fd())) {
		return func() {}, nil
	}
	fd := int(device.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return nil, fmt.Errorf("prepare the terminal: %w", err)
	}
	return func() { _ = term.Restore(fd, before) }, nil
}

// Keys as a raw terminal sends them.
const (
	keyInterrupt  = 0x03 // Ctrl-C
	keyLineEnd    = 0x05 // Ctrl-E
	keyEraseLine  = 0x15 // Ctrl-U
	interruptKeys = string(rune(keyLineEnd)) + string(rune(keyEraseLine))
)

// keys passes on what is typed. For Ctrl-C, which the line editor would take for
// the end, it signals interrupt and clears the line.
type keys struct {
	in        io.Reader
	interrupt chan struct{}
	rest      []byte
}

// Read implements io.Reader.
func (k *keys) Read(p []byte) (int, error) {
	if len(k.rest) == 0 {
		typed := make([]byte, len(p))
		n, err := k.in.Read(typed)
		for _, b := range typed[:n] {
			if b != keyInterrupt {
				k.rest = append(k.rest, b)
				continue
			}
			k.rest = append(k.rest, interruptKeys...)
			select {
			case k.interrupt <- struct{}{}:
			default: // two are pending, which is all that counts
			}
		}
		if err != nil && n == 0 {
			return 0, err
		}
	}
	n := copy(p, k.rest)
	k.rest = k.rest[n:]
	return n, nil
}

package console

import (
	"fmt"
	"io"
	"time"

	"golang.org/x/term"
)

// lookEvery is how often a job in the background looks whether it is still there.
const lookEvery = 200 * time.Millisecond

// A tty is a terminal that single keys are read from, or, with fd -1, an input that is
// none and taken as it is.
type tty struct {
	fd     int
	before *term.State // how it was found
}

// openTTY makes in give single keys, until restore is called.
func openTTY(in io.Reader) (*tty, error) {
	device, ok := in.(interface{ Fd() uintptr })
	if !ok || !term.IsTerminal(int(device.Fd())) {
		return &tty{fd: -1}, nil
	}
	k := &tty{fd: int(device.Fd())}
	var err error
	if k.before, err = term.MakeRaw(k.fd); err != nil {
		return nil, fmt.Errorf("prepare the terminal: %w", err)
	}
	return k, nil
}

// raw makes it give single keys again, after a shell had it.
func (k *tty) raw() {
	if k.fd >= 0 {
		_, _ = term.MakeRaw(k.fd) // it worked before
	}
}

func (k *tty) restore() {
	if k.fd >= 0 {
		_ = term.Restore(k.fd, k.before)
	}
}

// look learns whether the terminal is ours. While it is another job's nothing is
// written on it and nothing read; what is to be said waits until we are back.
func (t *terminal) look() {
	if !InForeground(t.o.In) {
		t.away, t.looking = true, time.After(lookEvery)
		return
	}
	held := t.held
	t.away, t.looking, t.held = false, nil, ""
	t.tty.raw()
	t.screen.anew(inPlace)
	_, _ = io.WriteString(t.o.Out, pasteOn)
	t.draw(held)
	t.shown()
}

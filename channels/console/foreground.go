package console

import (
	"fmt"
	"io"
	"time"

	"golang.org/x/term"
)

// lookEvery is how often a job in the background checks whether it is still there.
const checkEvery = 200 * time.Millisecond

// descriptor is that of a stream, or -1, on which no call about terminals succeeds.
func descriptor(stream any) int {
	if device, ok := stream.(interface{ Fd() uintptr }); ok {
		return int(device.Fd())
	}
	return -1
}

// A tty is a terminal that single keys are read from, or an input that is none and taken as
// it is.
type tty struct {
	fd     int
	before *term.State // how it was found; nil: it is no terminal
}

// openTTY makes in give single keys, until restore is called.
func openTTY(in io.Reader) (*tty, error) {
	k := &tty{fd: descriptor(in)}
	if !term.IsTerminal(k.fd) {
		return k, nil
	}
	var err error
	if k.before, err = term.MakeRaw(k.fd); err != nil {
		return nil, fmt.Errorf("prepare the terminal: %w", err)
	}
	return k, nil
}

func (k *tty) restore() {
	if k.before != nil {
		_ = term.Restore(k.fd, k.before)
	}
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

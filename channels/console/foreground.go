package console

import (
	"fmt"
	"io"
	"time"

	"golang.org/x/term"
)

// checkEvery is how often a job in the background checks whether it is still there.
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

package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// typed is what was read from the keyboard.
type typed struct {
	keys []byte
	err  error
}

// read hands over what is typed, until ctx or the input ends. Of an input that is no
// device it can only give up between two reads.
func read(ctx context.Context, in io.Reader, inputs chan<- typed) {
	await, done, err := readable(ctx, in)
	if err != nil {
		send(ctx, inputs, typed{err: err})
		return
	}
	defer done()
	for await() {
		chunk := make([]byte, 4096)
		n, err := in.Read(chunk)
		if n > 0 && !send(ctx, inputs, typed{keys: chunk[:n]}) {
			return
		}
		switch {
		case err == nil:
		case errors.Is(err, unix.EIO) && !InForeground(in): // it became another job's in between
		default:
			send(ctx, inputs, typed{err: err})
			return
		}
	}
}

func send(ctx context.Context, inputs chan<- typed, what typed) bool {
	select {
	case <-ctx.Done():
		return false
	case inputs <- what:
		return true
	}
}

// readable returns a function that waits until in can be read without blocking and is
// ours to read, and is false once ctx has ended: a key that is pressed later is for the
// next program. done releases what that takes.
func readable(ctx context.Context, in io.Reader) (await func() bool, done func(), err error) {
	device, ok := in.(interface{ Fd() uintptr })
	if !ok {
		return func() bool { return ctx.Err() == nil }, func() {}, nil
	}
	ended, end, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("watch the terminal: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = end.Close() }) // which the poll below sees
	watched := []unix.PollFd{
		{Fd: int32(device.Fd()), Events: unix.POLLIN}, //nolint:gosec // a descriptor is small
		{Fd: int32(ended.Fd()), Events: unix.POLLIN},  //nolint:gosec // a descriptor is small
	}
	await = func() bool {
		for ctx.Err() == nil {
			if !InForeground(in) { // what is typed is for another job
				_, _ = unix.Poll(watched[1:], int(lookEvery/time.Millisecond))
				continue
			}
			_, err := unix.Poll(watched, -1)
			if errors.Is(err, unix.EINTR) || !InForeground(in) {
				continue
			}
			// Where it cannot be told, the read itself says what is wrong.
			return ctx.Err() == nil && (err != nil || watched[0].Revents != 0)
		}
		return false
	}
	return await, func() {
		if stop() {
			_ = end.Close()
		}
		_ = ended.Close()
	}, nil
}

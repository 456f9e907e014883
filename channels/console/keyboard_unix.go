//go:build unix

package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// canStop says whether read of in ends with its context, and not only with the next key.
func canStop(in io.Reader) bool { return descriptor(in) >= 0 }

// readable returns a function that waits until in can be read without blocking and is
// ours to read, and is false once ctx has ended: a key that is pressed later is for the
// next program. done releases what that takes.
func readable(ctx context.Context, in io.Reader) (await func() bool, done func(), err error) {
	if !canStop(in) {
		return func() bool { return ctx.Err() == nil }, func() {}, nil
	}
	ended, end, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("watch the terminal: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = end.Close() }) // which the poll below sees
	watched := []unix.PollFd{
		{Fd: int32(descriptor(in)), Events: unix.POLLIN}, //nolint:gosec // a descriptor is small
		{Fd: int32(ended.Fd()), Events: unix.POLLIN},     //nolint:gosec // a descriptor is small
	}
	await = func() bool {
		for ctx.Err() == nil {
			if !InForeground(in) { // what is typed is for another job
				_, _ = unix.Poll(watched[1:], int(checkEvery/time.Millisecond))
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

// InForeground says whether stream, a terminal, is for this process to use now: a
// shell gives it to one of its jobs at a time, and whichever other job reads from it
// or sets it is stopped. A terminal that no shell shares out among jobs is everybody's.
//
// Source: POSIX, "Terminal Access Control".
func InForeground(stream any) bool {
	group, err := unix.IoctlGetInt(descriptor(stream), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// watch tells when the window has another size, and when a shell lets this process go on.
func watch(resized, continued chan<- os.Signal) {
	signal.Notify(resized, syscall.SIGWINCH)
	signal.Notify(continued, syscall.SIGCONT)
}

package console

import (
	"context"
	"io"
	"os"
)

// canStop says that read ends with the next key only.
func canStop(io.Reader) bool { return false }

// readable returns a function that does not wait, and is false once ctx has ended: the read waits. A key that is pressed
// after that is lost. done does nothing.
func readable(ctx context.Context, _ io.Reader) (await func() bool, done func(), err error) {
	return func() bool { return ctx.Err() == nil }, func() {}, nil
}

// InForeground says that the terminal is for this process to use: here it always is.
func InForeground(any) bool { return true }

// watch tells nothing: there are no such signals here. The size is looked at whenever something is drawn.
func watch(_, _ chan<- os.Signal) {}

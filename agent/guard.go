package agent

import (
	"context"
	"time"

	"switchboard/internal/retry"
)

// unsafePause is how often an engine that may begin nothing is asked again.
const unsafePause = 100 * time.Millisecond

const notBegun = "it was not begun, because this engine could not be sure that the work was its own"

// guard waits until the engine may begin side effects and returns the context to do
// the task under. It is taken before the task's start is committed: that commit fails
// once the session is somebody else's, and the context ends before it could become
// somebody else's after it. What only reads needs no guard.
func (r *run) guard(ctx context.Context, task Task) (context.Context, context.CancelFunc) {
	guard := r.opts.Guard
	if guard == nil || r.harmless(task) {
		return ctx, func() {}
	}
	for !guard.Safe() {
		if !retry.Sleep(ctx, unsafePause) {
			return ctx, func() {}
		}
	}
	return guard.Guard(ctx)
}

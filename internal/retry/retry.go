// Package retry has the pauses between the tries of what may work another time. It
// imports nothing of ours, so that every package may use it.
package retry

import (
	"context"
	"iter"
	"time"
)

// Doubling counts tries from 0, with a pause between each two: first, then twice as long
// each time, and no longer than most. When ctx ends, so does the pause, and the next try
// is the last; the loop's body says what ends it otherwise.
func Doubling(ctx context.Context, first, most time.Duration) iter.Seq[int] {
	return func(yield func(int) bool) {
		for try := 0; ; try++ {
			last := ctx.Err() != nil // asked before, so that the body of the last try sees it too
			if !yield(try) || last {
				return
			}
			Sleep(ctx, Pause(try, first, most))
		}
	}
}

// Pause is the pause after the given try, counted from 0.
func Pause(try int, first, most time.Duration) time.Duration {
	return min(first<<min(max(try, 0), 16), most)
}

// Sleep waits for d or the end of ctx; false: ctx has ended.
func Sleep(ctx context.Context, d time.Duration) bool { return Await(ctx, nil, d) }

// Await is Sleep that ends with what comes on soon as well, or when that is closed.
func Await(ctx context.Context, soon <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-soon:
	case <-timer.C:
	}
	return ctx.Err() == nil
}

// Signal ends an Await on soon, which has room for one: the one under way, or the next.
func Signal(soon chan<- struct{}) {
	select {
	case soon <- struct{}{}:
	default:
	}
}

// Whenever does something each time that soon is signalled, until ctx ends; while it fails, with the error told to
// failed, again and again, 0.1 s to 5 s apart.
func Whenever(ctx context.Context, soon <-chan struct{}, do func(context.Context) error, failed func(error)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-soon:
		}
		for range Doubling(ctx, 100*time.Millisecond, 5*time.Second) {
			err := do(ctx)
			if err == nil || ctx.Err() != nil {
				break
			}
			failed(err)
		}
	}
}

package store

import (
	"context"
	"time"

	"switchboard/agent/tools"
)

// SafeUntil is until when, by the wall clock, side effects may go on unless the
// owner is renewed before; zero: for as long as this program runs (SQLite).
func (e *Engine) SafeUntil() time.Time {
	if e.db.lite != nil {
		return time.Time{}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.renewed.Add(ownerExpires - safetyMargin).Round(0)
}

// Guard returns a context for one side effect. It ends with ctx, and with the cause
// tools.ErrUnsafe 3 s before the owner could expire, unless it is renewed before.
// The caller calls the function when the effect is over.
func (e *Engine) Guard(ctx context.Context) (context.Context, context.CancelFunc) {
	guarded, cancel := context.WithCancelCause(ctx)
	if e.db.lite != nil {
		return guarded, func() { cancel(nil) }
	}
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			wait := time.Until(e.SafeUntil())
			if wait <= 0 || !e.Safe() {
				cancel(tools.ErrUnsafe)
				return
			}
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-stop:
				timer.Stop()
				return
			}
		}
	}()
	return guarded, func() { close(stop); <-done; cancel(nil) }
}

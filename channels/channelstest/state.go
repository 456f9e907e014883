package channelstest

import (
	"context"
	"sync"
)

// state is what several goroutines change and wait for.
type state struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every change
}

func newState() *state { return &state{changed: make(chan struct{})} }

// change runs f under the lock and notifies who waits.
func (s *state) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.notify()
}

// notify is called under the lock.
func (s *state) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Await waits until cond holds; it is asked at every change. The error is ctx's.
func (s *state) Await(ctx context.Context, cond func() bool) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if cond() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

package core

import (
	"sync"
	"sync/atomic"

	"switchboard/internal/retry"
)

// Activity notifies those who show how the program is that something happened. The zero value is ready.
type Activity struct {
	n         atomic.Int64
	mu        sync.Mutex
	followers map[chan struct{}]bool
}

// Note says that something happened. It never blocks.
func (a *Activity) Note() {
	a.n.Add(1)
	a.mu.Lock()
	defer a.mu.Unlock()
	for f := range a.followers {
		retry.Signal(f)
	}
}

// Count is how often something happened so far: what was asked of the database at the same count need not be asked again.
func (a *Activity) Count() int64 { return a.n.Load() }

// Follow has a channel signalled once something happened since it was read last, until stop is called.
func (a *Activity) Follow() (happened <-chan struct{}, stop func()) {
	f := make(chan struct{}, 1)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.followers == nil {
		a.followers = map[chan struct{}]bool{}
	}
	a.followers[f] = true
	return f, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.followers, f)
	}
}

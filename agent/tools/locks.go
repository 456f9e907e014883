package tools

import (
	"context"
	"sync"
)

// ledgerLocks makes read-change-write of a database atomic within the engine.
var ledgerLocks Locks[string]

// Locks is a lock for each key. Only those in use take memory. The zero Locks is
// ready for use by several goroutines.
type Locks[K comparable] struct {
	mu   sync.Mutex
	held map[K]*lock
}

// A lock is held by whoever's token is in the channel.
type lock struct {
	token chan struct{}
	users int // who hold it or wait for it; guarded by Locks.mu
}

// Take waits for the lock of that key until ctx ends, whose error it then returns.
// The caller releases it.
func (l *Locks[K]) Take(ctx context.Context, key K) (release func(), err error) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[K]*lock{}
	}
	one := l.held[key]
	if one == nil {
		one = &lock{token: make(chan struct{}, 1)}
		l.held[key] = one
	}
	one.users++
	l.mu.Unlock()
	select {
	case one.token <- struct{}{}:
		return func() {
			<-one.token
			l.leave(key, one)
		}, nil
	case <-ctx.Done():
		l.leave(key, one)
		return nil, ctx.Err()
	}
}

func (l *Locks[K]) leave(key K, one *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(l.held, key)
	}
}

package tools

import (
	"context"
	"sync"
)

// ledgerLocks makes read-change-write of a ledger atomic within the engine.
var ledgerLocks = locks{held: map[string]*lock{}}

// locks is a lock for each name. Only those in use take memory.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

// A lock is held by whoever's token is in the channel.
type lock struct {
	token chan struct{}
	users int // who hold it or wait for it; guarded by locks.mu
}

// take waits for the lock of that name until ctx ends. The caller releases it.
func (l *locks) take(ctx context.Context, name string) (release func(), err error) {
	l.mu.Lock()
	one := l.held[name]
	if one == nil {
		one = &lock{token: make(chan struct{}, 1)}
		l.held[name] = one
	}
	one.users++
	l.mu.Unlock()
	select {
	case one.token <- struct{}{}:
		return func() {
			<-one.token
			l.leave(name, one)
		}, nil
	case <-ctx.Done():
		l.leave(name, one)
		return nil, ctx.Err()
	}
}

func (l *locks) leave(name string, one *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(l.held, name)
	}
}

package router

import (
	"context"
	"sync"
)

// attachmentLocks is a lock for each attachment. Only those in use take memory.
type attachmentLocks struct {
	mu   sync.Mutex
	held map[int64]*attachmentLock
}

// An attachmentLock is held by whoever's token is in the channel.
type attachmentLock struct {
	token chan struct{}
	users int // who hold it or wait for it; guarded by attachmentLocks.mu
}

// take waits for the lock of that attachment until ctx ends.
func (l *attachmentLocks) take(ctx context.Context, id int64) (release func(), err error) {
	l.mu.Lock()
	one := l.held[id]
	if one == nil {
		one = &attachmentLock{token: make(chan struct{}, 1)}
		l.held[id] = one
	}
	one.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(l.held, id)
		}
	}
	select {
	case one.token <- struct{}{}:
		return func() { <-one.token; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

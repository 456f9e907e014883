package tools

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// Whoever waits, gives up or holds a lock leaves nothing behind.
func TestLocksAreForgotten(t *testing.T) {
	t.Parallel()
	var locks Locks[int]
	var all sync.WaitGroup
	inside := map[int]int{}
	for i := range 40 {
		all.Go(func() {
			key := i % 3
			ctx, stop := context.WithTimeout(t.Context(), time.Duration(1+i%5)*10*time.Millisecond)
			defer stop()
			release, err := locks.Take(ctx, key)
			if err != nil {
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				return
			}
			defer release()
			locks.mu.Lock()
			inside[key]++
			if inside[key] > 1 {
				t.Errorf("%d hold lock %d", inside[key], key)
			}
			locks.mu.Unlock()
			time.Sleep(4 * time.Millisecond)
			locks.mu.Lock()
			inside[key]--
			locks.mu.Unlock()
		})
	}
	all.Wait()
	if n := len(locks.held); n > 0 {
		t.Errorf("%d locks are left", n)
	}
}

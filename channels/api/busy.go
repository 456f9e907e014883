package api

import "sync"

// A Busy counts what is under way by a key, such as a person. The zero value is ready, also for several goroutines at once.
type Busy struct {
	mu sync.Mutex
	of map[string]int
}

// Begin says whether one more of a key may begin, of which there may be so many at once. Then end has to be called; it says whether
// that was the last one.
func (b *Busy) Begin(key string, most int) (end func() (last bool), ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of[key] >= most {
		return nil, false
	}
	if b.of == nil {
		b.of = map[string]int{}
	}
	b.of[key]++
	return func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.of[key]--; b.of[key] > 0 {
			return false
		}
		delete(b.of, key)
		return true
	}, true
}

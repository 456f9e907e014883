package wire

import (
	"cmp"
	"sync"
)

// mostRemembered is how much a Memory holds unless it says otherwise.
const mostRemembered = 10_000

// A Memory keeps what an adapter would have to ask for again, or could not. When it is full it
// forgets all, so that it never grows without end. The zero Memory is empty; its methods may
// be called from several goroutines at once.
type Memory[K comparable, V any] struct {
	Most int // entries; 0: 10,000
	mu   sync.Mutex
	byID map[K]V
}

// Get is what is remembered of k; ok is false where nothing is.
func (m *Memory[K, V]) Get(k K) (v V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok = m.byID[k]
	return v, ok
}

// Put remembers v of k.
func (m *Memory[K, V]) Put(k K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byID == nil || len(m.byID) >= cmp.Or(m.Most, mostRemembered) {
		m.byID = map[K]V{}
	}
	m.byID[k] = v
}

// Forget forgets what is remembered of k.
func (m *Memory[K, V]) Forget(k K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byID, k)
}

package turns

import (
	"context"
	"sync"
	"time"

	"switchboard/internal/retry"
)

// workers counts the turns running at once; one person holds a quarter at most.
type workers struct {
	mu          sync.Mutex
	total, each int
	busy        int
	byPerson    map[string]int
}

func newWorkers(total int) *workers {
	w := &workers{byPerson: map[string]int{}}
	w.set(total)
	return w
}

// set makes them so many. Those that are busy stay so until they are free.
func (w *workers) set(total int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.total, w.each = total, max(1, total/4)
}

// workerLook is how often await looks for a worker.
const workerLook = 10 * time.Millisecond

// await reserves a worker for person as soon as there is one, within patience.
func (w *workers) await(ctx context.Context, person string, patience time.Duration) bool {
	for until := time.Now().Add(patience); !w.take(person); {
		if time.Now().After(until) || !retry.Sleep(ctx, workerLook) {
			return false
		}
	}
	return true
}

// take reserves a worker for person, or says that there is none.
func (w *workers) take(person string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy >= w.total || w.byPerson[person] >= w.each {
		return false
	}
	w.busy++
	w.byPerson[person]++
	return true
}

func (w *workers) give(person string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy--
	if w.byPerson[person]--; w.byPerson[person] == 0 {
		delete(w.byPerson, person)
	}
}

// reserve takes up to most idle workers for turns that are looked for, and lists the
// persons who have their share.
func (w *workers) reserve(most int) (n int, full []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for person, n := range w.byPerson {
		if n >= w.each {
			full = append(full, person)
		}
	}
	n = min(most, w.total-w.busy)
	w.busy += n
	return n, full
}

// assign gives a reserved worker to person, unless they have their share.
func (w *workers) assign(person string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byPerson[person] >= w.each {
		return false
	}
	w.byPerson[person]++
	return true
}

// unreserve gives n reserved workers back.
func (w *workers) unreserve(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy -= n
}

// idle says whether there is a worker for somebody.
func (w *workers) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.busy < w.total
}

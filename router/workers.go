package router

import (
	"context"
	"sync"
	"time"
)

// workers counts the turns running at once; one person holds a quarter at most.
type workers struct {
	total, each int

	mu       sync.Mutex
	busy     int
	byPerson map[string]int
	given    chan struct{} // closed when a worker is given back; nil: nobody waits for that
}

func newWorkers(total int) *workers {
	return &workers{total: total, each: max(1, total/4), byPerson: map[string]int{}}
}

// await reserves a worker for person as soon as there is one, within patience.
func (w *workers) await(ctx context.Context, person string, patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		given := w.nextGiven()
		if w.take(person) {
			return true
		}
		select {
		case <-given:
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

func (w *workers) nextGiven() chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.given == nil {
		w.given = make(chan struct{})
	}
	return w.given
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
	if w.given != nil {
		close(w.given)
		w.given = nil
	}
}

// free counts the idle workers and lists the persons who have their share.
func (w *workers) free() (idle int, full []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for person, n := range w.byPerson {
		if n >= w.each {
			full = append(full, person)
		}
	}
	return w.total - w.busy, full
}

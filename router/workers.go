package router

import (
	"context"
	"sync"

	"switchboard/agent"
)

// workers counts the turns running at once; one person holds a quarter at most.
type workers struct {
	total, each int

	mu       sync.Mutex
	busy     int
	byPerson map[string]int
}

func newWorkers(total int) *workers {
	return &workers{total: total, each: max(1, total/4), byPerson: map[string]int{}}
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

// runningTurns knows how to stop the turns of this engine.
type runningTurns struct {
	mu     sync.Mutex
	cancel map[int64]context.CancelCauseFunc
}

func (t *runningTurns) add(id int64, cancel context.CancelCauseFunc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cancel[id] = cancel
}

func (t *runningTurns) remove(id int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.cancel, id)
}

// stop cancels the turn if it runs here.
func (t *runningTurns) stop(id int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if cancel := t.cancel[id]; cancel != nil {
		cancel(agent.ErrCancelled)
	}
}

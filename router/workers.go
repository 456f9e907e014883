package router

import (
	"context"
	"errors"
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
	mu    sync.Mutex
	turns map[int64]*runningTurn
	lost  int64 // stops that met nobody
}

// stops counts the stops of turns that did not run here, or not yet.
func (t *runningTurns) stops() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost
}

// A runningTurn is run once, and again after an ErrRestart or a fault.
type runningTurn struct {
	cancel  context.CancelCauseFunc // of the present try; nil between two
	stopped error                   // why it is to end, for this try and all later ones
	changed bool                    // ErrRestart came between two tries
}

func (t *runningTurns) add(id int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turns[id] = &runningTurn{}
}

func (t *runningTurns) remove(id int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.turns, id)
}

// try makes the context of one run of a turn that was added; done ends it. A stop
// between two tries holds for the next.
func (t *runningTurns) try(ctx context.Context, id int64) (trying context.Context, done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	trying, cancel := context.WithCancelCause(ctx)
	turn := t.turns[id]
	turn.cancel = cancel
	switch {
	case turn.stopped != nil:
		cancel(turn.stopped)
	case turn.changed:
		cancel(agent.ErrRestart)
	}
	turn.changed = false
	return trying, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		turn.cancel = nil
		cancel(nil)
	}
}

// stop breaks the turn off, if it runs here. After ErrRestart it goes on, with the
// new text.
func (t *runningTurns) stop(id int64, cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	turn := t.turns[id]
	if turn == nil {
		t.lost++
		return
	}
	again := errors.Is(cause, agent.ErrRestart)
	if !again && turn.stopped == nil {
		turn.stopped = cause
	}
	if turn.cancel != nil {
		turn.cancel(cause)
	} else if again {
		turn.changed = true
	}
}

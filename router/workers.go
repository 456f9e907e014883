package router

import (
	"context"
	"errors"
	"sync"
	"time"

	"switchboard/agent"
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
	ref     TurnRef
	cancel  context.CancelCauseFunc // of the present try; nil between two
	stopped error                   // why it is to end, for this try and all later ones
	changed bool                    // ErrRestart came between two tries
}

func (t *runningTurns) add(ref TurnRef) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turns[ref.TurnID] = &runningTurn{ref: ref}
}

// any says whether any turn runs.
func (t *runningTurns) any() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.turns) > 0
}

// sessions are those whose turns run, each with its turn and lease.
func (t *runningTurns) sessions() map[int64]TurnRef {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make(map[int64]TurnRef, len(t.turns))
	for _, turn := range t.turns {
		list[turn.ref.SessionID] = turn.ref
	}
	return list
}

// runs says whether a turn of the session runs under that fence.
func (t *runningTurns) runs(session, fence int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, turn := range t.turns {
		if turn.ref.SessionID == session && turn.ref.Fence == fence {
			return true
		}
	}
	return false
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

// stop breaks the turn off, and says whether it runs here. After ErrRestart it goes
// on, with the new text.
func (t *runningTurns) stop(id int64, cause error) (here bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	turn := t.turns[id]
	if turn == nil {
		t.lost++
		return false
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
	return true
}

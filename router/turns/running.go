package turns

import (
	"context"
	"errors"
	"sync"

	"switchboard/agent"
	"switchboard/router/core"
)

// runningTurns knows how to stop the turns of this engine.
type runningTurns struct {
	mu     sync.Mutex
	turns  map[int64]*runningTurn // by turn: the run under the newest lease
	missed int64                  // stops of turns that did not run here, or not yet
}

// stops counts the stops of turns that did not run here, or not yet.
func (t *runningTurns) stops() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.missed
}

// A runningTurn is one run of a turn: one try, and another after each ErrRestart or fault.
type runningTurn struct {
	ref     core.TurnRef
	ctx     context.Context         // of all tries; ends with ErrReleased once the lease is somebody else's
	lose    context.CancelCauseFunc // ends ctx
	over    chan struct{}           // closed when nothing of the run works any more
	cancel  context.CancelCauseFunc // of the present try; nil between two
	stopped error                   // why it is to end, for this try and all later ones
	changed bool                    // ErrRestart came between two tries
	edited  bool                    // a message of it was changed, and that is not merged yet
	channel string                  // whose it is; empty: that is not read yet
}

// add notes a run of a turn. One under an older lease is lost by that, and waited for:
// the two never work at once. So is the run itself, when the turn was leased again
// before anybody came to run it.
func (t *runningTurns) add(ctx context.Context, ref core.TurnRef) *runningTurn {
	run := &runningTurn{ref: ref, over: make(chan struct{})}
	run.ctx, run.lose = context.WithCancelCause(ctx)
	t.mu.Lock()
	former := t.turns[ref.TurnID]
	if former != nil && former.ref.Fence > ref.Fence {
		run.lose(agent.ErrReleased)
		t.mu.Unlock()
		return run
	}
	t.turns[ref.TurnID] = run
	t.mu.Unlock()
	if former != nil {
		former.lose(agent.ErrReleased)
		<-former.over
	}
	return run
}

// remove forgets a run that is over, and no other run of its turn.
func (t *runningTurns) remove(run *runningTurn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turns[run.ref.TurnID] == run {
		delete(t.turns, run.ref.TurnID)
	}
	run.lose(nil)
	close(run.over)
}

// find does something with the run of a turn, and says whether it runs here.
func (t *runningTurns) find(id int64, do func(*runningTurn)) (here bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	turn := t.turns[id]
	if turn != nil {
		do(turn)
	}
	return turn != nil
}

// on lists the turns of a channel.
func (t *runningTurns) on(channel string) (list []*runningTurn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, turn := range t.turns {
		if turn.channel == channel {
			list = append(list, turn)
		}
	}
	return list
}

// sessions are those whose turns run, each with its turn and lease.
func (t *runningTurns) sessions() map[int64]core.TurnRef {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make(map[int64]core.TurnRef, len(t.turns))
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

// try makes the context of one try of a run; done ends it. A stop between two tries
// holds for the next.
func (t *runningTurns) try(turn *runningTurn) (trying context.Context, done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	trying, cancel := context.WithCancelCause(turn.ctx)
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
		t.missed++
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

// lost aborts the run that goes on under this lease, which is somebody else's.
func (t *runningTurns) lost(ref core.TurnRef) {
	t.find(ref.TurnID, func(turn *runningTurn) {
		if turn.ref == ref {
			turn.lose(agent.ErrReleased)
		}
	})
}

// markEdited notes that a message of the turn was changed, or that it is merged now; here: the turn runs here.
func (t *runningTurns) markEdited(id int64, on bool) (here bool) {
	return t.find(id, func(turn *runningTurn) { turn.edited = on })
}

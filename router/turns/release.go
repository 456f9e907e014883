package turns

import (
	"context"
	"time"

	"switchboard/router/core"
)

// freeWorker frees a worker, and has those claim who wait for one.
func (r *Runner) freeWorker(person string) {
	r.workers.give(person)
	if r.wantsWorker.Load() || r.wantsShare.Load() {
		r.Poll()
	}
}

// exchangeWorker exchanges the worker of a session's former turn for one for its next turn,
// which is claimed. Where there is none, or others have waited longer, neither worker
// nor session is kept.
func (r *Runner) exchangeWorker(person string, next *claimed) bool {
	ends := r.stopping.Load() || r.wantsWorker.Load() || !r.Engine.Safe()
	switch {
	case ends:
		r.requeue(next.TurnRef)
		r.freeWorker(person)
		return false
	case next.Person == person:
		return true
	}
	r.freeWorker(person)
	if r.workers.await(r.work, next.Person, nextPatience) {
		return true
	}
	r.requeue(next.TurnRef)
	return false
}

// requeue releases a session whose next turn waits, and lets who has a worker for it find it.
func (r *Runner) requeue(ref core.TurnRef) {
	r.release(ref)
	if r.stopping.Load() {
		r.Connections.Wake(core.Wake{Kind: core.WakeTurn})
		return
	}
	r.Queued()
}

// release releases a session's lease, so that anybody may go on with it.
func (r *Runner) release(ref core.TurnRef) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := r.Store.ReleaseSession(ctx, ref); err != nil {
		r.Log.ErrorContext(ctx, "cannot give a session back, trying again", "turn_id", ref.TurnID, "error", err)
		r.Compare()
	}
}

// abort releases a session whose turn is not brought to its end here. If that was
// ended by a commit whose answer was lost, the next one is leased instead, and nobody
// knows.
func (r *Runner) abort(ref core.TurnRef) {
	r.release(ref)
	r.Compare()
	r.Connections.Wake(core.Wake{Kind: core.WakeTurn})
	r.Poll()
}

// announce tells the other engines, once, of turns that wait and have no worker here.
func (r *Runner) announce() {
	if r.unannounced.Swap(false) {
		r.Connections.Wake(core.Wake{Kind: core.WakeTurn})
	}
}

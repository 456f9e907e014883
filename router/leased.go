package router

import (
	"context"
	"sync"
	"time"

	"switchboard/agent"
	"switchboard/retry"
	"switchboard/router/ledger"
)

// heldEvery is how often the leases are compared with what runs here, while anything
// does. What two looks so far apart agree on is no matter of an answer under way. Tests
// are in more of a hurry.
var heldEvery = 5 * time.Second

// leased compares the sessions that this engine has leased with the turns that it
// runs. An answer of the database that was lost (Accept, Claim, Commit), or a session
// that could not be given back, leaves a lease under which nobody works; an engine that
// was taken for dead goes on with turns that are somebody else's; a turn is asked to
// stop by another engine. All three are seen here, at the latest after two looks.
type leased struct {
	look chan struct{}

	mu    sync.Mutex
	asked map[int64]bool  // turns that another engine asked to stop or to begin anew
	left  map[int64]int64 // sessions that nobody here runs any more, by the fence under which they were run

	// Of the looks alone.
	unrun map[int64]finding // by session: it is held and not run
	lost  map[int64]finding // by session: it is run and not held
}

// A finding is what the former looks said of a session.
type finding struct {
	fence int64
	since time.Time
}

func newLeased() *leased {
	return &leased{look: make(chan struct{}, 1), asked: map[int64]bool{}, left: map[int64]int64{}}
}

// soon asks for a look at once.
func (l *leased) soon() {
	select {
	case l.look <- struct{}{}:
	default:
	}
}

// ask says that a turn was asked to stop, or to begin anew, by another engine; 0: any
// may have been.
func (l *leased) ask(turn int64) {
	l.mu.Lock()
	if turn != 0 {
		l.asked[turn] = true
	}
	l.mu.Unlock()
	l.soon()
}

// leave says that nobody here runs the session under this fence any more; whether its
// lease is free is not known.
func (l *leased) leave(ref ledger.TurnRef) {
	l.mu.Lock()
	l.left[ref.SessionID] = max(l.left[ref.SessionID], ref.Fence)
	l.mu.Unlock()
	l.soon()
}

// begin hands over what was said since the former look.
func (l *leased) begin() (asked map[int64]bool, left map[int64]int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	asked, left = l.asked, l.left
	l.asked, l.left = map[int64]bool{}, map[int64]int64{}
	return asked, left
}

// again puts back what a look that failed did not do.
func (l *leased) again(asked map[int64]bool, left map[int64]int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for turn := range asked {
		l.asked[turn] = true
	}
	for session, fence := range left {
		l.left[session] = max(l.left[session], fence)
	}
}

// watchLeases looks until ctx ends: often while anything runs or is in doubt.
func (r *runner) watchLeases(ctx context.Context) {
	ticker := time.NewTicker(heldEvery)
	defer ticker.Stop()
	var latest time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.leased.look:
		case <-ticker.C:
			if !r.running.any() && len(r.leased.unrun) == 0 && time.Since(latest) < pollIdle {
				continue
			}
		}
		if err := r.compareLeases(ctx); err != nil && ctx.Err() == nil {
			r.Log.WarnContext(ctx, "cannot look at the leases of this engine", "error", err)
			retry.Sleep(ctx, pollBusy)
			r.leased.soon()
		}
		latest = time.Now()
	}
}

// compareLeases looks once.
func (r *runner) compareLeases(ctx context.Context) error {
	now := time.Now()
	asked, left := r.leased.begin()
	before := r.running.sessions()
	held, err := r.Ledger.Held(ctx, r.Engine.ID())
	if err != nil {
		r.leased.again(asked, left)
		return err
	}
	unrun, lost := map[int64]finding{}, map[int64]finding{}
	for _, h := range held {
		r.applyStop(h, asked[h.TurnID])
		if before[h.SessionID].Fence == h.Fence {
			delete(before, h.SessionID)
			continue
		}
		if r.running.runs(h.SessionID, h.Fence) {
			continue // since a moment ago
		}
		was, known := r.leased.unrun[h.SessionID]
		switch {
		case left[h.SessionID] == h.Fence, known && was.fence == h.Fence && now.Sub(was.since) >= heldEvery:
			r.Log.WarnContext(ctx, "a session was leased and nobody ran it; it is given back", "session_id", h.SessionID, "turn_id", h.TurnID)
			r.putBack(h.TurnRef)
		case known && was.fence == h.Fence:
			unrun[h.SessionID] = was
		default:
			unrun[h.SessionID] = finding{h.Fence, now}
		}
	}
	for session, ref := range before {
		was, known := r.leased.lost[session]
		switch {
		case known && was.fence == ref.Fence && now.Sub(was.since) >= heldEvery:
			r.running.lost(ref)
		case known && was.fence == ref.Fence:
			lost[session] = was
		default:
			lost[session] = finding{ref.Fence, now}
		}
	}
	r.leased.unrun, r.leased.lost = unrun, lost
	return nil
}

// applyStop stops a held turn that was asked to stop. Asked by another engine with nothing
// in the ledger means that its message was changed: it begins anew.
func (r *runner) applyStop(h ledger.Held, asked bool) {
	cause := h.Stop.Cause()
	if cause == nil && asked {
		cause = agent.ErrRestart
	}
	if cause != nil {
		r.running.stop(h.TurnID, cause)
	}
}

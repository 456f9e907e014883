package turns

import (
	"context"
	"sync"
	"time"

	"switchboard/agent"
	"switchboard/internal/retry"
	"switchboard/router/core"
)

// HeldEvery is how often the leases are compared with what runs here, while anything
// does. What two looks so far apart agree on is no matter of an answer under way. Tests
// are in more of a hurry.
var HeldEvery = 5 * time.Second

// leased compares the sessions that this engine has leased with the turns that it
// runs. An answer of the database that was lost (Accept, Claim, Commit), or a session
// that could not be released, leaves a lease under which nobody works; an engine that
// was taken for dead goes on with turns that are somebody else's; a turn is asked to
// stop by another engine. All three are seen here, at the latest after two looks.
type leased struct {
	look chan struct{}

	mu    sync.Mutex
	asked map[int64]bool // turns that another engine asked to stop or to begin again

	// Of the looks alone.
	unrun map[int64]finding // by session: it is held and not run
	lost  map[int64]finding // by session: it is run and not held
}

// A finding is what the former looks said of a session.
type finding struct {
	fence int64
	since time.Time
}

// soon asks for a look at once.
func (l *leased) soon() { retry.Signal(l.look) }

// ask says that a turn was asked to stop, or to begin again, by another engine; 0: any
// may have been.
func (l *leased) ask(turn int64) {
	l.mu.Lock()
	if turn != 0 {
		l.asked[turn] = true
	}
	l.mu.Unlock()
	l.soon()
}

// begin takes what was asked since the former comparison.
func (l *leased) begin() (asked map[int64]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	asked, l.asked = l.asked, map[int64]bool{}
	return asked
}

// WatchLeases looks until ctx ends: often while anything runs or is held and not run.
func (r *Runner) WatchLeases(ctx context.Context) {
	ticker := time.NewTicker(HeldEvery)
	defer ticker.Stop()
	var latest time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.leased.look:
		case <-ticker.C:
			if len(r.running.sessions()) == 0 && len(r.leased.unrun) == 0 && time.Since(latest) < pollIdle {
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
func (r *Runner) compareLeases(ctx context.Context) error {
	now := time.Now()
	asked := r.leased.begin()
	before := r.running.sessions()
	held, err := r.Store.Held(ctx, r.Engine.ID())
	if err != nil {
		for turn := range asked {
			r.leased.ask(turn)
		}
		return err
	}
	unrun, lost := map[int64]finding{}, map[int64]finding{}
	for _, h := range held {
		cause := h.Stop.Cause()
		if cause == nil && asked[h.TurnID] { // with nothing in the database its message was changed
			cause = agent.ErrRestart
		}
		if cause != nil {
			r.running.stop(h.TurnID, cause)
		}
		if before[h.SessionID].Fence == h.Fence {
			delete(before, h.SessionID)
		} else if !r.running.runs(h.SessionID, h.Fence) && confirmed(r.leased.unrun, unrun, h.TurnRef, now) {
			r.Log.WarnContext(ctx, "a session was leased and nobody ran it; it is given back", "session_id", h.SessionID, "turn_id", h.TurnID)
			r.requeue(h.TurnRef)
		}
	}
	for _, ref := range before {
		if confirmed(r.leased.lost, lost, ref, now) {
			r.running.lost(ref)
		}
	}
	r.leased.unrun, r.leased.lost = unrun, lost
	return nil
}

// confirmed says that a former look, HeldEvery ago at least, found the same of a session
// under its lease. Until then it is found in this look.
func confirmed(former, found map[int64]finding, ref core.TurnRef, now time.Time) bool {
	f, known := former[ref.SessionID]
	if !known || f.fence != ref.Fence {
		f = finding{ref.Fence, now}
	}
	if now.Sub(f.since) >= HeldEvery {
		return true
	}
	found[ref.SessionID] = f
	return false
}

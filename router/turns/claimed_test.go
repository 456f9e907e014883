package turns_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"switchboard/router"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/people"
)

// A reading is a database that counts loads, and steps in after a turn was claimed with
// its message.
type reading struct {
	router.Store
	loads   *atomic.Int32
	claimed func(turn int64) // nil: nothing
}

func (w reading) Load(ctx context.Context, ref core.TurnRef) (*core.TurnData, error) {
	w.loads.Add(1)
	return w.Store.Load(ctx, ref)
}

func (w reading) Accept(ctx context.Context, owner int64, entries []intake.Entry) ([]intake.Accepted, error) {
	list, err := w.Store.Accept(ctx, owner, entries)
	for _, a := range list {
		if a.Claimed != nil && w.claimed != nil {
			w.claimed(a.Claimed.TurnID)
		}
	}
	return list, err
}

// Claim takes what Accept left, as in the first moments of a start.
func (w reading) Claim(ctx context.Context, owner int64, names, except []string, limit int) ([]core.Claimed, error) {
	list, err := w.Store.Claim(ctx, owner, names, except, limit)
	for _, c := range list {
		if w.claimed != nil {
			w.claimed(c.TurnID)
		}
	}
	return list, err
}

func TestFreshTurnsAreNotLoadedAgain(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		w := reading{loads: new(atomic.Int32)}
		r.Store = func(l router.Store) router.Store { w.Store = l; return w }
		r.Start()
		r.Platform.Say("c1", "ada", "hello")
		r.Shows(1, "re: hello")
		if n := w.loads.Load(); n != 0 {
			t.Errorf("%d loads, want none", n)
		}
	})
}

// A turn is asked to stop after it was claimed and before it runs: what was read with
// the claim does not know of it.
func TestStopBetweenClaimAndRunStopsTheTurn(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		w := reading{loads: new(atomic.Int32)}
		var once sync.Once
		w.claimed = func(turn int64) {
			once.Do(func() {
				if err := r.Router.Cancel(t.Context(), turn, people.LocalActor("owner")); err != nil {
					t.Error(err)
				}
			})
		}
		r.Store = func(l router.Store) router.Store { w.Store = l; return w }
		r.Start()
		r.Platform.Say("c1", "ada", "hello")
		r.Shows(1, "Cancelled.")
	})
}

package turns

import (
	"context"
	"time"

	"switchboard/internal/retry"
	"switchboard/router/core"
)

// FindWork claims sessions whose turns nobody runs (queued while all workers were
// busy, or left by a dead engine), until ctx ends.
func (r *Runner) FindWork(ctx context.Context) {
	time.AfterFunc(r.Settings().CollectWindow, r.Queued) // for what an engine before this one collected
	began := time.Now()
	for {
		more, err := r.claimAll(ctx)
		if err != nil && ctx.Err() == nil {
			r.Log.ErrorContext(ctx, "cannot look for waiting turns", "error", err)
		}
		pause := pollIdle
		switch {
		case more || err != nil || time.Since(began) < pollFirst:
			pause = pollBusy
		case r.Shared:
			pause = pollShared
		}
		if !retry.Await(ctx, r.notify, pause) {
			return
		}
	}
}

// claimAll claims sessions while there are workers; more says that some may still
// wait.
func (r *Runner) claimAll(ctx context.Context) (more bool, err error) {
	for ctx.Err() == nil {
		limit, full := 0, []string(nil)
		if r.Engine.Safe() {
			limit, full = r.workers.reserve(claimsAtOnce)
		}
		if limit <= 0 {
			r.announce()
			return true, nil
		}
		r.wantsWorker.Store(false) // what comes to wait after the claim sets it again
		stops := r.running.stops()
		list, err := r.Store.Claim(ctx, r.Engine.ID(), r.Channels(), full, limit)
		if err != nil {
			r.workers.unreserve(limit)
			r.Compare() // it may be committed all the same
			return true, err
		}
		if len(list) > 0 {
			r.Connections.Active()
		}
		begun, shared := 0, len(full) > 0
		for _, c := range list {
			if r.Engine.Safe() && r.workers.assign(c.Person) {
				r.Begin(c, stops, c.Person)
				begun++
			} else { // a person's share ran out within this claim, or the leases did
				r.release(c.TurnRef)
				shared = true
			}
		}
		r.workers.unreserve(limit - begun)
		if len(list) < limit {
			r.wantsShare.Store(shared)
			if shared {
				r.announce()
			}
			return shared, nil
		}
		r.wantsWorker.Store(true) // there may be more than were asked for
	}
	return false, nil
}

// Begin runs a claimed session in a goroutine of its own, with a worker that was taken for a person. stops is what Stops
// was before the claim.
func (r *Runner) Begin(c core.Claimed, stops int64, person string) {
	r.turns.Go(func() {
		now := &claimed{c, stops}
		for {
			next, ended := r.runToEnd(*now)
			if !ended { // and runs here no more: it may be claimed again before release returns
				r.abort(now.TurnRef)
			}
			if next == nil {
				r.freeWorker(person)
				return
			}
			if !r.exchangeWorker(person, next) {
				return
			}
			now, person = next, next.Person
		}
	})
}

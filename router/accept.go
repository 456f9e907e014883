package router

import (
	"context"
	"fmt"
	"math"

	"switchboard/channels"
	"switchboard/internal/retry"
)

// Accept implements channels.Sink, the one way in. Each event is classified (who is
// speaking, may they, what is it), then all are committed in one transaction,
// and only then does anything happen.
func (r *Router) Accept(ctx context.Context, events []channels.Event) ([]channels.Receipt, error) {
	if len(events) == 0 {
		return nil, nil
	}
	if !r.enter() {
		// The channel's connection stays open for sending, and what it sent us stays
		// unacknowledged.
		retry.Await(ctx, r.stopped, math.MaxInt64)
		return nil, errStopping
	}
	defer r.accepts.Done()
	ctx, end := r.untilHandBack(ctx)
	defer end()
	entries, err := classifyBatch(ctx, r, events)
	if err != nil {
		return nil, err
	}
	if len(entries) == 1 && entries[0].busy != "" {
		return []channels.Receipt{{Busy: entries[0].busy}}, nil
	}
	b := &batch{r, entries, make([]channels.Receipt, len(entries))}
	switch err := b.commit(ctx); {
	case err == nil:
		return b.receipts, nil
	case isNobodysFault(ctx, err):
		return nil, fmt.Errorf("take events in: %w", err)
	}
	return b.receipts, b.commitEach(ctx)
}

// enter begins an Accept, unless the engine stops: then all that have begun are waited
// for, and none begins any more.
func (r *Router) enter() bool {
	r.entering.Lock()
	defer r.entering.Unlock()
	if r.turns.Ends() {
		return false
	}
	r.accepts.Add(1)
	return true
}

// untilHandBack is ctx, which ends as well when what runs is handed back at a stop: a
// database that hangs does not keep the engine.
func (r *Router) untilHandBack(ctx context.Context) (context.Context, func()) {
	ctx, end := context.WithCancel(ctx)
	stop := context.AfterFunc(r.work, end)
	return ctx, func() { stop(); end() }
}

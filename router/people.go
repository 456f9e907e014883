package router

import (
	"context"
	"time"

	"switchboard/retry"
	"switchboard/router/ledger"
)

// PeopleChanged has every engine read the people anew.
func (r *Router) PeopleChanged(ctx context.Context) {
	if err := r.Roster.Reload(ctx); err != nil {
		r.Log.ErrorContext(ctx, "cannot read the people anew", "error", err)
		retry.Signal(r.people)
	}
	r.wakeForPeople()
}

// learn reads somebody anew, now or as soon as the database lets it.
func (r *Router) learn(ctx context.Context, name string) {
	if err := r.Roster.Learn(ctx, name); err != nil {
		r.Log.ErrorContext(ctx, "a new person is not known yet", "person", name, "error", err)
		retry.Signal(r.people)
	}
}

// wakeForPeople has the other engines read the people anew.
func (r *Router) wakeForPeople() {
	if r.Wakes != nil {
		r.Wakes.Wake(ledger.Wake{Kind: ledger.WakePeople})
	}
}

// watchPeople reads the people anew when they were changed elsewhere, until ctx ends.
func (r *Router) watchPeople(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.people:
		}
		for range retry.Doubling(ctx, 100*time.Millisecond, 5*time.Second) {
			err := r.Roster.Reload(ctx)
			if err == nil || ctx.Err() != nil {
				break
			}
			r.Log.ErrorContext(ctx, "cannot read the people anew", "error", err)
		}
	}
}

// loadPeople reads who has become a person on other engines.
func (r *Router) loadPeople(ctx context.Context) {
	if r.Wakes == nil {
		return
	}
	if err := r.Roster.Reload(ctx); err != nil && ctx.Err() == nil {
		r.Log.ErrorContext(ctx, "cannot read the people anew", "error", err)
	}
}

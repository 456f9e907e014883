package router

import (
	"context"
	"fmt"
	"strings"
	"time"

	"switchboard/channels/render"
	"switchboard/internal/retry"
	"switchboard/router/core"
	"switchboard/router/outbox"
)

// PeopleChanged has every engine read the people anew.
func (r *Router) PeopleChanged(ctx context.Context) {
	if err := r.Roster.Reload(ctx); err != nil {
		r.Log.ErrorContext(ctx, "cannot read the people anew", "error", err)
		retry.Signal(r.people)
	}
	r.wakeForPeople()
	r.goOn()
}

// JobsPaused notifies the admins of jobs of somebody that stopped, and why.
func (r *Router) JobsPaused(ctx context.Context, owner, why string, jobs []int64) {
	if len(jobs) == 0 {
		return
	}
	list := strings.ReplaceAll(strings.Trim(fmt.Sprint(jobs), "[]"), " ", ", ")
	r.Lines.Notify(ctx, outbox.NoticeJobDisabled, "paused "+list, fmt.Sprintf(
		"%s %s, so jobs of theirs are paused: %s. \"/jobs %d\" says more.", render.Escape(owner), why, list, jobs[0]))
}

// goOn does what follows once the people are read again: what waited for somebody who is back goes on,
// and menus follow roles.
func (r *Router) goOn() {
	r.Lines.RefreshMenus()
	r.turns.Queued()
	r.wakeScheduler()
}

// learn reads somebody anew, now or as soon as the database lets it.
func (r *Router) learn(ctx context.Context, name string) {
	if err := r.Roster.Learn(ctx, name); err != nil {
		r.Log.ErrorContext(ctx, "a new person is not known yet", "person", name, "error", err)
		retry.Signal(r.people)
	}
	r.Lines.RefreshMenus()
}

// wakeForPeople has the other engines read the people anew.
func (r *Router) wakeForPeople() {
	if r.Wakes != nil {
		r.Wakes.Wake(core.Wake{Kind: core.WakePeople})
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
			if err == nil {
				r.goOn()
			}
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

package router

import (
	"context"

	"switchboard/router/approvals"
	"switchboard/router/core"
	"switchboard/router/jobs"
	"switchboard/router/outbox"
	"switchboard/router/people"
	"switchboard/router/sessions"
	"switchboard/router/settings"
)

// Change makes a change for whoever asks for it outside of a message, and does what follows
// from it. *core.StateError: it is refused.
func (r *Router) Change(ctx context.Context, change core.Change, by core.Actor) error {
	if err := r.Store.Change(ctx, change, by); err != nil {
		return err
	}
	r.changed(ctx, change)
	return nil
}

// changed does what a change that is committed makes possible, here and on the other engines.
func (r *Router) changed(ctx context.Context, change core.Change) {
	r.Connections.Active()
	switch c := change.(type) {
	case *people.Change:
		r.People.Changed(ctx)
		why := "is no admin any more"
		if c.Kind == people.ChangeRemove {
			why = "was removed"
		}
		jobs.NotifyPaused(ctx, r.Connections, c.Person.Name, why, c.Paused)
		if c.Kind == people.ChangeRemove { // a file that does not name them may be right now
			r.Settled.Reread()
		}
	case *sessions.Change:
		if c.Person != "" {
			r.People.Changed(ctx)
			r.jobsChanged()
		}
	case *settings.SecretChange:
		r.Settled.SecretChanged()
		if c.Version != nil {
			r.Settled.Changed()
		}
	case *settings.Change:
		r.Settled.Decided(ctx, c)
	case *jobs.Change:
		r.jobsChanged()
	case *approvals.Decision:
		r.approvals.Decided(ctx, c.ID)
		r.turns.Queued()
		if c.Admitted != "" {
			r.People.Changed(ctx)
			r.Connections.Committed(c.At)
		}
	case *outbox.Post:
		r.Connections.Committed(c.Conversation)
	case *outbox.Change:
		r.Connections.Committed(c.Done.At) // who sends, also what is behind it
	}
}

// jobsChanged has every engine look at the jobs again.
func (r *Router) jobsChanged() {
	r.wakeScheduler()
	r.Connections.Wake(core.Wake{Kind: core.WakeJobs})
}

func (r *Router) wakeScheduler() {
	if r.JobsChanged != nil {
		r.JobsChanged()
	}
}

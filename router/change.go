package router

import (
	"context"

	"switchboard/internal/retry"
	"switchboard/router/ledger"
)

// Change makes a change for whoever asks for it outside of a message, and does what follows
// from it. *ledger.StateError: it is refused.
func (r *Router) Change(ctx context.Context, change ledger.Change, by ledger.Actor) error {
	if err := r.Ledger.Change(ctx, change, by); err != nil {
		return err
	}
	r.changed(ctx, change)
	return nil
}

// changed does what a change that is committed makes possible, here and on the other engines.
func (r *Router) changed(ctx context.Context, change ledger.Change) {
	switch c := change.(type) {
	case *ledger.PersonChange:
		r.PeopleChanged(ctx)
		why := "is no admin any more"
		if c.Kind == ledger.ChangeRemove {
			why = "was removed"
		}
		r.JobsPaused(ctx, c.Person.Name, why, c.Paused)
		if c.Kind == ledger.ChangeRemove { // a file that does not name them may be right now
			r.again.Store(true)
			retry.Signal(r.versions)
		}
	case *ledger.SessionChange:
		if c.Person != "" {
			r.PeopleChanged(ctx)
			r.jobsChanged()
		}
	case *ledger.SecretChange:
		r.SecretChanged()
		if c.Version != nil {
			r.settingsChanged()
		}
	case *ledger.SettingsChange:
		r.settingsDecided(ctx, c)
	case *ledger.JobChange:
		r.jobsChanged()
	case *ledger.DeliveryChange:
		r.Lines.Committed(c.Done.At) // who sends, also what is behind it
	}
}

// jobsChanged has every engine look at the jobs anew.
func (r *Router) jobsChanged() {
	r.wakeScheduler()
	if r.Wakes != nil {
		r.Wakes.Wake(ledger.Wake{Kind: ledger.WakeJobs})
	}
}

func (r *Router) wakeScheduler() {
	if r.JobsChanged != nil {
		r.JobsChanged()
	}
}

// followChange does what the commit of a command's change made possible.
func (r *Router) followChange(ctx context.Context, entry *classified, acc *ledger.Accepted) {
	if as, ok := entry.Intent.(*ledger.ControlIntent); ok && as.Change != nil && acc.Refusal == "" && !acc.Duplicate {
		r.changed(ctx, as.Change)
	}
}

package store

import (
	"context"
	"errors"
	"fmt"

	"switchboard/router/ledger"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/jobs"
	"switchboard/store/outbox"
	"switchboard/store/people"
	"switchboard/store/sessions"
	"switchboard/store/settings"
)

const roleOf = `SELECT role FROM people WHERE name = ?`

// Change implements router.Changes.
func (r *Router) Change(ctx context.Context, c ledger.Change, by ledger.Actor) error {
	err := r.db.Write(ctx, database.Durable, "change", func(t *database.Tx) error {
		if err := mayOrder(t, by.Turn != 0 && !personal(c), by); err != nil { // tools that change something are the admins'
			return err
		}
		return change(t, c, by)
	})
	refused, ok := errors.AsType[*ledger.StateError](err)
	if !ok {
		return err
	}
	if err := r.db.Write(ctx, database.Durable, "note a refusal", func(t *database.Tx) error { return declined(t, c, by, refused.Sentence) }); err != nil {
		return err
	}
	return refused // it says all there is to say
}

// change applies a change and writes its audit row.
func change(t *database.Tx, c ledger.Change, by ledger.Actor) error {
	a, err := apply(t, c, by)
	if err != nil {
		return err
	}
	a.Action, a.Target = c.Names()
	return audit.Write(t, by, a)
}

// apply does what a change wants. What the audit row says besides the change's names is
// returned.
func apply(t *database.Tx, c ledger.Change, by ledger.Actor) (audit.Entry, error) {
	switch c := c.(type) {
	case *ledger.PersonChange:
		return changePerson(t, c)
	case *ledger.SessionChange:
		return changeSession(t, c)
	case *ledger.DeliveryChange:
		return outbox.ChangeDelivery(t, c)
	case *ledger.Resend:
		return outbox.Resend(t, c)
	case *ledger.SecretChange:
		return settings.ChangeSecret(t, c, by)
	case *ledger.SettingsChange:
		return settings.Change(t, c, by)
	case *ledger.JobChange:
		return jobs.Change(t, c)
	case *ledger.NotificationsRead:
		return jobs.ReadNotifications(t, c)
	case *ledger.SettingsFileChange:
		return audit.Entry{Outcome: "done", Data: map[string]any{"file": c.File, "diff": c.Diff}}, nil
	}
	return audit.Entry{}, fmt.Errorf("%T is no change that is known", c)
}

// changePerson changes somebody who is not from the settings.
func changePerson(t *database.Tx, c *ledger.PersonChange) (a audit.Entry, err error) {
	c.Paused = nil
	demoted := false
	if c.Now, demoted, err = people.Change(t, c); err != nil {
		return a, err
	}
	if demoted {
		if c.Paused, err = jobs.PauseForRights(t, c.Now.Name); err != nil {
			return a, err
		}
	}
	data := map[string]any{"role": c.Now.Role, "identities": c.Now.Identities, "tools": c.Now.Tools}
	if len(c.Paused) > 0 {
		data["paused_jobs"] = c.Paused
	}
	return audit.Entry{Outcome: "done", Data: data}, nil
}

// personal says that a change is of what is somebody's own.
func personal(c ledger.Change) bool {
	switch c.(type) {
	case *ledger.JobChange, *ledger.NotificationsRead:
		return true
	}
	return false
}

// declined notes that a change was not made, and why.
func declined(t *database.Tx, c ledger.Change, by ledger.Actor, sentence string) error {
	a := audit.Entry{Outcome: "refused", Why: sentence}
	a.Action, a.Target = c.Names()
	return audit.Write(t, by, a)
}

// mayOrder refuses a change for admins by somebody who is none any more. Who is one stays one
// to the end of the transaction.
func mayOrder(t *database.Tx, admins bool, by ledger.Actor) error {
	if !admins {
		return nil
	}
	var role string
	if _, err := t.Row(t.Locked(roleOf), []any{by.Person}, &role); err != nil || role == ledger.RoleAdmin {
		return err
	}
	return &ledger.StateError{Sentence: "That is for admins."}
}

// acceptChange makes the change of a command and answers it: with its reply, with what it
// says of what became of it, or with why it was refused.
func acceptChange(t *database.Tx, e *ledger.Entry, as *ledger.ControlIntent, a *ledger.Accepted, conversation int64) error {
	by := audit.ActorOf(e)
	err := mayOrder(t, as.Admins, by)
	if err == nil {
		err = t.Try(func() error { return change(t, as.Change, by) })
	}
	if errors.Is(err, ledger.ErrNotFound) {
		_, target := as.Change.Names()
		err = &ledger.StateError{Sentence: "There is no " + target + "."}
	}
	if refused, ok := errors.AsType[*ledger.StateError](err); ok {
		if err := declined(t, as.Change, by, refused.Sentence); err != nil {
			return err
		}
		a.Refusal = refused.Sentence
		return outbox.Say(t, e, a, conversation, sessions.ClassControl, ledger.ChangeRefused)
	} else if err != nil {
		return err
	}
	reply := as.Reply
	if as.Say != nil {
		reply = as.Say()
		reply.Person = e.Sender.Person
	}
	_, err = outbox.Answer(t, e, a, conversation, sessions.ClassControl, reply)
	return err
}

package store

import (
	"context"
	"errors"
	"fmt"

	"switchboard/router/ledger"
)

const roleOf = `SELECT role FROM people WHERE name = ?`

// Change implements router.Changes.
func (r *Router) Change(ctx context.Context, c ledger.Change, by ledger.Hand) error {
	err := r.db.write(ctx, full, "change", func(t *tx) error {
		if err := t.mayOrder(by.Turn != 0 && !personal(c), by); err != nil { // tools that change something are the admins'
			return err
		}
		return t.change(c, by)
	})
	refused, ok := errors.AsType[*ledger.StateError](err)
	if !ok {
		return err
	}
	if err := r.db.write(ctx, full, "note a refusal", func(t *tx) error { return t.declined(c, by, refused.Sentence) }); err != nil {
		return err
	}
	return refused // it says all there is to say
}

// change applies a change and writes its audit row.
func (t *tx) change(c ledger.Change, by ledger.Hand) error {
	a, err := t.apply(c, by)
	if err != nil {
		return err
	}
	a.action, a.target = c.Names()
	return t.audit(by, a)
}

// apply does what a change wants. What the audit row says besides the change's names is
// returned.
func (t *tx) apply(c ledger.Change, by ledger.Hand) (audited, error) {
	switch c := c.(type) {
	case *ledger.PersonChange:
		return t.changePerson(c)
	case *ledger.SessionChange:
		return t.changeSession(c)
	case *ledger.DeliveryChange:
		return t.changeDelivery(c)
	case *ledger.Resend:
		return t.resend(c)
	case *ledger.SecretChange:
		return t.changeSecret(c, by)
	case *ledger.SettingsChange:
		return t.changeSettings(c, by)
	case *ledger.JobChange:
		return t.changeJob(c)
	case *ledger.NotificationsRead:
		return t.readNotifications(c)
	case *ledger.SettingsFileChange:
		return audited{outcome: "done", data: map[string]any{"file": c.File, "diff": c.Diff}}, nil
	}
	return audited{}, fmt.Errorf("%T is no change that is known", c)
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
func (t *tx) declined(c ledger.Change, by ledger.Hand, sentence string) error {
	a := audited{outcome: "refused", why: sentence}
	a.action, a.target = c.Names()
	return t.audit(by, a)
}

// mayOrder refuses a change for admins by somebody who is none any more. Who is one stays one
// to the end of the transaction.
func (t *tx) mayOrder(admins bool, by ledger.Hand) error {
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
func (t *tx) acceptChange(e *ledger.Entry, as *ledger.AsControl, a *ledger.Accepted, conversation int64) error {
	by := handOf(e)
	if as.Refusal != "" {
		if err := t.declined(as.Change, by, as.Refusal); err != nil {
			return err
		}
		_, err := t.answer(e, a, conversation, classControl, as.Reply)
		return err
	}
	err := t.mayOrder(as.Admins, by)
	if err == nil {
		err = t.change(as.Change, by)
	}
	if errors.Is(err, ledger.ErrNotFound) {
		_, target := as.Change.Names()
		err = &ledger.StateError{Sentence: "There is no " + target + "."}
	}
	if refused, ok := errors.AsType[*ledger.StateError](err); ok {
		a.Situation, a.Refusal = ledger.ChangeRefused, refused.Sentence
		return nil // what was begun of it is not committed: nobody has said yet what to answer
	} else if err != nil {
		return err
	}
	reply := as.Reply
	if as.Say != nil {
		reply = as.Say()
		reply.Person = e.Sender.Person
	}
	_, err = t.answer(e, a, conversation, classControl, reply)
	return err
}

package store

import (
	"context"
	"errors"
	"fmt"

	routerapprovals "switchboard/router/approvals"
	routerbrowsers "switchboard/router/browsers"
	"switchboard/router/core"
	"switchboard/router/intake"
	routerjobs "switchboard/router/jobs"
	routermemory "switchboard/router/memory"
	routeroutbox "switchboard/router/outbox"
	routerpeople "switchboard/router/people"
	routersessions "switchboard/router/sessions"
	routersettings "switchboard/router/settings"
	routertokens "switchboard/router/tokens"
	"switchboard/store/audit"
	"switchboard/store/browsers"
	"switchboard/store/database"
	"switchboard/store/jobs"
	"switchboard/store/memory"
	"switchboard/store/outbox"
	"switchboard/store/people"
	"switchboard/store/sessions"
	"switchboard/store/settings"
	"switchboard/store/tokens"
)

const roleOf = `SELECT role FROM people WHERE name = ?`

// Change makes a change and writes its audit row in the same transaction. *StateError: it is refused, and the
// refusal has an audit row.
func (r *Router) Change(ctx context.Context, c core.Change, by core.Actor) error {
	err := r.db.Write(ctx, database.Durable, "change", func(t *database.Tx) error {
		if err := mayOrder(t, by.Turn != 0 && !personal(c), by); err != nil { // tools that change something are the admins'
			return err
		}
		return change(t, c, by)
	})
	refused, ok := errors.AsType[*core.StateError](err)
	if !ok {
		return err
	}
	if err := r.db.Write(ctx, database.Durable, "note a refusal", func(t *database.Tx) error { return declined(t, c, by, refused.Sentence) }); err != nil {
		return err
	}
	return refused // it says all there is to say
}

// change applies a change and writes its audit row.
func change(t *database.Tx, c core.Change, by core.Actor) error {
	a, err := apply(t, c, by)
	if err != nil {
		return err
	}
	a.Action, a.Target = c.Names()
	return audit.Write(t, by, a)
}

// apply does what a change wants. What the audit row says besides the change's names is
// returned.
func apply(t *database.Tx, c core.Change, by core.Actor) (audit.Entry, error) {
	switch c := c.(type) {
	case *routerpeople.Change:
		return changePerson(t, c)
	case *routersessions.Change:
		return changeSession(t, c)
	case *routeroutbox.Change:
		return outbox.ChangeDelivery(t, c)
	case *routeroutbox.Post:
		return outbox.ChangePost(t, c)
	case *routerapprovals.Decision:
		return changeDecision(t, c, by)
	case *routeroutbox.Resend:
		return outbox.Resend(t, c)
	case *routersettings.SecretChange:
		return settings.ChangeSecret(t, c, by)
	case *routersettings.Change:
		return settings.Change(t, c, by)
	case *routerjobs.Change:
		return jobs.Change(t, c)
	case *routerjobs.NotificationsRead:
		return jobs.ReadNotifications(t, c)
	case *routertokens.Change:
		return tokens.Change(t, c)
	case *routerbrowsers.Change:
		return browsers.Change(t, c)
	case *routermemory.Change:
		return memory.Change(t, c)
	case *routermemory.Look:
		return audit.Entry{Outcome: "done"}, mayOrder(t, true, by)
	case *routersessions.Look:
		return audit.Entry{Outcome: "done", Data: map[string]any{"person": c.Person}}, mayOrder(t, true, by)
	case *routersettings.FileChange:
		return audit.Entry{Outcome: "done", Data: map[string]any{"file": c.File, "diff": c.Diff}}, nil
	}
	return audit.Entry{}, fmt.Errorf("%T is no change that is known", c)
}

// changePerson changes somebody who is not from the settings.
func changePerson(t *database.Tx, c *routerpeople.Change) (a audit.Entry, err error) {
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
	if c.Kind == routerpeople.ChangeRemove {
		revoked, err := tokens.Forget(t, c.Now.Name)
		if err != nil {
			return a, err
		}
		if len(revoked) > 0 {
			data["revoked_tokens"] = revoked
		}
		if err := browsers.Forget(t, c.Now.Name); err != nil {
			return a, err
		}
	}
	return audit.Entry{Outcome: "done", Data: data}, nil
}

// personal says that a change is of what is somebody's own.
func personal(c core.Change) bool {
	switch c.(type) {
	case *routerjobs.Change, *routerjobs.NotificationsRead, *routerbrowsers.Change, *routermemory.Change:
		return true
	}
	return false
}

// declined notes that a change was not made, and why.
func declined(t *database.Tx, c core.Change, by core.Actor, sentence string) error {
	a := audit.Entry{Outcome: "refused", Why: sentence}
	if m, ok := c.(*routermemory.Change); ok && m.Refusal != nil {
		a.Data = map[string]any{"rule": m.Refusal.Rule}
	}
	a.Action, a.Target = c.Names()
	return audit.Write(t, by, a)
}

// mayOrder refuses a change for admins by somebody who is none any more. Who is one stays one
// to the end of the transaction.
func mayOrder(t *database.Tx, admins bool, by core.Actor) error {
	if !admins {
		return nil
	}
	var role string
	if _, err := t.Row(t.Locked(roleOf), []any{by.Person}, &role); err != nil || role == core.RoleAdmin {
		return err
	}
	return &core.StateError{Sentence: "That is for admins."}
}

// acceptChange makes the change of a command and answers it: with its reply, with what it
// says of what became of it, or with why it was refused.
func acceptChange(t *database.Tx, e *intake.Entry, as *intake.ControlIntent, a *intake.Accepted, conversation int64) error {
	by := audit.ActorOf(e)
	err := mayOrder(t, as.Admins, by)
	if err == nil {
		err = t.Try(func() error { return change(t, as.Change, by) })
	}
	if errors.Is(err, core.ErrNotFound) {
		_, target := as.Change.Names()
		err = &core.StateError{Sentence: "There is no " + target + "."}
	}
	if refused, ok := errors.AsType[*core.StateError](err); ok {
		if err := declined(t, as.Change, by, refused.Sentence); err != nil {
			return err
		}
		a.Refusal = refused.Sentence
		return outbox.Say(t, e, a, conversation, sessions.ClassControl, intake.ChangeRefused)
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

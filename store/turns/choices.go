package turns

import (
	"switchboard/agent/tools"
	"switchboard/router/intake"
	routeroutbox "switchboard/router/outbox"
	"switchboard/store/database"
	"switchboard/store/outbox"
	"switchboard/store/sessions"
)

// AcceptAction uses an action, once: what it says becomes a turn. What was typed and answers no
// open question (there is no row) is a message like any other.
func AcceptAction(t *database.Tx, owner int64, e *intake.Entry, row *outbox.ActionRow, typed bool, turn intake.TurnIntent, a *intake.Accepted, conversation int64) error {
	if row == nil {
		if typed {
			return Accept(t, owner, e, turn, a, conversation, sessions.Form{Class: sessions.ClassTurn})
		}
		return nil
	}
	if usable, err := outbox.Usable(t, e, row, a); err != nil || !usable {
		return err
	}
	if row.Kind == routeroutbox.ActionCommand { // it comes again, as that
		a.Outcome = intake.CommandPressed
		return t.Do(sessions.DropKey, e.Key)
	}
	chosen, f := *e, sessions.Form{Class: sessions.ClassTurn}
	chosen.Event.Message.Text = row.Text
	// A choice has the taint of the question: then its words are not the person's own.
	chosen.Event.Message.Enclosed, chosen.Taint = row.Taint != tools.Clean, row.Taint.Join(e.Taint)
	if typed {
		f.Typed = database.Clean(e.Event.Message.Text)
	}
	if err := choose(t, owner, row, &chosen, turn, a, conversation, f); err != nil || a.Outcome == intake.OutcomeBusy || a.Duplicate {
		return err // it may be used later
	}
	a.Action = routeroutbox.ActionAccepted
	if err := t.Run(
		database.Do(outbox.SetAction, routeroutbox.ActionAccepted, "used", e.Sender.Person, t.Now, row.ID),
		database.Do(outbox.CancelSiblings, t.Now, row.MessageID, row.ID, row.Kind),
	); err != nil {
		return err
	}
	return outbox.Question(t, row, a)
}

// choose does what a choice does; its text is the message of the entry.
func choose(t *database.Tx, owner int64, row *outbox.ActionRow, chosen *intake.Entry, turn intake.TurnIntent, a *intake.Accepted, conversation int64, f sessions.Form) error {
	data, err := row.Stored()
	if err != nil {
		return err
	}
	switch data.Does {
	case routeroutbox.DoesRetry:
		turn.Retry = &intake.Retry{Turn: row.TurnID}
		return AcceptRetry(t, owner, chosen, turn, a, conversation, f, row.MessageID)
	case routeroutbox.DoesLeave:
		return declineRetry(t, chosen, a, conversation, f, intake.ChoiceLeft)
	}
	return Accept(t, owner, chosen, turn, a, conversation, f)
}

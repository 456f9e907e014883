package turns

import (
	"switchboard/router/intake"
	"switchboard/store/database"
	"switchboard/store/engines"
	"switchboard/store/outbox"
	"switchboard/store/sessions"
)

const (
	insertTurn = `
		INSERT INTO turns (session_id, message_id, person, state, absorb, not_before, asked_at, retry_of, ordered, terms, created_at)
		VALUES (?, ?, ?, 'queued', ?, ?, ?, ?, ?, ?, ?) RETURNING id`
	answeredBy = `UPDATE messages SET turn_id = ? WHERE id = ?`
	// CountQueued counts those that have not begun.
	CountQueued = `SELECT count(*) FROM turns WHERE session_id = ? AND rank > 0`
)

// Accept queues a message as a turn, and takes the session for the owner
// when it is idle and there is a worker.
func Accept(t *database.Tx, owner int64, e *intake.Entry, turn intake.TurnIntent, a *intake.Accepted, conversation int64, f sessions.Form) error {
	if turn.Ordered {
		turn = alone(turn)
	}
	if turn.Mode == ModeCollect {
		if merged, err := collect(t, e, turn, a, conversation, f); err != nil || merged {
			return err
		}
	}
	var queued int
	if _, err := t.Row(CountQueued, []any{a.SessionID}, &queued); err != nil {
		return err
	}
	switch {
	case queued >= turn.QueueLimit && turn.OrNothing:
		a.Outcome = intake.OutcomeBusy
		return t.Do(sessions.DropKey, e.Key)
	case queued >= turn.QueueLimit:
		return outbox.Say(t, e, a, conversation, sessions.ClassNotice, intake.OutcomeBusy)
	}
	return Queue(t, owner, e, turn, a, conversation, f)
}

// Queue stores a message as a turn, whatever room there is, and claims its session where it may.
func Queue(t *database.Tx, owner int64, e *intake.Entry, turn intake.TurnIntent, a *intake.Accepted, conversation int64, f sessions.Form) (err error) {
	var taken bool
	if a.MessageID, taken, err = sessions.Untaken(t, e, f, conversation, a.SessionID); err != nil {
		return err
	}
	if taken {
		*a = sessions.Duplicate
		return nil
	}
	notBefore := until(t, turn)
	a.NotBefore = database.Instant(notBefore)
	if a.TurnID, err = t.Insert(insertTurn, a.SessionID, a.MessageID, e.Sender.Person, turn.Mode == ModeSteer, notBefore,
		turn.Asked, sessions.OrNull(f.RetryOf), turn.Ordered, termsText(turn.Terms), t.Now); err != nil {
		return err
	}
	if err = t.Do(answeredBy, a.TurnID, a.MessageID); err != nil {
		return err
	}
	if err = meet(t, e, turn, a); err != nil {
		return err
	}
	events := []sessions.Event{{Kind: "message", Turn: a.TurnID, Message: a.MessageID}, sessions.TurnEvent(a.TurnID, "queued", "")}
	if turn.MayClaim {
		var began []sessions.Event
		if a.Claimed, began, err = claim(t, owner, a.SessionID, nil); err != nil {
			return err
		}
		events = append(events, began...)
		if c := a.Claimed; c != nil {
			// What cannot be read now is read, and complained of, by who runs the turn.
			if c.Data, err = load(t, c.TurnRef); err != nil {
				c.Data = nil
			}
		}
	} else {
		held, err := engines.Held(t, engines.Session, database.Digits(a.SessionID))
		if err != nil {
			return err
		}
		a.Waiting = !held && notBefore == 0
	}
	a.Event, err = sessions.Emit(t, a.SessionID, events...)
	return err
}

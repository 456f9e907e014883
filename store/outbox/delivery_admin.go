package outbox

import (
	"fmt"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/sessions"
)

const (
	deliveryChannel = `SELECT channel FROM deliveries WHERE id = ?`
	// LockLease keeps the channel's holder from beginning or settling a send before the
	// transaction ends: both lock this row to share it.
	LockLease = `SELECT fence FROM leases WHERE kind = 'channel' AND name = ?`
	oneByHand = `
		SELECT d.message_id, d.part, d.state, d.settled, d.outcome, d.tries, d.repeated,
			c.channel, c.conversation, c.kind, c.place, c.title, coalesce(m.session_id, 0), coalesce(m.turn_id, 0)
		FROM deliveries d JOIN messages m ON m.id = d.message_id JOIN conversations c ON c.id = d.conversation_id WHERE d.id = ?`
	// retryDead takes up the parts that died with it as well. The 15 minutes that a head
	// may block its conversation begin again; that it was tried before stays known.
	retryDead = `
		UPDATE deliveries SET state = 'pending', settled = FALSE, outcome = 'by_hand', detail = '', next_at = 0, first_try = 0,
			tries = CASE WHEN tries = 0 THEN 1 ELSE tries END, updated_at = ?
		WHERE message_id = ? AND state = 'dead'`
	// askAgain opens the question again, and gives it the time that the first one had.
	askAgain = `
		UPDATE deliveries SET state = 'unknown', settled = FALSE, outcome = 'by_hand', unnamed = FALSE, last_try = ?, updated_at = ? WHERE id = ?`
	// sendMarked: it was sent once more already, and its text is marked.
	sendMarked = `
		UPDATE deliveries SET state = 'pending', settled = FALSE, outcome = 'by_hand', unnamed = FALSE, next_at = 0, first_try = 0, updated_at = ?
		WHERE id = ?`
	dropByHand = `
		UPDATE deliveries SET state = 'dropped', settled = TRUE, outcome = 'by_hand', unnamed = FALSE, updated_at = ? WHERE id = ?`
)

// byHand is a delivery that somebody wants to change.
type byHand struct {
	id, message   int64
	part, tries   int
	state         outbox.DeliveryState
	settled       bool
	outcome       string
	repeated      bool
	at            channels.Conversation
	session, turn int64
}

// ChangeDelivery mends a delivery with nobody beginning or settling a send meanwhile.
func ChangeDelivery(t *database.Tx, c *outbox.Change) (a audit.Entry, err error) {
	d := byHand{id: c.ID}
	if err := lockDelivery(t, &d); err != nil {
		return a, err
	}
	change := map[outbox.ChangeKind]func(*database.Tx, *byHand) (outbox.DeliveryState, int, error){
		outbox.RetryDelivery: retryDelivery, outbox.DropDelivery: dropDelivery,
	}[c.Kind]
	if change == nil {
		return a, fmt.Errorf("%q is nothing to do with a delivery", c.Kind)
	}
	state, with, err := change(t, &d)
	if err != nil {
		return a, err
	}
	c.Done = &outbox.Changed{ID: d.id, Was: d.state, State: state, With: with, Channel: d.at.Channel, Conversation: string(d.at.ID), At: d.at}
	if d.session != 0 {
		if _, err := sessions.Emit(t, d.session, sessions.DeliveryEvent(d.turn, d.id, d.part, state, "by_hand")); err != nil {
			return a, err
		}
	}
	return audit.Entry{
		Outcome: string(state), Session: d.session, Turn: d.turn,
		Data: map[string]any{"was": d.state, "outcome": d.outcome, "tries": d.tries, "with": with},
	}, nil
}

func retryDelivery(t *database.Tx, d *byHand) (now outbox.DeliveryState, with int, err error) {
	switch {
	case d.state == outbox.DeliveryDead:
		n, err := t.Exec(retryDead, t.Now, d.message)
		return outbox.DeliveryPending, int(n) - 1, err
	case d.state == outbox.DeliveryUnknown && !d.settled:
		return "", 0, refusal(d, "it is being found out just now what became of it")
	case d.state == outbox.DeliveryUnknown && d.repeated:
		return outbox.DeliveryPending, 0, t.Do(sendMarked, t.Now, d.id)
	case d.state == outbox.DeliveryUnknown:
		return outbox.DeliveryUnknown, 0, t.Do(askAgain, t.Now, t.Now, d.id)
	}
	return "", 0, refusal(d, map[outbox.DeliveryState]string{
		outbox.DeliveryPending: "it is waiting to be sent already",
		outbox.DeliverySending: "it is being sent just now",
		outbox.DeliverySent:    "it was sent, and would be there twice",
		outbox.DeliveryDraft:   "it shows what a turn is doing and goes on with it",
		outbox.DeliveryDropped: "it was given up for good; ask for the answer again",
	}[d.state])
}

func dropDelivery(t *database.Tx, d *byHand) (now outbox.DeliveryState, with int, err error) {
	switch d.state {
	case outbox.DeliveryPending, outbox.DeliveryUnknown, outbox.DeliveryDead:
		return outbox.DeliveryDropped, 0, t.Do(dropByHand, t.Now, d.id)
	}
	return "", 0, refusal(d, map[outbox.DeliveryState]string{
		outbox.DeliverySending: "it is being sent just now; what becomes of that is known in a moment",
		outbox.DeliverySent:    "it was sent, and cannot be taken back",
		outbox.DeliveryDraft:   "it shows what a turn is doing; \"switchboard turn cancel\" ends both",
		outbox.DeliveryDropped: "it was given up already",
	}[d.state])
}

func refusal(d *byHand, why string) error {
	return &core.StateError{Sentence: fmt.Sprintf("delivery %d is %s: %s", d.id, d.state, why)}
}

// lockDelivery reads a delivery that stays as it is to the end of the transaction.
func lockDelivery(t *database.Tx, d *byHand) error {
	var fence int64
	if err := t.Must(core.ErrNotFound, deliveryChannel, []any{d.id}, &d.at.Channel); err != nil {
		return err
	}
	if _, err := t.Row(t.Locked(LockLease), []any{d.at.Channel}, &fence); err != nil {
		return err
	}
	return t.Must(core.ErrNotFound, oneByHand, []any{d.id}, &d.message, &d.part, &d.state, &d.settled, &d.outcome, &d.tries, &d.repeated,
		&d.at.Channel, &d.at.ID, &d.at.Kind, &d.at.Place, &d.at.Title, &d.session, &d.turn)
}

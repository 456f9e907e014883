package store

import "switchboard/router/ledger"

type deliveryData struct {
	Delivery int64  `json:"delivery,string"`
	Part     int    `json:"part"`
	State    string `json:"state"`
	Outcome  string `json:"outcome,omitempty"`
}

// deliveryEvent says what became of a part.
func deliveryEvent(turn, delivery int64, part int, state ledger.DeliveryState, outcome string) event {
	return event{Kind: "delivery", Turn: turn, Data: jsonText(deliveryData{delivery, part, string(state), cut(clean(outcome), 100)})}
}

// needsEvent says whether a settlement is worth an event. What was sent at the first try is
// not: the event of its message says so, and every message would pay for one more.
func needsEvent(d *ledger.Delivery, s *ledger.Settlement) bool {
	switch s.State {
	case ledger.DeliverySent:
		return d.Tries > 1 || d.Repeated || d.State == ledger.DeliveryUnknown
	case ledger.DeliveryUnknown:
		return s.Final || d.State != ledger.DeliveryUnknown
	case ledger.DeliveryDead, ledger.DeliveryDropped:
		return true
	}
	return false
}

// messageOf finds where an event about a message's part belongs.
const messageOf = `SELECT coalesce(session_id, 0), coalesce(turn_id, 0) FROM messages WHERE id = ?`

// emitSettled writes the event of a settlement.
func (t *tx) emitSettled(message int64, d *ledger.Delivery, s *ledger.Settlement) error {
	if !needsEvent(d, s) {
		return nil
	}
	var session, turn int64
	if _, err := t.Row(messageOf, []any{message}, &session, &turn); err != nil || session == 0 {
		return err
	}
	_, err := t.emit(session, deliveryEvent(turn, d.ID, d.Part, s.State, s.Outcome))
	return err
}

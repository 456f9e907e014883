package router

import (
	"context"

	"switchboard/channels"
)

// Mending changes deliveries by hand. Each change leaves an audit row in the same
// transaction. Implemented by store. ErrNotFound; *StateError: its state does not
// allow it, and nothing was changed.
type Mending interface {
	// RetryDelivery has a part sent that is dead, with those of its message that died with
	// it, or asks anew about one that is unknown for good: what is looked up or sent under
	// the same nonce is as at first, and what is not is sent once more, marked.
	RetryDelivery(ctx context.Context, id int64, by Hand) (*MendedDelivery, error)
	// DropDelivery gives a part up that is pending, unknown or dead.
	DropDelivery(ctx context.Context, id int64, by Hand) (*MendedDelivery, error)
}

// A Hand is who does something by hand, and the rule that lets them.
type Hand struct {
	Person string
	Rule   string
}

// OwnerHand is whoever runs the program on this machine, under a person's name.
func OwnerHand(person string) Hand { return Hand{Person: person, Rule: ruleMachine} }

// A MendedDelivery is what became of a delivery by hand.
type MendedDelivery struct {
	ID           int64         `json:"id,string"`
	Was          DeliveryState `json:"was"`
	State        DeliveryState `json:"state"`
	With         int           `json:"with"` // how many other parts of its message went with it
	Channel      string        `json:"channel"`
	Conversation string        `json:"conversation"`
	// At is that conversation, whole.
	At channels.Conversation `json:"-"`
}

// A StateError says in a sentence why something cannot be done by hand in the state it
// is in. Returned by Mending and Turns.Cancel.
type StateError struct{ Sentence string }

func (e *StateError) Error() string { return e.Sentence }

// RetryDelivery is that of Mending, and wakes who sends.
func (ls *Lines) RetryDelivery(ctx context.Context, id int64, by Hand) (*MendedDelivery, error) {
	return ls.mended(ls.Ledger.RetryDelivery(ctx, id, by))
}

// DropDelivery is that of Mending, and wakes who sends what is behind it.
func (ls *Lines) DropDelivery(ctx context.Context, id int64, by Hand) (*MendedDelivery, error) {
	return ls.mended(ls.Ledger.DropDelivery(ctx, id, by))
}

func (ls *Lines) mended(m *MendedDelivery, err error) (*MendedDelivery, error) {
	if err != nil {
		return nil, err
	}
	ls.committed(m.At)
	return m, nil
}

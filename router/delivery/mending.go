package delivery

import (
	"context"

	"switchboard/router/ledger"
)

// Mending changes deliveries by hand. Each change leaves an audit row in the same
// transaction. Implemented by store. ErrNotFound; *StateError: its state does not
// allow it, and nothing was changed.
type Mending interface {
	// RetryDelivery has a part sent that is dead, with those of its message that died with
	// it, or asks anew about one that is unknown for good: what is looked up or sent under
	// the same nonce is as at first, and what is not is sent once more, marked.
	RetryDelivery(ctx context.Context, id int64, by ledger.Hand) (*ledger.MendedDelivery, error)
	// DropDelivery gives a part up that is pending, unknown or dead.
	DropDelivery(ctx context.Context, id int64, by ledger.Hand) (*ledger.MendedDelivery, error)
}

// RetryDelivery is that of Mending, and wakes who sends.
func (ls *Lines) RetryDelivery(ctx context.Context, id int64, by ledger.Hand) (*ledger.MendedDelivery, error) {
	return ls.mended(ls.Ledger.RetryDelivery(ctx, id, by))
}

// DropDelivery is that of Mending, and wakes who sends what is behind it.
func (ls *Lines) DropDelivery(ctx context.Context, id int64, by ledger.Hand) (*ledger.MendedDelivery, error) {
	return ls.mended(ls.Ledger.DropDelivery(ctx, id, by))
}

func (ls *Lines) mended(m *ledger.MendedDelivery, err error) (*ledger.MendedDelivery, error) {
	if err != nil {
		return nil, err
	}
	ls.Committed(m.At)
	return m, nil
}

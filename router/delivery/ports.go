package delivery

import (
	"context"
	"time"

	"switchboard/channels"
	"switchboard/router/ledger"
	"switchboard/router/view"
)

// Outbox holds deliveries.
type Outbox interface {
	// TakeChannel takes the channel's lease; ok is false while a living owner
	// other than this one holds it. Deliveries that an earlier holder left sending
	// become unknown in the same transaction.
	TakeChannel(ctx context.Context, owner int64, channel string) (hold ledger.Hold, ok bool, err error)
	// DropChannel releases the lease.
	DropChannel(ctx context.Context, hold ledger.Hold) error
	// Open lists the conversations of the channel that have deliveries to settle. ErrFenced.
	Open(ctx context.Context, hold ledger.Hold) ([]channels.Conversation, error)
	// Begin looks at the conversation's head. One that is pending and due is set
	// sending, durable to power loss, and returned; one in state unknown is
	// returned as it is. With nothing to do it returns nil, and when the head will
	// be due (zero: there is none). ErrFenced.
	Begin(ctx context.Context, hold ledger.Hold, conv channels.Conversation) (d *ledger.Delivery, due time.Time, err error)
	// Settle records what became of a delivery that was begun. More says that the
	// conversation has deliveries open still, this one among them if it is. ErrFenced.
	Settle(ctx context.Context, hold ledger.Hold, d *ledger.Delivery, s ledger.Settlement) (more bool, err error)
	// Answered says that there were choices under a message of ours and none of them
	// can be made any more.
	Answered(ctx context.Context, message int64) (bool, error)
	// Gone notes that conv is closed to us; first says that this was not known. It is
	// forgotten when something comes from there again.
	Gone(ctx context.Context, hold ledger.Hold, conv channels.Conversation) (first bool, err error)
}

// Notices says something outside any turn.
type Notices interface {
	// AdminChats lists each admin's last used direct conversation, on any channel.
	AdminChats(ctx context.Context) ([]channels.Conversation, error)
	// Notify commits a message of ours to a conversation. A key that is known already
	// makes it nothing: told is false.
	Notify(ctx context.Context, key []byte, conv channels.Conversation, reply ledger.Reply) (told bool, err error)
	// Current is that of Views.
	Current(ctx context.Context, session string) (*view.Turn, error)
}

package delivery

import (
	"context"
	"time"

	"switchboard/router/core"
	"switchboard/router/outbox"

	"switchboard/channels"
)

// Leases are the channels'.
type Leases interface {
	// TakeChannel takes the channel's lease; ok is false while a living owner
	// other than this one holds it. Deliveries that an earlier holder left sending
	// become unknown in the same transaction.
	TakeChannel(ctx context.Context, owner int64, channel string) (hold outbox.Lease, ok bool, err error)
	// DropChannel releases the lease.
	DropChannel(ctx context.Context, hold outbox.Lease) error
}

// Deliveries are parts on their way.
type Deliveries interface {
	// Open lists the conversations of the channel that have deliveries to settle. ErrFenced.
	Open(ctx context.Context, hold outbox.Lease) ([]channels.Conversation, error)
	// Begin reads the conversation's head. One that is pending and due is set
	// sending, durable to power loss, and returned; one in state unknown is
	// returned as it is. With nothing to do it returns nil, and when the head will
	// be due (zero: there is none). ErrFenced.
	Begin(ctx context.Context, hold outbox.Lease, conv channels.Conversation) (d *outbox.Delivery, due time.Time, err error)
	// Note keeps what the adapter notes with a delivery that is being sent, durable to power
	// loss, and Begin returns it. ErrFenced, ErrConflict.
	Note(ctx context.Context, hold outbox.Lease, d *outbox.Delivery, noted string) error
	// Taken says whether a message of a delivery's conversation is that of another delivery, or of
	// a draft. It reads the latest alone.
	Taken(ctx context.Context, d *outbox.Delivery, id channels.MessageID) (bool, error)
	// Settle records what became of a delivery that was begun. More says that the
	// conversation has deliveries open still, this one among them if it is. ErrFenced.
	Settle(ctx context.Context, hold outbox.Lease, d *outbox.Delivery, s outbox.Settlement) (more bool, err error)
}

// Unnamed are parts that ended unknown, and whose people do not know yet.
type Unnamed interface {
	// Unnamed lists parts of the channel that ended unknown with Settlement.Unnamed, and were not
	// named since. ErrFenced.
	Unnamed(ctx context.Context, hold outbox.Lease) ([]outbox.Unnamed, error)
	// Name commits a message that names parts of one conversation to it, and notes that they are
	// named. Where none of them needs it any more it does nothing. ErrFenced.
	Name(ctx context.Context, hold outbox.Lease, lost []outbox.Unnamed, reply outbox.Reply) error
}

// Questions are messages of ours with buttons.
type Questions interface {
	// Answered says that there were choices under a message of ours and none of them
	// can be made any more; approval is what they decided, 0 where it was no approval.
	Answered(ctx context.Context, message int64) (over bool, approval int64, err error)
	// Useless is under which ID a message of ours shows buttons of which none can be used any more;
	// empty: nowhere.
	Useless(ctx context.Context, message int64) (channels.MessageID, error)
	// Questions are the messages with the buttons of an approval, as far as they are shown.
	Questions(ctx context.Context, approval int64) ([]outbox.Decided, error)
}

// Notices says something outside any turn.
type Notices interface {
	// AdminChats lists the direct conversations of admins, on any channel; of each the one
	// that they used last comes first.
	AdminChats(ctx context.Context) ([]core.Chat, error)
	// Notify commits a message of ours to a conversation. A key that is known already
	// makes it nothing: notified is false.
	Notify(ctx context.Context, key []byte, conv channels.Conversation, reply outbox.Reply) (notified bool, err error)
	// NotifyFor is Notify with a key that is forgotten after so long.
	NotifyFor(ctx context.Context, key []byte, quiet time.Duration, conv channels.Conversation, reply outbox.Reply) (notified bool, err error)
	// IsNotice says whether a message of ours is a notice.
	IsNotice(ctx context.Context, message int64) (bool, error)
	// Gone notes that conv is closed to us; first says that this was not known. It is
	// forgotten when something comes from there again.
	Gone(ctx context.Context, hold outbox.Lease, conv channels.Conversation) (first bool, err error)
	// Chats is that of Views.
	Chats(ctx context.Context) ([]core.Chat, error)
	// CurrentPerson is whose turn is the current one of a session, as Views has it. ErrNotFound.
	CurrentPerson(ctx context.Context, session string) (string, error)
}

// Drafts holds what is shown of messages before they are there. The turn writes under
// its session's lease, who shows it under the channel's; on several engines these may
// be two.
type Drafts interface {
	// Draft commits an empty message of the turn with one delivery in state draft,
	// which blocks nothing, and returns it; of a draft that is open it sets the body.
	// A body without text is not for others to show. A turn has one open draft at
	// most. ErrFenced.
	Draft(ctx context.Context, ref core.TurnRef, to channels.MessageID, body channels.Body) (delivery int64, err error)
	// Drafts lists the channel's open drafts, and those to be retracted; also those that became
	// unknown within the last hour.
	Drafts(ctx context.Context, channel string) ([]outbox.Draft, error)
	// BeginDraft notes that the first call about a draft begins, and what it shows, unless it is
	// shown already; its platform ID says where, if it is. ready is false while something said before is on
	// its way in the conversation. ErrConflict: it is a draft no more, or a call begun
	// by another holder may have shown it where nobody can find it. ErrFenced.
	BeginDraft(ctx context.Context, hold outbox.Lease, delivery int64, first channels.Body) (begun outbox.Draft, ready bool, err error)
	// ResumeDraft returns a draft whose first call began and is not known to have ended, be it
	// needed or not: it is as if this hold had begun it. ErrConflict: there is none, or a part is
	// on its way in the conversation and may be shown nobody knows where. ErrFenced.
	ResumeDraft(ctx context.Context, hold outbox.Lease, delivery int64) (outbox.Draft, error)
	// Drafted notes where a draft is shown that this hold began, even if the hold was
	// lost meanwhile; with no id, that it surely is not. Late says that it is a draft
	// no more, and is to be retracted.
	Drafted(ctx context.Context, hold outbox.Lease, delivery int64, id channels.MessageID) (late bool, err error)
	// Abandon gives what is shown for a delivery that is being sent a row of its own,
	// to be retracted: the delivery is sent again. ErrFenced, ErrConflict.
	Abandon(ctx context.Context, hold outbox.Lease, delivery int64) error
	// EndDraft ends the story of a draft that was to be retracted; outcome says how.
	EndDraft(ctx context.Context, hold outbox.Lease, delivery int64, outcome string) error
}

// ShownTurns holds which turns may be shown at work, so that what is shown of one that has ended is
// taken away by whoever holds the channel.
type ShownTurns interface {
	// ShowTurn notes that a running turn is to be shown at work. ErrFenced.
	ShowTurn(ctx context.Context, ref core.TurnRef) error
	// ShownTurns lists the channel's turns that may be shown at work, and what is to be shown of each now.
	ShownTurns(ctx context.Context, channel string) ([]outbox.ShownTurn, error)
	// HideTurn notes that nothing is shown of a turn that has ended. ErrFenced.
	HideTurn(ctx context.Context, hold outbox.Lease, turn int64) error
}

// People are who may be notified.
type People interface {
	Named(name string) *core.Person
	Identified(identities ...string) *core.Person
}

// An Engine is this program's row among the owners.
type Engine interface {
	ID() int64
	// Safe says whether the leases surely still hold, by the wall clock; asked
	// directly before each side effect.
	Safe() bool
	// Guard returns a context for one side effect, which ends with the cause
	// tools.ErrUnsafe before the leases could be somebody else's. The caller calls the
	// function when the effect is over.
	Guard(ctx context.Context) (context.Context, context.CancelFunc)
}

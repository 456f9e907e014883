package outbox

import (
	"time"

	"switchboard/channels"
)

// Lease is a channel's lease.
type Lease struct {
	Channel string
	Fence   int64
}

// A DeliveryState is how far a part has come; docs/architecture.md draws them.
type DeliveryState string

const (
	DeliveryDraft   DeliveryState = "draft"
	DeliveryPending DeliveryState = "pending"
	DeliverySending DeliveryState = "sending"
	DeliverySent    DeliveryState = "sent"
	DeliveryUnknown DeliveryState = "unknown"
	DeliveryDead    DeliveryState = "dead"
	DeliveryDropped DeliveryState = "dropped"
)

// A Delivery is one part on its way out.
type Delivery struct {
	ID           int64
	MessageID    int64
	Conversation channels.Conversation
	Body         channels.Body
	ReplyTo      channels.MessageID
	PlatformID   channels.MessageID // of the draft it takes the place of: edit that; empty: send
	Nonce        string
	Noted        string // by the adapter in an earlier try
	Part         int
	Last         bool
	State        DeliveryState // sending, or unknown
	Tries        int           // sends begun, this one included
	Repeated     bool          // the send is the one marked repeat
	FirstTry     time.Time     // when the first send began
	LastTry      time.Time     // when the latest send began
	Written      time.Time     // when it was committed
}

// A Settlement is what became of a delivery.
type Settlement struct {
	State      DeliveryState // sent | pending | unknown | dead | dropped
	Outcome    string        // a short word, e.g. "found", "refused", "gone", "blocked_too_long"
	Detail     string        // the platform's words, for the operator
	PlatformID channels.MessageID
	NextAt     time.Time // pending: not before
	FreeTry    bool      // pending: this try does not count (channel-wide failure)
	// Repeated, with pending: the next send is the one repeat and Body (marked)
	// replaces the part's.
	Repeated bool
	Body     *channels.Body
	// Final, with unknown: a second unknown, or one nobody may resend; it no
	// longer blocks its conversation.
	Final bool
	// Unnamed, with Final: the part's person is to be told of it, see Unnamed.
	Unnamed bool
	// Fresh, with pending: limits of time begin with the next send. What was before is known not to have arrived, or the next send says that it may have.
	Fresh bool
	// Unedit, with pending: the message to edit is not there any more, so that the
	// next try sends a new one.
	Unedit bool
	// Conversation, with dropped: all open deliveries of the conversation go with it.
	Conversation bool
}

// An Unnamed is a part of which nobody will know whether it arrived, or that was dropped as its
// channel was away too long, and which its conversation was not told of yet.
type Unnamed struct {
	Delivery     int64
	Message      int64
	Dropped      bool
	Conversation channels.Conversation
	Person       string    // whose message it is of; may be empty
	Notice       bool      // it is of a notice
	Written      time.Time // when it was committed
}

// A Changed is what became of a delivery by hand.
type Changed struct {
	ID           int64         `json:"id,string"`
	Was          DeliveryState `json:"was"`
	State        DeliveryState `json:"state"`
	With         int           `json:"with"` // how many other parts of its message went with it
	Channel      string        `json:"channel"`
	Conversation string        `json:"conversation"`
	// At is that conversation, whole.
	At channels.Conversation `json:"-"`
}

// A DraftStage is how far a draft's showing has come.
type DraftStage string

const (
	DraftOpen    DraftStage = "open"  // nothing was shown
	DraftBegun   DraftStage = "begun" // the first call began, and how it ended is not known
	DraftShown   DraftStage = "shown" // PlatformID says where
	DraftLeave   DraftStage = "leave" // shown, needed no more, and to be taken back
	DraftUnknown DraftStage = "doubt" // begun, and needed no more
)

// A Draft is a delivery that grows until a message takes its place.
type Draft struct {
	Delivery     int64
	Turn         int64
	Conversation channels.Conversation
	ReplyTo      channels.MessageID
	PlatformID   channels.MessageID // empty: nothing is known to be shown
	Body         channels.Body      // no text: the turn's engine shows it itself
	Stage        DraftStage
	Nonce        string        // of the first call
	First        channels.Body // what it shows; none: nobody will look for it
	FirstTry     time.Time     // when it began
	Fence        int64         // of the hold that began the first call
	Since        time.Time     // when the row was changed last
}

// A ShownTurn is a turn whose state may be shown at the message that it works on.
type ShownTurn struct {
	Turn         int64
	Conversation channels.Conversation
	Message      channels.MessageID
	State        channels.TurnState
}

package router

import (
	"context"
	"errors"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
)

// The router's needs, implemented by store. Every write is one transaction that
// runs to its end once begun, whatever becomes of the caller's context.

// ErrFenced is returned by writes under a fence that is no longer the newest:
// another engine took the session or channel over, and nothing was written.
var ErrFenced = errors.New("the lease was taken over")

// ErrConflict is returned by writes that contradict what is stored, and changed
// nothing: what the caller knows is out of date, so it has to load anew.
var ErrConflict = errors.New("it contradicts what is stored")

// ErrRefused is returned by writes with a value that the database does not take,
// and would not another time; nothing was written.
var ErrRefused = errors.New("the database does not take such a value")

// ErrNotFound is returned where a row asked for does not exist.
var ErrNotFound = errors.New("not found")

// Intake commits what came in.
type Intake interface {
	// Accept commits all entries in one transaction, durable to power loss, and
	// returns one result an entry, in order. ErrRefused, ErrConflict: it
	// is the fault of an entry.
	Accept(ctx context.Context, owner int64, entries []Entry) ([]Accepted, error)
}

// A Class says what an entry becomes.
type Class string

const (
	ClassTurn     Class = "turn"     // a message that is queued as a turn
	ClassControl  Class = "control"  // a command: applied at once, answered by Reply
	ClassNotice   Class = "notice"   // kept and answered by Reply alone (empty, too long, too fast)
	ClassStranger Class = "stranger" // kept for audit: no session, no turn
	ClassRejected Class = "rejected" // kept raw; nothing else
)

// An Effect is what a control entry does in its transaction.
type Effect string

const (
	EffectNone Effect = ""
	// EffectCancel asks the person's open turn to stop: the one that runs, else the
	// next. One that has not begun ends at once, answered by Dropped; with none,
	// Reply answers.
	EffectCancel Effect = "cancel"
	EffectReset  Effect = "reset" // forget the conversation so far
)

// An Entry is one sorted event, ready to be committed.
type Entry struct {
	Class    Class
	Key      []byte // hash of channel and event key
	Event    channels.Event
	Identity string // "kind:id" of the sender
	Person   string // the person's name; empty for strangers and rejected
	// NewPerson says that Person is created by this entry, role user, with
	// Identity (policy "open").
	NewPerson bool
	Origin    string // chat | api | job
	Taint     tools.Taint
	Reject    string // ClassRejected: why
	// Reply answers control and notice entries in the same transaction.
	Reply *Reply
	// Dropped answers EffectCancel in place of Reply when it ended a turn that had
	// not begun.
	Dropped *Reply
	// Busy answers a turn entry instead of queueing it when QueueLimit turns wait
	// in the session already.
	Busy       *Reply
	QueueLimit int
	Effect     Effect
	// AnyPerson lets EffectCancel stop another person's turn (admins).
	AnyPerson bool
	// MayClaim: this engine has a worker for it. If the session is idle, its lease
	// is taken and its next turn set running in the same transaction.
	MayClaim bool
}

// A Reply is a message of ours with its rendered parts.
type Reply struct {
	Text   string
	Parts  []channels.Body
	Notice bool
	Final  bool
	Taint  tools.Taint
	// Read: the channel's clients read for themselves, so that the deliveries are
	// sent when committed.
	Read    bool
	ReplyTo channels.MessageID
}

// Accepted is what became of an entry.
type Accepted struct {
	channels.Receipt
	SessionID int64
	Busy      bool     // answered by Entry.Busy
	Claimed   *Claimed // a turn to run now, under a lease taken by this entry
	// Waiting: a turn was queued and nobody claimed it because MayClaim was false.
	Waiting bool
	// CancelTurn is the turn that was asked to stop; 0: none, or it had not begun
	// and ended at once.
	CancelTurn int64
}

// TurnRef names a turn and the lease under which it runs.
type TurnRef struct {
	TurnID, SessionID, Fence int64
}

// Claimed is a turn that this engine is to run.
type Claimed struct {
	TurnRef
	Person string
}

// Turns runs sessions.
type Turns interface {
	// Claim takes the leases of up to limit sessions that nobody holds and whose
	// next turn is queued, or was left running by a dead owner; the longest
	// waiting first, none whose next turn is for a person in except. It sets those
	// turns running. Channels restricts it to sessions of these channels.
	Claim(ctx context.Context, owner int64, channels []string, except []string, limit int) ([]Claimed, error)
	// Load reads all that a turn needs. ErrFenced, ErrNotFound.
	Load(ctx context.Context, ref TurnRef) (*TurnData, error)
	// Commit writes a step; says[i] renders step.Say[i]. When step.End is set the
	// turn ends, and either the session's next queued turn is set running under the
	// same lease and returned, or the lease is released. ErrFenced.
	Commit(ctx context.Context, ref TurnRef, step agent.Step, says []Reply) (next *Claimed, err error)
	// GiveBack releases a session's lease; a running turn stays running, to be
	// claimed by anybody. ErrFenced is no error here.
	GiveBack(ctx context.Context, ref TurnRef) error
	// Cancel asks an open turn to stop, and ends one that has not begun at once. It
	// returns Channel and ID of the conversation. ErrNotFound: no open turn of that id.
	Cancel(ctx context.Context, turnID int64) (channels.Conversation, error)
}

// TurnData is a turn with its session, message and what was committed of it.
type TurnData struct {
	Turn            agent.Turn // Place and Workspace are left for the router
	State           agent.State
	Conversation    channels.Conversation
	ReplyTo         channels.MessageID // the message the turn answers
	CancelRequested bool
	// Resumed counts how often the turn was taken over from an engine that died,
	// since its latest committed step.
	Resumed int
}

// Outbox holds deliveries.
type Outbox interface {
	// TakeChannel takes the channel's lease; ok is false while a living owner
	// other than this one holds it. Deliveries that an earlier holder left sending
	// become unknown in the same transaction.
	TakeChannel(ctx context.Context, owner int64, channel string) (hold Hold, ok bool, err error)
	// DropChannel releases the lease.
	DropChannel(ctx context.Context, hold Hold) error
	// Open lists the conversations of the channel that have deliveries to settle.
	Open(ctx context.Context, hold Hold) ([]channels.ConversationID, error)
	// Begin looks at the conversation's head. One that is pending and due is set
	// sending, durable to power loss, and returned; one in state unknown is
	// returned as it is. With nothing to do it returns nil, and when the head will
	// be due (zero: there is none). ErrFenced.
	Begin(ctx context.Context, hold Hold, conv channels.ConversationID) (d *Delivery, due time.Time, err error)
	// Settle records what became of a delivery that Begin returned. ErrFenced.
	Settle(ctx context.Context, hold Hold, d *Delivery, s Settlement) error
}

// Hold is a channel's lease.
type Hold struct {
	Channel string
	Owner   int64
	Fence   int64
}

// A DeliveryState is a state of DESIGN §2.
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
	Nonce        string
	Part         int
	Last         bool
	State        DeliveryState // sending, or unknown
	Tries        int           // sends begun, this one included
	Repeated     bool          // the send is the one marked repeat
	FirstTry     time.Time     // when the first send began
	LastTry      time.Time     // when the latest send began
}

// A Settlement is what became of a delivery.
type Settlement struct {
	State      DeliveryState // sent | pending | unknown | dead | dropped
	Outcome    string        // a short word, e.g. "found", "refused", "gone", "too_long_failing"
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
	// Conversation, with dropped: all open deliveries of the conversation go with it.
	Conversation bool
}

// Directory knows the people.
type Directory interface {
	// People lists everybody with their identities.
	People(ctx context.Context) ([]Person, error)
	// SetPeople makes the people of the settings exactly these; people from
	// elsewhere (source "open") stay, unless an identity of theirs is named here.
	SetPeople(ctx context.Context, people []Person) error
}

// A Person is somebody the bot knows.
type Person struct {
	Name       string   `json:"name"`
	Role       string   `json:"role"` // admin | user
	Identities []string `json:"identities"`
	Tools      []string `json:"tools"` // patterns; ["*"] is everything; empty is nothing
	TimeZone   string   `json:"timezone"`
	Source     string   `json:"source"` // config | open | local
}

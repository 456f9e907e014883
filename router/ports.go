package router

import (
	"context"
	"errors"
	"time"

	"switchboard/agent"
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

// ErrNotNow is wrapped by all that says that the database cannot be asked, or can take
// nothing, for now (unreachable, full, read-only, not migrated) or asks for another try:
// nothing that it was asked is at fault.
var ErrNotNow = errors.New("the database cannot do it now")

// ErrUnreadable is returned by Load, Absorb and Backlog when a part of what is stored is not what we write.
// To try again brings nothing.
var ErrUnreadable = errors.New("what is stored of the turn cannot be read")

// ErrUnsaid is returned by Accept when entries are in a Situation for which they bring no
// reply, and nothing was committed: the replies are to be rendered, and all is to be
// accepted again.
var ErrUnsaid = errors.New("it is not said what is to be answered")

// ErrNotFound is returned where a row asked for does not exist.
var ErrNotFound = errors.New("not found")

// Intake commits what came in.
type Intake interface {
	// Accept commits all entries in one transaction, durable to power loss, and
	// returns one result an entry, in order. ErrRefused: it is the fault of an entry.
	// ErrNotNow: it is of none. ErrUnsaid: the results name the situations.
	Accept(ctx context.Context, owner int64, entries []Entry) ([]Accepted, error)
	// Known says which of these keys are committed already, by the key.
	Known(ctx context.Context, keys [][]byte) (map[string]bool, error)
	// Moved lists every conversation that got a new ID, in order, so that settings
	// written with a former one (allow_conversations) go on to mean it.
	Moved(ctx context.Context) ([]Moved, error)
}

// A Moved is a conversation by a former ID and its present one.
type Moved struct {
	Channel         string
	Former, Current channels.ConversationID
}

// TurnRef names a turn and the lease under which it runs.
type TurnRef struct {
	TurnID, SessionID, Fence int64
}

// Claimed is a turn that this engine is to run.
type Claimed struct {
	TurnRef
	Person string
	// Data is what Load would have said as the turn was claimed; nil: it was not read
	// along.
	Data *TurnData
	// stops is how many stops had met nobody before Data was read.
	stops int64
}

// Turns leases sessions, for their turns to be run.
type Turns interface {
	// Claim takes the leases of up to limit sessions that nobody holds and whose
	// next turn is queued, or was left running by a dead owner; the longest
	// waiting first, none whose next turn is for a person in except. It sets those
	// turns running. Channels restricts it to sessions of these channels.
	Claim(ctx context.Context, owner int64, channels []string, except []string, limit int) ([]Claimed, error)
	// GiveBack releases a session's lease; a running turn stays running, to be
	// claimed by anybody. ErrFenced is no error here.
	GiveBack(ctx context.Context, ref TurnRef) error
	// Held lists the sessions that owner has the lease of and that have open turns.
	Held(ctx context.Context, owner int64) ([]Held, error)
	// Idle notes, by an event of kind session, that nothing happened in the session for
	// so long and that it has no open turn. It is noted once, by whichever engine asks
	// first. Again says when to ask anew, where something happened since; zero: not at all.
	Idle(ctx context.Context, session int64, after time.Duration) (again time.Time, err error)
	// Cancel asks an open turn to stop, and ends one that has not begun at once. It
	// returns Channel and ID of the conversation. ErrNotFound; *StateError: it has ended.
	Cancel(ctx context.Context, turnID int64) (channels.Conversation, error)
}

// Steps reads and writes one turn under its session's lease. All return ErrFenced.
type Steps interface {
	// Load reads all that a turn needs. ErrNotFound; ErrUnreadable: what is
	// returned suffices to end the turn, and no more.
	Load(ctx context.Context, ref TurnRef) (*TurnData, error)
	// Commit writes a step; says[i] renders step.Say[i]. When step.End is set the
	// turn ends, and either the session's next queued turn is set running under the
	// same lease and returned, or the lease is released.
	Commit(ctx context.Context, ref TurnRef, step agent.Step, says []Reply) (next *Claimed, err error)
	// Absorb merges the queued turns that may steer this one (same session, same
	// person) into it, in one transaction, oldest first, and returns their messages.
	// From is the attempt that is to heed them. With none it writes nothing.
	Absorb(ctx context.Context, ref TurnRef, from int) ([]agent.Incoming, error)
	// Backlog lists what is to be offered anew, in place of the turn's answer: its own
	// message first. It is empty unless the turn had waited for longer than stale as it
	// began, with nobody at work on its session.
	Backlog(ctx context.Context, ref TurnRef, stale time.Duration) ([]Waiting, error)
	// Offer is Commit of a step that ends the turn, into which it first merges the turns
	// merge. ErrConflict: one of them is not queued any more.
	Offer(ctx context.Context, ref TurnRef, merge []int64, step agent.Step, say Reply) (next *Claimed, err error)
	// Resume notes that a turn is worked on again, and returns for how long in all nobody
	// did, in pauses longer than stale.
	Resume(ctx context.Context, ref TurnRef, stale time.Duration) (away time.Duration, err error)
}

// Held is a session under a lease, with its next turn.
type Held struct {
	TurnRef
	Running bool // the turn has begun
	Stop    Stop // why it was asked to stop
}

// TurnData is a turn with its session, message and what was committed of it.
type TurnData struct {
	Turn            agent.Turn // Place and Workspace are left for the router
	State           agent.State
	Conversation    channels.Conversation
	ReplyTo         channels.MessageID // the message the turn answers
	CancelRequested Stop
	// Draft is the delivery that is the turn's open draft; 0: none.
	Draft int64
	// Retry: it does the work of another turn again, whose message and doings are in
	// Turn.Message and State.Former. An empty message was taken back, or is kept no more.
	Retry bool
	// Asked is since when the person waits for the answer.
	Asked time.Time
	// Away is for how long nobody worked on the turn after it had begun; it is in
	// Turn.StartedAt, so that turn_timeout does not count it.
	Away     time.Duration
	lateSaid bool
	// Resumed counts how often the turn was taken over from an engine that died,
	// since its latest committed step.
	Resumed int
}

// A Stop says why a turn was asked to stop, as the first who asked had it.
type Stop string

const (
	StopNone        Stop = "" // nobody asked
	StopCancelled   Stop = "cancelled"
	StopInterrupted Stop = "interrupted" // by the person's newer message
)

// cause is what the turn's context is cancelled with; nil: nothing.
func (s Stop) cause() error {
	switch s {
	case StopNone:
		return nil
	case StopInterrupted:
		return agent.ErrInterrupted
	}
	return agent.ErrCancelled
}

// Outbox holds deliveries.
type Outbox interface {
	// TakeChannel takes the channel's lease; ok is false while a living owner
	// other than this one holds it. Deliveries that an earlier holder left sending
	// become unknown in the same transaction.
	TakeChannel(ctx context.Context, owner int64, channel string) (hold Hold, ok bool, err error)
	// DropChannel releases the lease.
	DropChannel(ctx context.Context, hold Hold) error
	// Open lists the conversations of the channel that have deliveries to settle. ErrFenced.
	Open(ctx context.Context, hold Hold) ([]channels.Conversation, error)
	// Begin looks at the conversation's head. One that is pending and due is set
	// sending, durable to power loss, and returned; one in state unknown is
	// returned as it is. With nothing to do it returns nil, and when the head will
	// be due (zero: there is none). ErrFenced.
	Begin(ctx context.Context, hold Hold, conv channels.Conversation) (d *Delivery, due time.Time, err error)
	// Settle records what became of a delivery that was begun. More says that the
	// conversation has deliveries open still, this one among them if it is. ErrFenced.
	Settle(ctx context.Context, hold Hold, d *Delivery, s Settlement) (more bool, err error)
	// Answered says that there were choices under a message of ours and none of them
	// can be made any more.
	Answered(ctx context.Context, message int64) (bool, error)
	// Gone notes that conv is closed to us; first says that this was not known. It is
	// forgotten when something comes from there again.
	Gone(ctx context.Context, hold Hold, conv channels.Conversation) (first bool, err error)
}

// Notices says something outside any turn.
type Notices interface {
	// AdminChats lists each admin's last used direct conversation, on any channel.
	AdminChats(ctx context.Context) ([]channels.Conversation, error)
	// Notify commits a message of ours to a conversation. A key that is known already
	// makes it nothing: told is false.
	Notify(ctx context.Context, key []byte, conv channels.Conversation, reply Reply) (told bool, err error)
	// Current is that of Views.
	Current(ctx context.Context, session string) (*TurnView, error)
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
	PlatformID   channels.MessageID // of the draft it takes the place of: edit that; empty: send
	Nonce        string
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
	// Unedit, with pending: the message to edit is not there any more, so that the
	// next try sends a new one.
	Unedit bool
	// Conversation, with dropped: all open deliveries of the conversation go with it.
	Conversation bool
}

// Directory knows the people.
type Directory interface {
	// People lists everybody with their identities.
	People(ctx context.Context) ([]Person, error)
	// Person finds one of them by name. ErrNotFound.
	Person(ctx context.Context, name string) (Person, error)
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
	// Seen (Source open) is when the person was last seen, to a day; else zero.
	Seen time.Time `json:"-"`
}

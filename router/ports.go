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

// ErrNotNow is wrapped by all that says that the database cannot be asked, or can take
// nothing, for now (unreachable, full, read-only, not migrated) or asks for another try:
// nothing that it was asked is at fault.
var ErrNotNow = errors.New("the database cannot do it now")

// ErrUnreadable is returned by Load, Absorb and Backlog when a part of what is stored is not what we write.
// To try again brings nothing.
var ErrUnreadable = errors.New("what is stored of the turn cannot be read")

// ErrNotFound is returned where a row asked for does not exist.
var ErrNotFound = errors.New("not found")

// Intake commits what came in.
type Intake interface {
	// Accept commits all entries in one transaction, durable to power loss, and
	// returns one result an entry, in order. ErrRefused: it is the fault of an entry.
	// ErrNotNow: it is of none.
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

// A Class says what an entry becomes.
type Class string

const (
	ClassTurn      Class = "turn"      // a message that is queued as a turn
	ClassControl   Class = "control"   // a command: applied at once, answered by Reply
	ClassNotice    Class = "notice"    // kept and answered by Reply alone (empty, too long, too fast)
	ClassStranger  Class = "stranger"  // kept for audit: no session, no turn
	ClassOverheard Class = "overheard" // kept like a stranger's: somebody who is served did not mean us; an edit may yet do
	ClassRejected  Class = "rejected"  // kept raw; nothing else
	ClassEdited    Class = "edited"    // a message's new state: see Entry.OnEdit and Edited
	ClassDeleted   Class = "deleted"   // a message was taken back: its queued turn ends, its running one is asked to stop, its text is forgotten
	ClassAction    Class = "action"    // a button or its typed number: see ActionState
	ClassNote      Class = "note"      // kept in the session for the next turns to read: no turn, no reply
	ClassMember    Class = "member"    // the conversation is closed to us (Left) or open again (Joined); no message
	ClassMoved     Class = "moved"     // the conversation got a new ID everywhere; no message
)

// An Edited says what an edit did.
type Edited string

const (
	EditSame     Edited = "same"     // text and attachments are as they were; nothing was written but the key
	EditNew      Edited = "new"      // the message was never taken; it is queued as a turn like any other
	EditReplaced Edited = "replaced" // its turn had not begun; it will answer the new text
	EditSteers   Edited = "steers"   // its turn runs; a turn was queued that Absorb merges into it
	EditRestarts Edited = "restarts" // the same, and what runs is to be broken off for it
	EditRevised  Edited = "revised"  // its turn is over, or on_edit says ignore: the new text is kept, marked as a revision
)

// An ActionState is a state of DESIGN §2.
type ActionState string

const (
	ActionProposed  ActionState = "proposed"
	ActionAccepted  ActionState = "accepted"
	ActionRejected  ActionState = "rejected"
	ActionExpired   ActionState = "expired"
	ActionCancelled ActionState = "cancelled" // another answer to the same question was given
)

// ActionChoice is the kind of an action that answers a question with a ready text:
// used, it becomes a turn whose message is that text.
const ActionChoice = "choice"

// An Action is a one-use button or code to be stored with the reply it stands
// under.
type Action struct {
	Code   []byte // HashCode of the Button's code
	Kind   string // ActionChoice
	Person string // who may use it
	// Text is what a choice says, and Number is its place from 1, by which it can be
	// typed.
	Text   string
	Number int
	Does   Does
	// ExpiresAt: used later, it is expired.
	ExpiresAt time.Time
}

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
	Rule     string // the rule by which the sender was let in or kept out; see rules.go
	Person   string // the person's name; empty for strangers, overheard and rejected
	// NewPerson says that Person, let in by the policy "open", is created by this entry,
	// role user, with Identity, or noted as seen if they are there.
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
	// OnEdit (ClassEdited) says what an edit does to a running turn: steer | restart |
	// ignore. An edit that turns out to be a new message is committed as ClassTurn,
	// with Busy, QueueLimit, Mode and MayClaim as given.
	OnEdit string
	// Mode (ClassTurn) says what it does beside a running turn of the same person in
	// the session: queue | steer (Absorb may merge it) | interrupt (that turn is asked
	// to stop) | collect (merged into the person's queued turn if that is the newest
	// in the session, which waits CollectWindow longer).
	Mode          string
	CollectWindow time.Duration
	// Action (ClassAction) is HashCode of the button's code. With ActionNumber instead
	// the newest open question of the session for Person is meant, if Message.Text is
	// the number of one of its choices; otherwise the entry is a ClassTurn.
	Action       []byte
	ActionNumber bool
	// ActionText (ClassTurn): Message.Text may be the label of a choice. If exactly one
	// open question of the session for Person has it, but for case and the space around
	// it, the entry is taken like its number.
	ActionText bool
	// Retry (ClassTurn) makes it a turn that does the work of another again, or a notice
	// (Accepted.Told) where there is none.
	Retry *Retry
	// Tell renders what is said where only the transaction knows that it is to be said;
	// needed with Retry, Action, ActionNumber and ActionText; with ClassEdited nil says
	// nothing.
	Tell func(channels.Event, Situation) *Reply
	// Asked is since when the person waits for the answer, where that is before now; zero:
	// it is not.
	Asked time.Time
	// MayClaim: this engine has a worker for it. If the session is idle, its lease
	// is taken and its next turn set running in the same transaction.
	MayClaim bool
	// aside is told the person besides, once, in a message of its own.
	aside string
	// mayBegin says that MayClaim is to be set if there is a worker.
	mayBegin bool
	// charge is counted for the person once the entry is committed.
	charge charge
}

// A Reply is a message of ours with its rendered parts.
type Reply struct {
	Text   string
	Parts  []channels.Body
	Notice bool
	Final  bool
	Taint  tools.Taint
	Person string // whom it answers; empty: nobody in particular. Accept fills it in
	// Read: the channel's clients read for themselves, so that the deliveries are
	// sent when committed.
	Read    bool
	ReplyTo channels.MessageID
	// Actions are stored with the message; their buttons are in Parts.
	Actions []Action
	// Draft is the turn's open draft that the first part takes the place of, so that
	// what is shown already is edited; 0: none.
	Draft int64
	// Open (Commit, in the first of its replies) asks for the first part to be begun at
	// once; nil: it waits for Outbox.Begin.
	Open *Opening
}

// An Opening asks that the transaction that stores a message begins its first part as
// well: what Outbox.Begin would do next, in one commit. It is done under Hold, if that
// is current, and only if nothing else is open in the conversation.
type Opening struct {
	Hold         Hold
	Conversation channels.Conversation
	// Begun is set by Commit: the part, in state sending and durable to power loss;
	// nil: it was not begun, and is pending like any other.
	Begun *Delivery
}

// Accepted is what became of an entry.
type Accepted struct {
	channels.Receipt
	SessionID int64
	Busy      bool     // answered by Entry.Busy
	Told      bool     // answered by Entry.Tell
	Claimed   *Claimed // a turn to run now, under a lease taken by this entry
	// Waiting: a turn was queued and nobody claimed it because MayClaim was false.
	Waiting bool
	// CancelTurn is the turn that was asked to stop; 0: none, or it had not begun
	// and ended at once.
	CancelTurn int64
	Edited     Edited      // ClassEdited
	Action     ActionState // ClassAction, ActionText: accepted, or why not; empty: no such code or choice
	NotYours   bool        // ClassAction: the action is for another person
	// Question, with an Action that was or is used up, is the message of ours that has its
	// buttons; empty: it has none, or is not known to be shown.
	Question channels.MessageID
	// Steers is the running turn that this one may be merged into; 0: none.
	Steers int64
	// Merged: the message was merged into the queued turn TurnID.
	Merged bool
	// NotBefore: the turn waits until then for more to be collected; zero: it does not.
	NotBefore time.Time
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

// Turns runs sessions.
type Turns interface {
	// Claim takes the leases of up to limit sessions that nobody holds and whose
	// next turn is queued, or was left running by a dead owner; the longest
	// waiting first, none whose next turn is for a person in except. It sets those
	// turns running. Channels restricts it to sessions of these channels.
	Claim(ctx context.Context, owner int64, channels []string, except []string, limit int) ([]Claimed, error)
	// Load reads all that a turn needs. ErrFenced, ErrNotFound; ErrUnreadable: what is
	// returned suffices to end the turn, and no more.
	Load(ctx context.Context, ref TurnRef) (*TurnData, error)
	// Commit writes a step; says[i] renders step.Say[i]. When step.End is set the
	// turn ends, and either the session's next queued turn is set running under the
	// same lease and returned, or the lease is released. ErrFenced.
	Commit(ctx context.Context, ref TurnRef, step agent.Step, says []Reply) (next *Claimed, err error)
	// Absorb merges the queued turns that may steer this one (same session, same
	// person) into it, in one transaction, oldest first, and returns their messages.
	// From is the attempt that is to heed them. With none it writes nothing. ErrFenced.
	Absorb(ctx context.Context, ref TurnRef, from int) ([]agent.Incoming, error)
	// GiveBack releases a session's lease; a running turn stays running, to be
	// claimed by anybody. ErrFenced is no error here.
	GiveBack(ctx context.Context, ref TurnRef) error
	// Backlog lists what is to be offered anew, in place of the turn's answer: its own
	// message first. It is empty unless the turn had waited for longer than stale as it
	// began, with nobody at work on its session. ErrFenced.
	Backlog(ctx context.Context, ref TurnRef, stale time.Duration) ([]Waiting, error)
	// Offer is Commit of a step that ends the turn, into which it first merges the turns
	// merge. ErrFenced; ErrConflict: one of them is not queued any more.
	Offer(ctx context.Context, ref TurnRef, merge []int64, step agent.Step, say Reply) (next *Claimed, err error)
	// Resume notes that a turn is worked on again, and returns for how long in all nobody
	// did, in pauses longer than stale. ErrFenced.
	Resume(ctx context.Context, ref TurnRef, stale time.Duration) (away time.Duration, err error)
	// Idle notes, by an event of kind session, that nothing happened in the session for
	// so long and that it has no open turn. It is noted once, by whichever engine asks
	// first. Again says when to ask anew, where something happened since; zero: not at all.
	Idle(ctx context.Context, session int64, after time.Duration) (again time.Time, err error)
	// Held lists the sessions that owner has the lease of and that have open turns.
	Held(ctx context.Context, owner int64) ([]Held, error)
	// Cancel asks an open turn to stop, and ends one that has not begun at once. It
	// returns Channel and ID of the conversation. ErrNotFound; *StateError: it has ended.
	Cancel(ctx context.Context, turnID int64) (channels.Conversation, error)
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
	// AdminChats lists each admin's last used direct conversation, on any channel.
	AdminChats(ctx context.Context) ([]channels.Conversation, error)
	// Notify commits a message of ours to a conversation outside any turn. A key that
	// is known already makes it nothing: told is false.
	Notify(ctx context.Context, key []byte, conv channels.Conversation, reply Reply) (told bool, err error)
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

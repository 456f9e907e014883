package outbox

import (
	"crypto/sha256"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
)

// An ApprovalKind is what waits for a decision.
type ApprovalKind string

const (
	ApprovalTool    ApprovalKind = "tool"    // a task that a rule asks about
	ApprovalPairing ApprovalKind = "pairing" // a stranger who wants to be let in
	ApprovalLink    ApprovalKind = "link"    // two identities to become one person
)

// ActionApproval is the kind of an action that decides an approval.
const ActionApproval = "approval"

// What a decision does; of an ActionApproval whose button says none, the command that
// brings its code does.
const (
	DoesOnce    Does = "once"
	DoesSession Does = "session"
	DoesAlways  Does = "always"
	DoesDeny    Does = "deny"
)

// A Question is a message that asks for a decision, or says that others are asked. Its
// actions are what decides.
type Question struct {
	Conversation channels.Conversation
	Reply        Reply
	Code         string // what is typed to decide; empty: here nobody does
}

// A Decided is a question as its platform shows it, the part with the buttons, and what was
// decided.
type Decided struct {
	Conversation channels.Conversation
	Message      channels.MessageID
	Part         int    // of the question's parts
	Text         string // the whole question as it was asked
	Kind         ApprovalKind
	State        ActionState
	Scope        Does // where a tool was allowed
	By, Why      string
}

// HashCode is under what an action's code is stored, so that the database does not
// hold what presses a button.
func HashCode(code string) []byte {
	sum := sha256.Sum256([]byte("action:" + code))
	return sum[:]
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
	Lease        Lease
	Conversation channels.Conversation
	// Begun is set by Commit: the part, in state sending and durable to power loss;
	// nil: it was not begun, and is pending like any other.
	Begun *Delivery
}

// An ActionState is what became of an action.
type ActionState string

const (
	ActionProposed  ActionState = "proposed"
	ActionAccepted  ActionState = "accepted"
	ActionRejected  ActionState = "rejected" // an approval was denied
	ActionExpired   ActionState = "expired"
	ActionCancelled ActionState = "cancelled" // another answer to the same question was given, or a newer claim code used
)

const (
	// ActionChoice is the kind of an action that answers a question with a ready text:
	// used, it becomes a turn whose message is that text.
	ActionChoice = "choice"
	// ActionCommand is the kind of an action that gives a command, as if it were typed.
	ActionCommand = "command"
)

// NextWords is the Number of a command behind which the next message stands.
const NextWords = -1

// An Action is a one-use button or code to be stored with the reply it stands
// under.
type Action struct {
	Code   []byte // HashCode of the Button's code
	Kind   string // ActionChoice | ActionCommand | ActionApproval | ActionLink
	Person string // who may use it
	// Text is what a choice says, or the command that is given. Number is the place of a choice
	// from 1, by which it can be typed, as that of a command which has no button; or NextWords.
	Text   string
	Number int
	Does   Does
	Either bool // used, it cancels the other commands of its message
	// Approval is what an ActionApproval decides; the store fills it in.
	Approval int64
	// ExpiresAt: used later, it is expired.
	ExpiresAt time.Time
}

// A Does is what a choice does besides saying its text.
type Does string

const (
	DoesSay   Does = ""      // its text becomes a turn
	DoesRetry Does = "retry" // it becomes a turn that does again the work of the turn that asked
	DoesLeave Does = "leave" // it is answered, ChoiceLeft
)

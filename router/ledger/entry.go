package ledger

import (
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
)

// An Entry is one sorted event, ready to be committed.
type Entry struct {
	Key    []byte // hash of channel and event key
	Event  channels.Event
	Sender Sender
	Origin string // chat | api | job
	Taint  tools.Taint
	// As is what the event is taken as: *TurnIntent, *ControlIntent, *EditIntent, *ActionIntent, *CodeIntent,
	// *PairingIntent, *DecisionIntent, *RevokeIntent, *AuditIntent or *NewsIntent.
	Intent Intent
	// Button is the code of the button by which As was given as a command: it is used up in the
	// same transaction, and if it cannot be, nothing is done. Empty: none was.
	Button []byte
	// Say renders what is said of what became of the entry, by Accepted.Outcome, which only the
	// transaction knows; nil: nothing is said. It is called in the transaction, once for each time that this is
	// tried: it must not wait, and ask no database.
	Say func(*Accepted) *Reply
}

// Said is what Say renders, for the entry's sender.
func (e *Entry) Said(a *Accepted) *Reply {
	if e.Say == nil {
		return nil
	}
	reply := e.Say(a)
	if reply != nil {
		reply.Person = e.Sender.Person
	}
	return reply
}

// A Sender is who an event comes from.
type Sender struct {
	Identity string // "kind:id"
	Rule     string // by which they were let in or kept out; see rules.go
	Person   string // the person's name; empty for whoever is not served
	// New says that Person, let in by the policy "open", is created by this entry, role
	// user, with Identity, or noted as seen if they are there.
	New bool
}

// As is what an event is taken as.
type Intent interface{ intent() }

// TurnIntent queues a message as a turn.
type TurnIntent struct {
	// Mode is what it does beside a running turn of the same person in the session: queue |
	// steer (Absorb may merge it) | interrupt (that turn is asked to stop) | collect (merged
	// into the person's queued turn if that is the newest in the session, which waits
	// CollectWindow longer). Empty: queue.
	Mode          string
	CollectWindow time.Duration
	// QueueLimit is how many turns may wait in the session; OutcomeBusy if they do.
	QueueLimit int
	// Asked is since when the person waits for the answer, where that is before now; zero:
	// it is not.
	Asked time.Time
	// MayClaim: this engine has a worker for it. If the session is idle, its lease
	// is taken and its next turn set running in the same transaction.
	MayClaim bool
	// Retry makes it do the work of another turn again; nil: its message is its own.
	Retry *Retry
	// Ordered: it calls a tool by name, and is never merged with another.
	Ordered bool
	// Terms are of a turn that nobody typed, which is never merged with another either; nil:
	// somebody did.
	Terms *agent.Limits
	// Choice: the text may be the label of a choice of an open question to the person, but
	// for case and the space around it, or its number from 1 to 99 in the newest question.
	// The entry is then taken as that choice.
	Choice bool
	// Says is the decision that the text is, a plain yes or no, where the last thing that was said in the
	// chat is a question to the person about their own wish; empty: it decides nothing.
	Says Does
}

// ControlIntent applies a command at once and answers it, with no turn.
type ControlIntent struct {
	Effect Effect
	// AnyPerson lets EffectCancel stop another person's turn (admins).
	AnyPerson bool
	// Refused: it would have been a turn, but is empty, too long or too fast.
	Refused bool
	// Change is made in the same transaction; nil: none. It is answered by Reply, or by Say; refused, by
	// the entry's Say, and nothing was changed.
	Change Change
	// Say, if not nil, renders in place of Reply what became of Change. It is called in the
	// transaction, each time that this is tried, so that what it names is what is kept: it must not
	// wait, and ask no database.
	Say func() *Reply
	// Admins: Change is for admins, which the sender has to be still when it is made.
	Admins bool
	// Reply answers it, whatever the outcome; nil: nothing does.
	Reply *Reply
}

// EditIntent is a message's new state; see Edited.
type EditIntent struct {
	OnEdit string     // what it does to a running turn: steer | restart | ignore
	Turn   TurnIntent // what it becomes if the message was never taken
}

// ActionIntent is a button that was pressed; see ActionState.
type ActionIntent struct {
	Code []byte     // HashCode of the button's code
	Turn TurnIntent // what a choice becomes
}

// AuditIntent keeps an event for people to look up; nobody answers it.
type AuditIntent struct {
	Why Audit
	// Reason says why it is AuditRejected.
	Reason string
}

// NewsIntent is what the platform itself says, by the event's kind: that a conversation is
// closed to us or open again (EventMember), has a new ID everywhere (EventMoved), or that
// a message was taken back (EventDeleted): then its queued turn ends, its running one is
// asked to stop and its text is forgotten. No message is kept.
type NewsIntent struct{}

func (*TurnIntent) intent()    {}
func (*ControlIntent) intent() {}
func (*EditIntent) intent()    {}
func (*ActionIntent) intent()  {}
func (*AuditIntent) intent()   {}
func (*NewsIntent) intent()    {}

// Turn is the turn that the entry becomes, or may become; nil: it cannot.
func (e *Entry) Turn() *TurnIntent {
	switch as := e.Intent.(type) {
	case *TurnIntent:
		return as
	case *EditIntent:
		return &as.Turn
	case *ActionIntent:
		return &as.Turn
	}
	return nil
}

// An Audit is why an event is kept and not answered.
type Audit string

const (
	AuditStranger  Audit = "stranger"  // no session, no turn
	AuditOverheard Audit = "overheard" // the same: somebody who is served did not mean us; an edit may yet do
	AuditRejected  Audit = "rejected"  // it cannot be taken; kept raw
	AuditNote      Audit = "note"      // kept in the session for the next turns to read
)

// An Effect is what a control entry does in its transaction.
type Effect string

const (
	EffectNone Effect = ""
	// EffectCancel asks the person's open turn to stop: the one that runs, else the next, else
	// one that waits for a decision. One that nobody works on ends at once, OutcomeDropped; with none, OutcomeIdle.
	EffectCancel Effect = "cancel"
	EffectReset  Effect = "reset" // forget the conversation so far; turns that wait for a decision end, ResetAsked
	EffectLink   Effect = "link"  // the reply brings a new link code, and ends the person's older ones
)

// A Outcome is something that is known in a transaction alone and answered there.
type Outcome string

const (
	OutcomeBusy    Outcome = "busy"            // TurnIntent.QueueLimit turns wait already: it is answered instead
	OutcomeIdle    Outcome = "idle"            // there is nothing to cancel
	OutcomeDropped Outcome = "dropped"         // nobody worked on what was cancelled
	ResetAsked     Outcome = "reset_asked"     // EffectReset ended turns that waited for a decision
	RetryNone      Outcome = "retry_none"      // the person has no turn here
	RetryUnclear   Outcome = "retry_unclear"   // the message replied to is of no turn
	RetryOpen      Outcome = "retry_open"      // the turn has not ended yet
	RetryNotYours  Outcome = "retry_not_yours" // it is another person's
	RetryForgotten Outcome = "retry_forgotten" // the conversation was reset since, or the message is kept no more
	ChoiceLeft     Outcome = "choice_left"     // the person wants nothing to be done
	EditTooLate    Outcome = "edit_too_late"   // the edited message was answered before
	EditAsked      Outcome = "edit_asked"      // the edited message's turn waits for a decision
	CommandPressed Outcome = "command_pressed" // it gives Accepted.Command: nothing was kept of it, and it is to come again as that
	ChangeRefused  Outcome = "change_refused"  // Accepted.Refusal says why
	ClaimDone      Outcome = "claim_done"      // the sender is an admin now
	ClaimWrong     Outcome = "claim_wrong"     // there is no such code
	ClaimUsed      Outcome = "claim_used"      // it was used before
	ClaimExpired   Outcome = "claim_expired"   // it is too old
	ClaimNeedless  Outcome = "claim_needless"  // the sender is an admin already; the code stays good
	ClaimByFile    Outcome = "claim_by_file"   // the settings name the sender, and decide
	PairingAsked   Outcome = "pairing_asked"   // PairingIntent: the sender gets a code, and the admins are asked
	LinkWrong      Outcome = "link_wrong"      // no such link code, used before, too old, or of nobody who is known
	LinkSame       Outcome = "link_same"       // the sender made it; the code stays good, as it does with the next two
	LinkByFile     Outcome = "link_by_file"    // the settings name the sender, and decide
	LinkAdmin      Outcome = "link_admin"      // the sender would be an admin no more
	LinkAsked      Outcome = "link_asked"      // both sides are asked
	LinkDone       Outcome = "link_done"
)

// A Retry asks for the work of an ended turn to be done again.
type Retry struct {
	// Of is the message of the turn that is meant, theirs or ours; empty: the person's
	// newest turn in the session.
	Of channels.MessageID
	// Turn is the turn itself, where a choice names it; 0: none does.
	Turn int64
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

// Accepted is what became of an entry.
type Accepted struct {
	channels.Receipt
	SessionID int64
	Outcome   Outcome  // how the entry was answered, if that was known in the transaction alone
	Claimed   *Claimed // a turn to run now, under a lease taken by this entry
	// Waiting: a turn was queued and nobody claimed it because MayClaim was false, or one ended
	// behind which others may be queued.
	Waiting bool
	// CancelTurn is the turn that was asked to stop; 0: none, or it had not begun
	// and ended at once.
	CancelTurn int64
	Dropped    []int64 // turns that waited for a decision and were cancelled
	Admin      string  // CodeIntent: the name of who was made an admin; empty: nobody
	Admitted   string  // PairingDone: the name of who may write from now on
	Refusal    string  // ChangeRefused: why, in a sentence
	// People: somebody became a person, or two became one.
	People bool
	// Elsewhere is another conversation in which something is said; no ID: in none.
	Elsewhere channels.Conversation
	Full      bool        // PairingIntent: the channel takes nobody's wish for now
	Edited    Edited      // EditIntent
	Decision  Outcome     // ActionIntent: what became of an approval that is not about a tool; empty: see Action
	Approval  int64       // ActionIntent, DecisionIntent: the approval that is meant; 0: none
	Decided   int64       // the turn that may go on, as its approval was decided or expired; 0: none
	Action    ActionState // ActionIntent, TurnIntent.Choice: accepted, or why not; empty: no such code or choice
	Command   string      // ActionIntent, TurnIntent.Choice: what is given as a command, without its slash; it ends in " " where the message stands behind it
	Button    []byte      // with Command: HashCode of the code of its action
	NotYours  bool        // ActionIntent: the action is for another person
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

// A Button gives a command when it is pressed.
type Button struct {
	Label string
	// Command is without its slash. It counts as the words of whoever presses it, so nothing that
	// others wrote belongs there.
	Command string
	Beside  bool // it stands in one row with the button before
	Either  bool // one of its message is pressed: it uses up the others
	// Asks: it is no button. What its person writes next, if it is a time, stands behind Command.
	Asks bool
}

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

// Package intake has what came in, ready to be committed, and what became of it. The router makes an
// entry of an event and the store keeps it in one transaction.
package intake

import (
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/outbox"
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
	Intent core.Intent
	// Button is the code of the button by which As was given as a command: it is used up in the
	// same transaction, and if it cannot be, nothing is done. Empty: none was.
	Button []byte
	// Say renders what is said of what became of the entry, by Accepted.Outcome, which only the
	// transaction knows; nil: nothing is said. It is called in the transaction, once for each time that this is
	// tried: it must not wait, and ask no database.
	Say func(*Accepted) *outbox.Reply
}

// Said is what Say renders, for the entry's sender.
func (e *Entry) Said(a *Accepted) *outbox.Reply {
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

// TurnIntent queues a message as a turn.
type TurnIntent struct {
	core.AnIntent

	// Mode is what it does beside a running turn of the same person in the session: queue |
	// steer (Absorb may merge it) | interrupt (that turn is asked to stop) | collect (merged
	// into the person's queued turn if that is the newest in the session, which waits
	// CollectWindow longer). Empty: queue.
	Mode          string
	CollectWindow time.Duration
	// QueueLimit is how many turns may wait in the session; OutcomeBusy if they do.
	QueueLimit int
	// OrNothing: where so many wait, nothing at all is kept of it, not even its key.
	OrNothing bool
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
	Says outbox.Does
}

// ControlIntent applies a command at once and answers it, with no turn.
type ControlIntent struct {
	core.AnIntent

	Effect Effect
	// AnyPerson lets EffectCancel stop another person's turn (admins).
	AnyPerson bool
	// Refused: it would have been a turn, but is empty, too long or too fast.
	Refused bool
	// Change is made in the same transaction; nil: none. It is answered by Reply, or by Say; refused, by
	// the entry's Say, and nothing was changed.
	Change core.Change
	// Say, if not nil, renders in place of Reply what became of Change. It is called in the
	// transaction, each time that this is tried, so that what it names is what is kept: it must not
	// wait, and ask no database.
	Say func() *outbox.Reply
	// Admins: Change is for admins, which the sender has to be still when it is made.
	Admins bool
	// Reply answers it, whatever the outcome; nil: nothing does.
	Reply *outbox.Reply
}

// EditIntent is a message's new state; see Edited.
type EditIntent struct {
	core.AnIntent

	OnEdit string     // what it does to a running turn: steer | restart | ignore
	Turn   TurnIntent // what it becomes if the message was never taken
}

// ActionIntent is a button that was pressed; see ActionState.
type ActionIntent struct {
	core.AnIntent

	Code []byte     // HashCode of the button's code
	Turn TurnIntent // what a choice becomes
}

// AuditIntent keeps an event for people to look up; nobody answers it.
type AuditIntent struct {
	core.AnIntent

	Why Audit
	// Reason says why it is AuditRejected.
	Reason string
}

// NewsIntent is what the platform itself says, by the event's kind: that a conversation is
// closed to us or open again (EventMember), has a new ID everywhere (EventMoved), or that
// a message was taken back (EventDeleted): then its queued turn ends, its running one is
// asked to stop and its text is forgotten. No message is kept.
type NewsIntent struct{ core.AnIntent }

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

// A Retry asks for the work of an ended turn to be done again.
type Retry struct {
	// Of is the message of the turn that is meant, theirs or ours; empty: the person's
	// newest turn in the session.
	Of channels.MessageID
	// Turn is the turn itself, where a choice names it; 0: none does.
	Turn int64
}

// A Moved is a conversation by a former ID and its present one.
type Moved struct {
	Channel         string
	Former, Current channels.ConversationID
}

// A Rejected is an event that could not be read.
type Rejected struct {
	ID      int64     `json:"id,string"`
	Channel string    `json:"channel"`
	Reason  string    `json:"reason"`
	Raw     string    `json:"raw"`
	At      time.Time `json:"at"`
}

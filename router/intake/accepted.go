package intake

import (
	"time"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/outbox"
)

// A Outcome is something that is known in a transaction alone and answered there.
type Outcome string

const (
	OutcomeBusy    Outcome = "busy"            // TurnIntent.QueueLimit turns wait already: it is answered instead
	OutcomeTaken   Outcome = "taken"           // Sender.Token: the session is another person's, and nothing was kept
	OutcomeIdle    Outcome = "idle"            // there is nothing to cancel
	OutcomeDropped Outcome = "dropped"         // nobody worked on what was cancelled
	ResetAsked     Outcome = "reset_asked"     // EffectReset ended turns that waited for a decision
	RetryNone      Outcome = "retry_none"      // the person has no turn here
	RetryUnknown   Outcome = "retry_unclear"   // the message replied to is of no turn
	RetryOpen      Outcome = "retry_open"      // the turn has not ended yet
	RetryNotYours  Outcome = "retry_not_yours" // it is another person's
	RetryForgotten Outcome = "retry_forgotten" // the conversation was reset since, or the message is kept no more
	ChoiceLeft     Outcome = "choice_left"     // the person wants nothing to be done
	EditTooLate    Outcome = "edit_too_late"   // the edited message was answered before
	EditAsked      Outcome = "edit_asked"      // the edited message's turn waits for a decision
	CommandPressed Outcome = "command_pressed" // it gives Accepted.Command: nothing was kept of it, and it is to come again as that
	ChangeRefused  Outcome = "change_refused"  // Accepted.Refusal says why
)

// Accepted is what became of an entry.
type Accepted struct {
	channels.Receipt
	SessionID int64
	Outcome   Outcome       // how the entry was answered, if that was known in the transaction alone
	Claimed   *core.Claimed // a turn to run now, under a lease taken by this entry
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
	Full      bool               // PairingIntent: the channel takes nobody's wish for now
	Edited    Edited             // EditIntent
	Decision  Outcome            // ActionIntent: what became of an approval that is not about a tool; empty: see Action
	Approval  int64              // ActionIntent, DecisionIntent: the approval that is meant; 0: none
	Decided   int64              // the turn that may go on, as its approval was decided or expired; 0: none
	Action    outbox.ActionState // ActionIntent, TurnIntent.Choice: accepted, or why not; empty: no such code or choice
	Command   string             // ActionIntent, TurnIntent.Choice: what is given as a command, without its slash; it ends in " " where the message stands behind it
	Button    []byte             // with Command: HashCode of the code of its action
	NotYours  bool               // ActionIntent: the action is for another person
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

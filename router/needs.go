package router

import (
	"context"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/approvals"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/jobs"
	"switchboard/router/outbox"
	"switchboard/router/people"
	"switchboard/router/turns"
)

// The router's needs, implemented by store. Every write is one transaction that
// runs to its end once begun, whatever becomes of the caller's context.

// Intake commits what came in.
type Intake interface {
	// Accept commits all entries in one transaction, durable to power loss, and
	// returns one result an entry, in order. ErrRefused: it is the fault of an entry.
	// ErrNotNow: it is of none.
	Accept(ctx context.Context, owner int64, entries []intake.Entry) ([]intake.Accepted, error)
	// LinkOf is what a code would do for sender, whose name is empty for a stranger; nil: it is no link code.
	LinkOf(ctx context.Context, code []byte, sender string) (*people.Link, error)
	// Known says which of these keys are committed already, by the key.
	Known(ctx context.Context, keys [][]byte) (map[string]bool, error)
	// Marks lists the newest mark of each conversation that events of the channel
	// brought, the one noted last first.
	Marks(ctx context.Context, channel string) ([]channels.Mark, error)
	// Moved lists every conversation that got a new ID, in order, so that settings
	// written with a former one (allow_conversations) go on to mean it.
	Moved(ctx context.Context) ([]intake.Moved, error)
}

// Submissions are put in with no event of a platform.
type Submissions interface {
	// Chat is what is known of the conversation of that channel and ID. ErrNotFound.
	Chat(ctx context.Context, conv channels.Conversation) (core.Chat, error)
	// PersonChats lists the direct chats of a person that are open to us, the one in which they
	// wrote last first.
	PersonChats(ctx context.Context, person string) ([]core.Chat, error)
	// Submit commits s as turn, or as say, which is nil for a turn, and sets its run running or
	// done, in one transaction, durable to power loss. Duplicate: its key is known, or its run is
	// not due any more, and nothing was done. Refusal says why it is not taken, as in
	// Submitted.Refused.
	Submit(ctx context.Context, owner int64, s jobs.Submission, turn intake.TurnIntent, say *outbox.Reply) (intake.Accepted, error)
	// Tell stores a message of ours, unless its key is known, and marks missed runs as told. It does
	// nothing where one of those was told already.
	Tell(ctx context.Context, key []byte, conv channels.Conversation, reply outbox.Reply, missed []int64) error
}

// Changes makes changes that no message asked for.
type Changes interface {
	// Change makes a change and writes its audit row in the same transaction. *StateError: it
	// is refused, and the refusal has an audit row.
	Change(ctx context.Context, change core.Change, by core.Actor) error
	// OpenClaim is when the newest claim code that is still good was made, and until when it is; zero: there is none.
	OpenClaim(ctx context.Context) (made, until time.Time, err error)
	// ProposeClaim stores a claim code, by its HashCode, that is good until then, and whose account its sender
	// becomes; empty: a new admin's.
	ProposeClaim(ctx context.Context, code []byte, person string, until time.Time, by core.Actor) error
}

// Approvals are what waits for a person's decision.
type Approvals interface {
	approvals.Store
	// Cancel asks an open turn to stop, and ends one at once that nobody works on. It
	// returns Channel and ID of the conversation. ErrNotFound; *StateError: it has ended.
	Cancel(ctx context.Context, turnID int64, by core.Actor) (channels.Conversation, error)
}

// Views reads what is stored, for commands. Implemented by store.
type Views interface {
	turns.Views
	// Session is what the session of a conversation has of its own; where there is none, nothing.
	Session(ctx context.Context, conv channels.Conversation) (core.Session, error)
	// Assumes says that somebody has jobs whose time zone nobody said.
	Assumes(ctx context.Context, person string) (bool, error)
	// Chats lists the conversations in which somebody was served and that are open to us, the
	// direct chat in which its person wrote last first.
	Chats(ctx context.Context) ([]core.Chat, error)
	// Shown is the text of the message, in or out, that the platform knows by that ID
	// in a conversation, and its taint for person, to whom the words of others and what
	// was answered to others are tools.Others. ErrNotFound; so is what a stranger wrote.
	Shown(ctx context.Context, conv channels.Conversation, id channels.MessageID, person string) (string, tools.Taint, error)
}

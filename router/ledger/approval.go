package ledger

import (
	"time"

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

// Asked is how an approval is proposed.
type Asked struct {
	Questions []Question
	ExpiresAt time.Time
	MostOpen  int // with so many open ones of its person it is not asked; 0: no limit
}

// A Grant is what was allowed for more than once.
type Grant struct {
	ID                  int64
	Person, Tool, Shown string
	Scope               string // session | always
	Session             string // scope session: its key
	By                  string
	At                  time.Time
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

// DecisionIntent is a code that was typed to decide an approval.
type DecisionIntent struct {
	Code []byte // HashCode of the code
	Does Does
	Why  string // with DoesDeny
	// Pairing: it lets a stranger in, and decides nothing else.
	Pairing bool
	Name    string // with Pairing, what to call them; empty: as they call themselves
}

// RevokeIntent takes a grant back.
type RevokeIntent struct {
	Grant int64
	// AnyPerson: also what was granted to others (admins).
	AnyPerson bool
}

func (*DecisionIntent) intent() {}
func (*RevokeIntent) intent()   {}

// Situations of decisions.
const (
	ApprovalAllowed  Outcome = "approval_allowed"
	ApprovalDenied   Outcome = "approval_denied"
	ApprovalByButton Outcome = "approval_by_button" // a plain yes or no is not enough for it
	ApprovalUnknown  Outcome = "approval_unknown"   // no such code in this conversation
	PairingDone      Outcome = "pairing_done"
	PairingRefused   Outcome = "pairing_refused"
	LinkHalf         Outcome = "link_half"    // this side confirmed it, and the other did not yet
	LinkAllowed      Outcome = "link_allowed" // to whoever made the code
	LinkDenied       Outcome = "link_denied"
	ApprovalNotYours Outcome = "approval_not_yours" // only admins decide
	ApprovalOver     Outcome = "approval_over"      // decided before, expired or cancelled
	ApprovalOnceOnly Outcome = "approval_once_only" // no grants for turns that read outside text, nor for commands that may load files
	GrantRevoked     Outcome = "grant_revoked"
	GrantUnknown     Outcome = "grant_unknown"
)

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

// AsDecision is a code that was typed to decide an approval.
type AsDecision struct {
	Code []byte // HashCode of the code
	Does Does
	Why  string // with DoesDeny
	// Pairing: it lets a stranger in, and decides nothing else.
	Pairing bool
	Name    string // with Pairing, what to call them; empty: as they call themselves
}

// AsRevoke takes a grant back.
type AsRevoke struct {
	Grant int64
	// AnyPerson: also what was granted to others (admins).
	AnyPerson bool
}

func (*AsDecision) as() {}
func (*AsRevoke) as()   {}

// Situations of decisions.
const (
	ApprovalAllowed  Situation = "approval_allowed"
	ApprovalDenied   Situation = "approval_denied"
	ApprovalByButton Situation = "approval_by_button" // a plain yes or no is not enough for it
	ApprovalUnknown  Situation = "approval_unknown"   // no such code in this conversation
	PairingDone      Situation = "pairing_done"
	PairingRefused   Situation = "pairing_refused"
	LinkHalf         Situation = "link_half"    // this side confirmed it, and the other did not yet
	LinkAllowed      Situation = "link_allowed" // to whoever made the code
	LinkDenied       Situation = "link_denied"
	ApprovalNotYours Situation = "approval_not_yours" // only admins decide
	ApprovalOver     Situation = "approval_over"      // decided before, expired or cancelled
	ApprovalOnceOnly Situation = "approval_once_only" // no grants for turns that read outside text, nor for commands that may load files
	GrantRevoked     Situation = "grant_revoked"
	GrantUnknown     Situation = "grant_unknown"
)

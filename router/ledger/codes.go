package ledger

import (
	"crypto/sha256"
	"time"

	"switchboard/channels"
)

// HashCode is under what an action's code is stored, so that the database does not
// hold what presses a button.
func HashCode(code string) []byte {
	sum := sha256.Sum256([]byte("action:" + code))
	return sum[:]
}

// Kinds of codes that are typed.
const (
	ActionClaim = "claim" // makes whoever sends it an admin
	ActionLink  = "link"  // makes whoever sends it the person who made it
)

// CodeIntent is a code that does something for its sender. A stranger for whom it does nothing
// is kept like any other, with no outcome.
type CodeIntent struct {
	Code []byte // HashCode of the code
	// Kind is ActionClaim or ActionLink; empty: either. ActionApproval: a stranger answers whether
	// their account is to become somebody's, by a code or a button.
	Kind string
	Does Does // with ActionApproval: DoesOnce or DoesDeny; empty: as the button says
	// Identity is the sender's, and Name what to call a stranger where nobody is called that;
	// empty: by the identity.
	Identity, Name string
	// Link is what the code was seen to do before, and Request asks both sides for it; nil: it is no link
	// code that is good. LinkWrong where that is not so any more.
	Link    *Link
	Request *Request
}

// A Link is what a link code would do, once both sides confirm it.
type Link struct {
	At     channels.Conversation // where the code was made
	Person string                // who made it, whom the sender becomes
	Was    string                // who the sender is until then; empty: a stranger
}

// PairingIntent is what a stranger writes where pairing is on. Where no code is due they are
// kept like any other, with no outcome.
type PairingIntent struct {
	Identity, Name string   // as in CodeIntent
	Request        *Request // is asked with PairingAsked
}

// A Request asks people to decide about a stranger, or about another account.
type Request struct {
	Code []byte // HashCode of what any admin may type in any direct chat; nil: none
	// Questions are asked at once. Those of a link are two: in the chat where its code was made, and
	// in the one where it was sent.
	Questions []Question
	ExpiresAt time.Time
	Accepted  Reply // what is said to whoever asks, once it is accepted
	Joined    Reply // of a link: what is said then to whoever made the code
}

func (*CodeIntent) intent()    {}
func (*PairingIntent) intent() {}

package people

import (
	"time"

	"switchboard/router/core"

	"switchboard/channels"
	"switchboard/router/intake"
	"switchboard/router/outbox"
)

const (
	PairingDone    intake.Outcome = "pairing_done"
	PairingRefused intake.Outcome = "pairing_refused"
	LinkHalf       intake.Outcome = "link_half"    // this side confirmed it, and the other did not yet
	LinkAllowed    intake.Outcome = "link_allowed" // to whoever made the code
	LinkDenied     intake.Outcome = "link_denied"
)

// Kinds of codes that are typed.
const (
	ActionClaim = "claim" // makes whoever sends it an admin
	ActionLink  = "link"  // makes whoever sends it the person who made it
)

// CodeIntent is a code that does something for its sender. A stranger for whom it does nothing
// is kept like any other, with no outcome.
type CodeIntent struct {
	core.AnIntent

	Code []byte // HashCode of the code
	// Kind is ActionClaim or ActionLink; empty: either. ActionApproval: a stranger answers whether
	// their account is to become somebody's, by a code or a button.
	Kind string
	Does outbox.Does // with ActionApproval: DoesOnce or DoesDeny; empty: as the button says
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
	core.AnIntent

	Identity, Name string   // as in CodeIntent
	Request        *Request // is asked with PairingAsked
}

// A Pairing is a stranger of whom admins are asked.
type Pairing struct {
	ID        int64 // of the approval
	Identity  string
	ExpiresAt time.Time
}

// A Request asks people to decide about a stranger, or about another account.
type Request struct {
	Code []byte // HashCode of what any admin may type in any direct chat; nil: none
	// Questions are asked at once. Those of a link are two: in the chat where its code was made, and
	// in the one where it was sent.
	Questions []outbox.Question
	ExpiresAt time.Time
	Accepted  outbox.Reply // what is said to whoever asks, once it is accepted
	Joined    outbox.Reply // of a link: what is said then to whoever made the code
}

const (
	ClaimDone     intake.Outcome = "claim_done"     // the sender is an admin now
	ClaimWrong    intake.Outcome = "claim_wrong"    // there is no such code
	ClaimUsed     intake.Outcome = "claim_used"     // it was used before
	ClaimExpired  intake.Outcome = "claim_expired"  // it is too old
	ClaimNeedless intake.Outcome = "claim_needless" // the sender is an admin already; the code stays good
	ClaimByFile   intake.Outcome = "claim_by_file"  // the settings name the sender, and decide
	PairingAsked  intake.Outcome = "pairing_asked"  // PairingIntent: the sender gets a code, and the admins are asked
	LinkWrong     intake.Outcome = "link_wrong"     // no such link code, used before, too old, or of nobody who is known
	LinkSame      intake.Outcome = "link_same"      // the sender made it; the code stays good, as it does with the next two
	LinkByFile    intake.Outcome = "link_by_file"   // the settings name the sender, and decide
	LinkAdmin     intake.Outcome = "link_admin"     // the sender would be an admin no more
	LinkAsked     intake.Outcome = "link_asked"     // both sides are asked
	LinkDone      intake.Outcome = "link_done"
)

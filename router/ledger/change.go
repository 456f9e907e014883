package ledger

import (
	"strconv"
	"time"

	"switchboard/channels"
)

// A Change sets something that admins, or people in their own sessions, may set at run time:
// a type for each kind of thing. The store applies it in a transaction of its own
// (Changes.Change), or in the one that accepts the command (ControlIntent.Change), writes its audit
// row there, and fills in what the type says of the result. One that is refused is a
// *StateError; then nothing was changed, and the refusal has an audit row.
type Change interface {
	// Names are what the audit log calls the change, and what it is of: "person.add",
	// "person bob".
	Names() (action, target string)
}

// Names implements Change.
func (c *PersonChange) Names() (action, target string) {
	return "person." + string(c.Kind), "person " + c.Person.Name
}

// A SessionChange sets something of a session.
type SessionChange struct {
	Conversation channels.Conversation // whose session it is
	Of           SessionSetting
	To           string // empty: what the settings, or the person, say
	Was          string // filled in
	// Person, with SessionTimeZone, is whose jobs move to it of which nobody said the zone; it is theirs then everywhere.
	// Empty: it is the session's alone.
	Person string
	Aside  bool    // the session's own stays as it is: others talk there
	Moved  []int64 // filled in: the jobs that moved
}

// A Session is what a session has of its own; what is empty is as the settings, or the
// person, say.
type Session struct{ Mode, Model, Language, TimeZone string }

// A SessionSetting is what a session may have of its own.
type SessionSetting string

const (
	SessionMode     SessionSetting = "mode" // ask | act
	SessionModel    SessionSetting = "model"
	SessionLanguage SessionSetting = "language"
	SessionTimeZone SessionSetting = "timezone"
)

// Names implements Change.
func (c *SessionChange) Names() (action, target string) {
	return "session." + string(c.Of), "session " + SessionKey(c.Conversation)
}

// A DeliveryChange mends a delivery by hand. ErrNotFound: there is none of that ID.
type DeliveryChange struct {
	ID   int64
	Kind DeliveryChangeKind
	Done *MendedDelivery // filled in
}

// A DeliveryChangeKind is what a DeliveryChange does.
type DeliveryChangeKind string

const (
	// RetryDelivery has a part sent that is dead, with those of its message that died with
	// it, or asks anew about one that is unknown for good: what is looked up or sent under
	// the same nonce is as at first, and what is not is sent once more, marked.
	RetryDelivery DeliveryChangeKind = "retry"
	// DropDelivery gives a part up that is pending, unknown or dead.
	DropDelivery DeliveryChangeKind = "drop"
)

// ResendWithin is how long ago a part may have ended unknown to be sent again by Resend.
const ResendWithin = 7 * 24 * time.Hour

// A Resend does for each part of a conversation that ended unknown of late what RetryDelivery does.
type Resend struct {
	Conversation channels.Conversation
	Messages     int  // filled in: of how many messages parts are sent again
	Looked       bool // filled in: they are looked for first
	Dropped      int  // filled in: of how many messages parts were given up of late, which does not change
}

// Names implements Change.
func (c *Resend) Names() (action, target string) {
	return "delivery.resend", "conversation " + SessionKey(c.Conversation)
}

// Names implements Change.
func (c *DeliveryChange) Names() (action, target string) {
	return "delivery." + string(c.Kind), "delivery " + strconv.FormatInt(c.ID, 10)
}

package outbox

import (
	"strconv"
	"time"

	"switchboard/channels"
	"switchboard/router/core"
)

// A Change mends a delivery by hand. ErrNotFound: there is none of that ID.
type Change struct {
	ID   int64
	Kind ChangeKind
	Done *Changed // filled in
}

// A ChangeKind is what a Change does.
type ChangeKind string

const (
	// RetryDelivery has a part sent that is dead, with those of its message that died with
	// it, or asks again about one that is unknown for good: what is looked up or sent under
	// the same nonce is as at first, and what is not is sent once more, marked.
	RetryDelivery ChangeKind = "retry"
	// DropDelivery gives a part up that is pending, unknown or dead.
	DropDelivery ChangeKind = "drop"
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

// An Upload is a file that was brought before the message that carries it.
type Upload struct {
	ID   int64
	File channels.File
}

// A Post says something in a conversation for a program.
type Post struct {
	Conversation channels.Conversation
	Person       string // whose direct chat it is; empty: a group
	Reply        Reply
	Uploads      []int64 // whose files Reply carries: they become those of its message
	Message      int64   // filled in
	Delivery     int64   // filled in: that of its first part
}

// Names implements Change.
func (c *Post) Names() (action, target string) {
	return "message.send", "conversation " + core.SessionKey(c.Conversation)
}

// Names implements Change.
func (c *Resend) Names() (action, target string) {
	return "delivery.resend", "conversation " + core.SessionKey(c.Conversation)
}

// Names implements Change.
func (c *Change) Names() (action, target string) {
	return "delivery." + string(c.Kind), "delivery " + strconv.FormatInt(c.ID, 10)
}

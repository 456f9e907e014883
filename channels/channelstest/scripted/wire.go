package scripted

import (
	"context"
	"encoding/json"
	"time"

	"switchboard/channels"
)

// A Link is the way to the platform. Its errors are those of channels.Channel.
type Link interface {
	// Poll confirms updates by their IDs, waits until there are others and returns
	// those that are not confirmed, the oldest first and old ones included.
	Poll(ctx context.Context, confirm []int64) ([]Update, error)
	// Post shows a part in a conversation.
	Post(ctx context.Context, post Post) (channels.MessageID, error)
	// Change does something besides showing a new part, and returns the ID of the
	// message it was about, if it was about one, or what was asked for.
	Change(ctx context.Context, change Change) (Reply, error)
}

// An Update is one thing the platform tells, as bytes: a Message in JSON, or
// something unreadable.
type Update struct {
	ID    int64  `json:"id"`    // to confirm it by; a repeated event has a new one
	Event int64  `json:"event"` // the event's own number, the same when it is repeated
	Data  []byte `json:"data"`
}

// A Message is what somebody wrote or did, as the platform tells it.
type Message struct {
	// Event says what it tells; empty: somebody wrote.
	Event channels.EventKind `json:"event,omitempty"`
	// ID is the message that was written, edited, deleted, reacted to, or stands above
	// the button that was pressed.
	ID           string                `json:"id,omitempty"`
	Conversation string                `json:"conversation"`
	Kind         string                `json:"kind,omitempty"` // direct (default) | group | thread
	Place        string                `json:"place,omitempty"`
	Title        string                `json:"title,omitempty"`
	User         string                `json:"user,omitempty"`
	Label        string                `json:"label,omitempty"`
	Bot          bool                  `json:"bot,omitempty"`
	Text         string                `json:"text,omitempty"`
	ReplyTo      string                `json:"reply_to,omitempty"`
	Quote        string                `json:"quote,omitempty"`
	Forwarded    bool                  `json:"forwarded,omitempty"`
	Enclosed     bool                  `json:"enclosed,omitempty"`
	Origin       string                `json:"origin,omitempty"`
	Mentioned    bool                  `json:"mentioned,omitempty"`
	Elsewhere    bool                  `json:"elsewhere,omitempty"`
	Mentions     []channels.Mention    `json:"mentions,omitempty"`
	Attachments  []channels.Attachment `json:"attachments,omitempty"`
	At           time.Time             `json:"at"`

	Revision   int64               `json:"revision,omitempty"` // edited: counts from 1
	Callback   string              `json:"callback,omitempty"` // action: to answer the press by
	Code       string              `json:"code,omitempty"`     // action: the button's
	Added      []string            `json:"added,omitempty"`    // reaction
	Removed    []string            `json:"removed,omitempty"`  // reaction
	Membership channels.Membership `json:"membership,omitempty"`
	Former     string              `json:"former,omitempty"` // moved: the conversation's ID before
}

// A Post is a part on its way to the platform.
type Post struct {
	Conversation channels.ConversationID `json:"conversation"`
	Text         string                  `json:"text"`
	Rich         json.RawMessage         `json:"rich,omitempty"`
	Buttons      []channels.Button       `json:"buttons,omitempty"`
	Files        []File                  `json:"files,omitempty"`
	ReplyTo      channels.MessageID      `json:"reply_to,omitempty"`
	Nonce        string                  `json:"nonce"`
}

// An Op is what is done besides showing a new part.
type Op string

const (
	OpEdit     Op = "edit"
	OpDraft    Op = "draft" // with no ID it shows a new message
	OpDelete   Op = "delete"
	OpUnbutton Op = "unbutton"
	OpTyping   Op = "typing"
	OpCommands Op = "commands"
	OpProbe    Op = "probe"
	OpTurn     Op = "turn"  // Text is the state
	OpFind     Op = "find"  // looks a part up by its nonce
	OpToast    Op = "toast" // answers the press ID: Text, which may be empty, is shown to who pressed
	OpFetch    Op = "fetch" // reads the bytes of the attachment ID
)

// A Change is something done besides showing a new part. What it means, and which fields of
// the part it has, depends on Op.
type Change struct {
	Post
	Op       Op                    `json:"op"`
	ID       channels.MessageID    `json:"id,omitempty"`
	Commands []channels.CommandSet `json:"commands,omitempty"`
}

// A File is one that goes out with a Post.
type File struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Data []byte `json:"data"`
}

// The calls over a socket: POST with JSON, answered by a Reply. A connection that
// ends without an answer leaves the outcome unknown.
const (
	PathPoll   = "/poll" // the IDs to confirm
	PathPost   = "/post"
	PathChange = "/change"
)

// A Reply is the answer to every call.
type Reply struct {
	Updates []Update           `json:"updates,omitempty"`
	ID      channels.MessageID `json:"id,omitempty"`
	Found   bool               `json:"found,omitempty"`
	Data    []byte             `json:"data,omitempty"`
	Error   *Error             `json:"error,omitempty"`
}

// An Error is a refusal on the wire.
type Error struct {
	Code       string `json:"code"` // unauthorized | gone | no_message | moved | rate_limited | refused
	Reason     string `json:"reason,omitempty"`
	RetryAfter int64  `json:"retry_after_ms,omitempty"`
	Channel    bool   `json:"channel,omitempty"`   // rate_limited: the whole channel is
	Temporary  bool   `json:"temporary,omitempty"` // refused: trying again may help
}

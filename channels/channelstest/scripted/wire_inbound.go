package scripted

import (
	"time"

	"switchboard/channels"
)

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

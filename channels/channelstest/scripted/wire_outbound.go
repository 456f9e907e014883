package scripted

import (
	"encoding/json"

	"switchboard/channels"
)

// PathChange is the call of a Change.
const PathChange = "/change"

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
)

// A Change is something done besides showing a new part. What it means depends on Op.
type Change struct {
	Op           Op                      `json:"op"`
	Conversation channels.ConversationID `json:"conversation,omitempty"`
	ID           channels.MessageID      `json:"id,omitempty"`
	ReplyTo      channels.MessageID      `json:"reply_to,omitempty"` // of a draft that is shown first
	Text         string                  `json:"text,omitempty"`
	Rich         json.RawMessage         `json:"rich,omitempty"`
	Buttons      []channels.Button       `json:"buttons,omitempty"`
	Commands     []channels.CommandSet   `json:"commands,omitempty"`
}

// A File is one that goes out with a Post.
type File struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Data []byte `json:"data"`
}

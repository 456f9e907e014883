// Package sessions has what a session has of its own, and how it is changed.
package sessions

import (
	"switchboard/channels"
	"switchboard/router/core"
)

// A Change sets something of a session.
type Change struct {
	Conversation channels.Conversation // whose session it is; none (TimeZone): it is the person's everywhere
	Of           Setting
	To           string // empty: what the settings, or the person, say
	Was          string // filled in
	// Person, with SessionTimeZone, is whose jobs move to it of which nobody said the zone; it is theirs then everywhere.
	// Empty: it is the session's alone.
	Person string
	// Begins is whose session it becomes, where nobody spoke in the conversation yet. Empty: it has to be there.
	Begins string
	Aside  bool    // the session's own stays as it is: others talk there
	Moved  []int64 // filled in: the jobs that moved
}

// A Setting is what a session may have of its own.
type Setting string

const (
	Mode     Setting = "mode" // ask | act
	Model    Setting = "model"
	Language Setting = "language"
	TimeZone Setting = "timezone"
	Private  Setting = "private" // on: it neither learns nor is recalled
	Title    Setting = "title"   // a name that people see; its words are nobody's to read as orders
)

// Names implements Change.
func (c *Change) Names() (action, target string) {
	if c.Conversation.ID == "" {
		return "session." + string(c.Of), "person " + c.Person
	}
	return "session." + string(c.Of), "session " + core.SessionKey(c.Conversation)
}

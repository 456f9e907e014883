package ledger

import (
	"strings"
	"time"

	"switchboard/channels"
)

// A Person is somebody the bot knows.
type Person struct {
	Name       string    `json:"name"`
	Role       string    `json:"role"` // admin | user
	Identities []string  `json:"identities"`
	Tools      []string  `json:"tools"` // patterns; ["*"] is everything; empty is nothing
	TimeZone   string    `json:"timezone"`
	Source     string    `json:"source"`         // see the sources
	Since      time.Time `json:"since,omitzero"` // when they were first known
	// Seen (Source open) is when the person was last seen, to a day; else zero.
	Seen time.Time `json:"-"`
}

// A Chat is a conversation that has a session and is open to us.
type Chat struct {
	channels.Conversation
	Person string // of a direct chat: who wrote there last
	// Identity is the one under which they did; empty: no message of theirs is kept.
	Identity string
}

// Where persons come from. Those of the settings are changed in the settings alone.
const (
	FromSettings = "config"
	FromOpen     = "open"  // let in by an open policy
	FromLocal    = "local" // named at run time, and whoever runs the program
)

// A PersonChange changes somebody who is not from the settings.
type PersonChange struct {
	Kind ChangeKind
	// Person has the name, and what is added (all of it), set (the role, the tools), or linked
	// (the identities).
	Person Person
	// Local refuses a change that leaves no admin but whoever has this identity and no other:
	// nobody could give orders in a chat any more. Empty: that is not looked at.
	Local string
	// File is where the settings are, to be named where they decide.
	File string
	// Now is filled in: who they are then; ChangeRemove: were. ErrNotFound: there is nobody of
	// that name.
	Now *Person
}

// A ChangeKind is what a PersonChange does.
type ChangeKind string

const (
	ChangeAdd    ChangeKind = "add"
	ChangeRole   ChangeKind = "role"
	ChangeLink   ChangeKind = "link"
	ChangeTools  ChangeKind = "tools"
	ChangeRemove ChangeKind = "remove"
)

// Roles of persons.
const (
	RoleAdmin = "admin"
	RoleUser  = "user"
)

// WithoutTeam is an identity with its team, "kind:TEAM/ID", as it is without: "kind:ID".
func WithoutTeam(identity string) (plain string, ok bool) {
	kind, rest, _ := strings.Cut(identity, ":")
	_, id, ok := strings.Cut(rest, "/")
	return kind + ":" + id, ok
}

package ledger

import (
	"errors"
	"slices"
	"strings"
	"time"

	"switchboard/channels"
)

// ErrPersonAway is returned by Submit, which did nothing, for somebody whom the settings file does
// not name now: it is to be submitted again once they are back.
var ErrPersonAway = errors.New("the person is away: the settings file does not name them now")

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
	// Away is since when the settings, which named them before, do not: they are not served, and
	// what is theirs waits until the settings name them again. Zero: they are not away.
	Away time.Time `json:"away,omitzero"`
	// Machine says that the settings speak of the person who runs the program, who is the same with other identities.
	Machine bool `json:"-"`
}

// Same says whether somebody of the same name is the same person: one identity of theirs is the
// same, also where one form names the team and the other does not. Who has none is known by
// the name alone.
func (p *Person) Same(as *Person) bool {
	if p.Machine || as.Machine || len(p.Identities) == 0 || len(as.Identities) == 0 {
		return true
	}
	forms := map[string]bool{}
	for _, id := range p.Identities {
		forms[id] = true
		if plain, ok := WithoutTeam(id); ok {
			forms[plain] = true
		}
	}
	return slices.ContainsFunc(as.Identities, func(id string) bool {
		plain, ok := WithoutTeam(id)
		return forms[id] || ok && slices.Contains(p.Identities, plain)
	})
}

// A PeopleError says why the people whom settings name cannot be taken: nothing was changed.
// Each fault is a sentence for the operator.
type PeopleError struct{ Faults []string }

func (e *PeopleError) Error() string { return strings.Join(e.Faults, "; ") }

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
	// Person has the name, and what is added (all of it), set (the role, the tools), linked or
	// unlinked (the identities).
	Person Person
	// Since, with ChangeRemove, is when the person meant was first known, in µs: somebody else may have the
	// name by now. 0: whoever has it.
	Since int64
	// Local refuses a change that leaves no admin but whoever has this identity and no other:
	// nobody could give orders in a chat any more. Empty: that is not looked at.
	Local string
	// File is where the settings are, to be named where they decide.
	File string
	// NotInFile (ChangeRemove) says that the settings name nobody so now, and InFile whom they do. Whom
	// they do not name any more can be removed.
	NotInFile bool
	InFile    *Person
	// Now is filled in: who they are then; ChangeRemove: were. ErrNotFound: there is nobody of
	// that name.
	Now *Person
	// Paused is filled in (ChangeRole, ChangeRemove): jobs of theirs that stopped with it, by number.
	Paused []int64
}

// Belongings are what is somebody's, by number. A removal takes memories, notifications and grants.
type Belongings struct {
	Jobs          int // that are not over
	Memories      int
	Notifications int
	Grants        int // what they were allowed, or allowed, for more than once
	Files         int // that they sent
}

// A PeopleSet is what became of people when the settings named them.
type PeopleSet struct {
	Back   []string           // who was away
	Paused map[string][]int64 // jobs that need rights which their owner, no admin any more, had
}

// Left says that somebody of the settings is removed whom those name no more.
func (c *PersonChange) Left(p *Person) bool {
	return c.Kind == ChangeRemove && (c.NotInFile || c.InFile != nil && !c.InFile.Same(p))
}

// A ChangeKind is what a PersonChange does.
type ChangeKind string

const (
	ChangeAdd    ChangeKind = "add"
	ChangeRole   ChangeKind = "role"
	ChangeLink   ChangeKind = "link"
	ChangeUnlink ChangeKind = "unlink" // takes identities off, but not the last one
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

// PlainID is the ID in an identity, without kind, channel or team.
func PlainID(identity string) string {
	_, id, _ := strings.Cut(identity, ":")
	return id[strings.LastIndex(id, "/")+1:]
}

// Called is the name of who is called so, in any case of letters where that is one person; empty: nobody is.
func Called(name string, people []Person) string {
	var alike []string
	for _, p := range people {
		if p.Name == name {
			return name
		}
		if strings.EqualFold(p.Name, name) {
			alike = append(alike, p.Name)
		}
	}
	if len(alike) != 1 {
		return ""
	}
	return alike[0]
}

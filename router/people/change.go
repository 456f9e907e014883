// Package people has who is let in and by which rule: changes of people, claim codes, pairing and
// links.
package people

import (
	"errors"
	"strings"

	"switchboard/router/audit"
	"switchboard/router/core"
)

// Names implements Change.
func (c *Change) Names() (action, target string) {
	return "person." + string(c.Kind), "person " + c.Person.Name
}

// LocalActor is whoever runs the program on this machine, under a person's name.
func LocalActor(person string) core.Actor { return core.Actor{Person: person, Rule: audit.RuleMachine} }

// ErrAway is returned by Submit, which did nothing, for somebody whom the settings file does
// not name now: it is to be submitted again once they are back.
var ErrAway = errors.New("the person is away: the settings file does not name them now")

// A FaultsError says why the people whom settings name cannot be taken: nothing was changed.
// Each fault is a sentence for the operator.
type FaultsError struct{ Faults []string }

func (e *FaultsError) Error() string { return strings.Join(e.Faults, "; ") }

// A Change changes somebody who is not from the settings.
type Change struct {
	Kind ChangeKind
	// Person has the name, and what is added (all of it), set (the role, the tools), linked or
	// unlinked (the identities).
	Person core.Person
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
	InFile    *core.Person
	// Now is filled in: who they are then; ChangeRemove: were. ErrNotFound: there is nobody of
	// that name.
	Now *core.Person
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

// A Set is what became of people when the settings named them.
type Set struct {
	Back   []string           // who was away
	Paused map[string][]int64 // jobs that need rights which their owner, no admin any more, had
}

// Left says that somebody of the settings is removed whom those name no more.
func (c *Change) Left(p *core.Person) bool {
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

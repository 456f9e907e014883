package memory

import (
	"fmt"
	"strings"
	"time"

	"switchboard/agent/memory"
)

// A Change writes, changes or forgets memories, or sets what a person wants of theirs. Service makes it, which judges it by the
// gate. ErrNotFound: none of IDs is there, or may be changed so.
type Change struct {
	Kind ChangeKind
	// Entry is what is written (Add, Correct); filled in. The same text in the same scope is not written twice.
	Entry memory.Entry
	// IDs are what is changed or forgotten, or what Entry stands in place of.
	IDs []int64
	// Of is in which scopes they have to be, By who said them; empty: any, anybody.
	Of []memory.Scope
	By string
	// Expires is when Entry is forgotten if it is not used; zero: never.
	Expires time.Time
	// Person and Settings are of SetSettings.
	Person   string
	Settings Settings
	// Records are taken (TakeRecords), and Taken says how far; filled in.
	Records []Record
	Taken   Taken
	// Dropped are the summaries that are forgotten (ForgetSummaries); filled in.
	Dropped []Summary
	// Known: Entry was there already; filled in.
	Known bool
	// Done are those of IDs as they are now (Undo: what they were put together from); filled in.
	Done []memory.Entry

	// Refusal is why the gate does not let it be made; nil: it does.
	Refusal *Refusal
	// NoAnswer is why it is refused where that is for want of an answer of the policy service, so that it can be tried again.
	NoAnswer error
	judged   bool
}

// A Refusal says by which rule something is not kept.
type Refusal struct{ Rule, Text string }

// Judged says that the gate has seen the change.
func (c *Change) Judged() bool { return c.judged }

// A ChangeKind is what a Change does.
type ChangeKind string

// The kinds.
const (
	Add         ChangeKind = "add"
	Correct     ChangeKind = "correct"
	Keep        ChangeKind = "keep"   // its person confirms it: it is sure, clean, and does not age
	Forget      ChangeKind = "forget" //
	Undo        ChangeKind = "undo"   // the facts that one was put together from are there again in its place, within UndoFor
	Always      ChangeKind = "always" // a rule stands in every prompt from now on
	SetSettings ChangeKind = "set"
	TakeRecords ChangeKind = "records" // of another's memory, of which this one is a copy
	EndCopy     ChangeKind = "own"     // it is no copy any more
	// ForgetSummaries has the summaries of all sessions in the scopes Of forgotten.
	ForgetSummaries ChangeKind = "summaries"
)

// UndoFor is for how long what was put together can be taken apart.
const UndoFor = 30 * 24 * time.Hour

// told are those of which is said what became of them.
func (c *Change) told() []memory.Entry {
	if c.Kind == Add || c.Kind == Correct {
		return []memory.Entry{c.Entry}
	}
	return c.Done
}

// Names implements core.Change.
func (c *Change) Names() (action, target string) {
	action = "memory." + string(c.Kind)
	switch c.Kind {
	case SetSettings:
		return action, "person " + c.Person
	case TakeRecords:
		return action, fmt.Sprintf("records %d to %d", c.Records[0].N, c.Records[len(c.Records)-1].N)
	case EndCopy:
		return action, "memory"
	case ForgetSummaries:
		return action, strings.Trim(fmt.Sprint(c.Of), "[]")
	}
	ids := c.IDs
	if c.Entry.ID != 0 {
		ids = append(ids[:len(ids):len(ids)], c.Entry.ID)
	}
	numbers := strings.Trim(fmt.Sprint(ids[:min(len(ids), 20)]), "[]")
	if len(ids) > 20 {
		numbers += fmt.Sprintf(" and %d more", len(ids)-20)
	}
	return action, strings.TrimSpace("memory " + numbers)
}

// A Look says in the audit log that an admin looked at what is remembered of somebody; of nobody named: of everybody.
type Look struct{ Person string }

// Names implements core.Change.
func (c *Look) Names() (action, target string) {
	if c.Person == "" {
		return "memory.look", "everybody"
	}
	return "memory.look", "person " + c.Person
}

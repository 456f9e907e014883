package memory

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"switchboard/agent/memory"
	"switchboard/agent/tools"
)

// A Resting is a session that rests, and in which something is new.
type Resting struct {
	Session      int64
	Channel      string
	Group        string
	Direct       bool
	Private      bool
	Copied       bool   // memory is another bot's, so that nothing is learned here
	Person       string // for whom the work is done: whose direct chat it is, or who wrote there last; empty: nobody we know
	Summary      string
	SummaryTaint tools.Taint
	Reset        int64 // messages up to this one are forgotten
	LookedTo     int64
	SummedTo     int64
	ReportedTo   int64 // strangers' messages up to this one were gone through
	IndexedTo    int64
	IndexedTurn  int64
	UsedAt       time.Time
	Tries        int
	Due          bool     // it is not to be left alone for now, but for what is to be indexed
	Fence        int64    // of the lease on the person
	Denied       []string // categories that nobody's words are found by, besides what people set

	answered bool // the last call of a model, if there was one, gave an answer
}

// Place is where somebody spoke there.
func (r *Resting) Place(person string) memory.Place {
	return memory.Place{Person: person, Channel: r.Channel, Group: r.Group, Direct: r.Direct, Session: r.Session, Private: r.Private}
}

// by says that what somebody said there may be theirs: in a direct chat it is nobody's but whose chat it is, who may be called as
// somebody before them was.
func (r *Resting) by(person string) bool { return !r.Direct || person == r.Person }

// A Spoken is a message of a session.
type Spoken struct {
	ID   int64
	Turn int64 // 0: none
	In   bool  // somebody wrote it
	Who  string
	Text string
	// Own: it is in the writer's own words, and was typed.
	Own bool
	// Hidden: it says what was forgotten or corrected since, or is of a category that is not remembered.
	Hidden bool
	Taint  tools.Taint // of Text
	At     time.Time
}

// A Judged is what becomes of a learning.
type Judged struct {
	Learning int64
	State    string // promoted | discarded
	Outcome  string // why
	Change   *Change
}

// A RestStore has the sessions that rest. What it writes is all or nothing, under the lease, and conditional on what it was made from:
// core.ErrFenced, core.ErrConflict. Implemented by store.
type RestStore interface {
	// Resting lists sessions in which nothing happened since a time and something is new, three of a person at most, with no more than their
	// number and person: those not to be left alone for now, or in which something is to be indexed, and for whose person no other engine works.
	Resting(ctx context.Context, owner int64, before time.Time, limit int) ([]Resting, error)
	// Rest is one of them as it is now, with the lease of its person; nil: it rests no more, or another engine is at it.
	Rest(ctx context.Context, session, owner int64, before time.Time) (*Resting, error)
	// FreeRest gives the lease back.
	FreeRest(ctx context.Context, r *Resting) error
	// IndexRest has the next of what was said and brought there found by its words; more: there is more.
	IndexRest(ctx context.Context, r *Resting) (more bool, err error)
	// SpokenAfter lists messages of a session behind one, the oldest first.
	SpokenAfter(ctx context.Context, r *Resting, after int64, limit int) ([]Spoken, error)
	// StrangersSpoke has sessions of groups in some channels rest again where strangers wrote something before a time that was not gone through.
	StrangersSpoke(ctx context.Context, channels []string, before time.Time) error
	// StrangersSaid lists what strangers wrote where a session is and was not gone through, the newest first.
	StrangersSaid(ctx context.Context, session int64, limit int) ([]Spoken, error)
	// Learnings are those of a session that wait for the curator, the oldest first.
	Learnings(ctx context.Context, session int64, limit int) ([]memory.Entry, error)
	// MergeableFacts says how many facts of a scope may be consolidated, and how many of them were not yet.
	MergeableFacts(ctx context.Context, scope memory.Scope) (all, fresh int, err error)
	// WriteLook writes what a look at the messages up to one taught.
	WriteLook(ctx context.Context, r *Resting, to int64, learned []memory.Entry) error
	// WriteVerdicts writes what becomes of learnings.
	WriteVerdicts(ctx context.Context, r *Resting, list []Judged) error
	// WriteSummary writes the summary with the messages up to one.
	WriteSummary(ctx context.Context, r *Resting, to int64, summary string, taint tools.Taint) error
	// WriteReports writes what strangers said in other words, and that their messages up to one were gone through.
	WriteReports(ctx context.Context, r *Resting, to int64, list []Spoken) error
	// WriteMerged writes facts in place of others, and that a scope was consolidated up to a fact.
	WriteMerged(ctx context.Context, r *Resting, scope memory.Scope, to int64, list []*Change) error
	// CountCall counts a call for a person and day; false: there were so many.
	CountCall(ctx context.Context, person, day string, most int) (bool, error)
	// Rested notes that all is done there, unless something happened since.
	Rested(ctx context.Context, r *Resting) error
	// RestFailed notes why it is not, and when it is tried again; zero: when something is new there.
	RestFailed(ctx context.Context, r *Resting, fault string, again time.Time) error
}

// Doing says, for doctor, what is not done: how many sessions wait, and why the one that failed most often does.
type Doing struct {
	Failing int64
	Tries   int64
	Fault   string
}

// Line is what doctor says of it; empty: all is well.
func (d *Doing) Line() string {
	if d.Failing == 0 {
		return ""
	}
	return fmt.Sprintf("what was said in %d conversation(s) is not learned yet, after %d tries: %s", d.Failing, d.Tries, cmp.Or(strings.TrimSpace(d.Fault), "no reason is known"))
}

package turns

import (
	"slices"
	"time"

	"switchboard/agent/tools"
	"switchboard/router/core"
)

// A TurnState is how far a turn has come.
type TurnState string

const (
	TurnQueued    TurnState = "queued"
	TurnRunning   TurnState = "running"
	TurnWaiting   TurnState = "waiting" // for a decision; it holds neither worker nor session
	TurnDone      TurnState = "done"
	TurnFailed    TurnState = "failed"
	TurnCancelled TurnState = "cancelled"
	TurnMerged    TurnState = "merged" // into the turn that answers it
)

// TurnStates are the states of a turn, each with those that may follow it. The databases,
// docs/architecture.md and "turn list --state" repeat them; tests compare.
var TurnStates = map[TurnState][]TurnState{
	TurnQueued: {TurnRunning, TurnCancelled, TurnMerged},
	// Queued again: its session became part of another one.
	TurnRunning:   {TurnWaiting, TurnDone, TurnFailed, TurnCancelled, TurnQueued},
	TurnWaiting:   {TurnQueued, TurnCancelled},
	TurnDone:      nil,
	TurnFailed:    nil,
	TurnCancelled: nil,
	TurnMerged:    nil,
}

// Open says that a turn in this state has not ended.
func (s TurnState) Open() bool { return len(TurnStates[s]) > 0 }

// To says that a turn may come from this state to that.
func (s TurnState) To(next TurnState) bool { return slices.Contains(TurnStates[s], next) }

// Held is a session under a lease, with its next turn.
type Held struct {
	core.TurnRef
	Stop core.Stop // why it was asked to stop
}

// A Waiting is a message that nobody answered in time.
type Waiting struct {
	Turn     int64
	Asked    time.Time // since when the person waits for its answer
	Received time.Time // when it was committed
	// Text, Files (how many) and Taint are those of its messages; of the turn that runs the
	// caller knows them.
	Text  string
	Files int
	Taint tools.Taint
}

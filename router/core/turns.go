package core

import (
	"time"

	"switchboard/agent"
	"switchboard/channels"
)

// TurnRef names a turn and the lease under which it runs.
type TurnRef struct {
	TurnID, SessionID, Fence int64
}

// Claimed is a turn that this engine is to run.
type Claimed struct {
	TurnRef
	Person string
	// Data is what Load would have said as the turn was claimed; nil: it was not read
	// along.
	Data *TurnData
}

// TurnData is a turn with its session, message and what was committed of it.
type TurnData struct {
	Turn            agent.Turn // Place and Workspace are left for the router
	State           agent.State
	Conversation    channels.Conversation
	ReplyTo         channels.MessageID // the message the turn answers
	CancelRequested Stop
	// Draft is the delivery that is the turn's open draft; 0: none.
	Draft int64
	// Overtaken: newer turns of the session were begun while it waited for a decision.
	Overtaken bool
	// Retry: it does the work of another turn again, whose message and doings are in
	// Turn.Message and State.Former. An empty message was taken back, or is kept no more.
	Retry bool
	// Ordered: the message calls a tool by name, as TurnIntent says.
	Ordered bool
	// Submitted: nobody typed its message, and nobody waits for the answer; see Submission.
	Submitted bool
	// Asked is since when the person waits for the answer.
	Asked time.Time
	// Away is for how long nobody worked on the turn after it had begun; it is in
	// Turn.StartedAt, so that turn_timeout does not count it.
	Away time.Duration
	// Resumed counts how often the turn was taken over from an engine that died,
	// since its latest committed step.
	Resumed int
	// Unsettled: a model call was being made as whoever ran the turn before stopped, with its
	// cost reserved. SettleLost is to be called before the turn goes on.
	Unsettled bool
}

// A Stop says why a turn was asked to stop, as the first who asked had it.
type Stop string

const (
	StopNone        Stop = "" // nobody asked
	StopCancelled   Stop = "cancelled"
	StopInterrupted Stop = "interrupted" // by the person's newer message
)

// Cause is what the turn's context is cancelled with; nil: nothing.
func (s Stop) Cause() error {
	switch s {
	case StopNone:
		return nil
	case StopInterrupted:
		return agent.ErrInterrupted
	}
	return agent.ErrCancelled
}

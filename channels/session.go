package channels

import (
	"encoding/json"
	"slices"
	"time"
)

// A SessionEvent is one thing that happened in a session, as clients see it that
// read for themselves (see Reader). N grows by one within a session.
type SessionEvent struct {
	N      int64           `json:"event"`
	Kind   string          `json:"kind"` // message | turn | plan | task | review | delivery | session
	TurnID int64           `json:"turn_id,omitempty,string"`
	Data   json.RawMessage `json:"data,omitempty"` // terse, at most 2 KB
	At     time.Time       `json:"at"`
	// Message is set on kind message.
	Message *SessionMessage `json:"message,omitempty"`
}

// A SessionMessage is one text in or out of a session.
type SessionMessage struct {
	ID        int64  `json:"id,string"`
	Direction string `json:"direction"` // in | out
	Text      string `json:"text"`
	Author    string `json:"author"`
	Final     bool   `json:"final"`  // the last message of its turn, and the turn's goal was reached
	Notice    bool   `json:"notice"` // a fixed notice of the program, not an answer
}

// Says tells whether the event is a message of ours.
func (e *SessionEvent) Says() bool { return e.Message != nil && e.Message.Direction == "out" }

// Ends tells whether the event is the end of a turn.
func (e *SessionEvent) Ends() bool {
	var d struct {
		State string `json:"state"`
	}
	return e.Kind == "turn" && json.Unmarshal(e.Data, &d) == nil && slices.Contains(endStates, d.State)
}

// endStates are those in which a turn is over.
var endStates = []string{"done", "failed", "cancelled", "merged"}

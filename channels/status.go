package channels

import (
	"encoding/json"
	"time"
)

// A State says how a channel's connection is.
type State string

const (
	StateDisabled   State = "disabled"   // the settings say so
	StateWaiting    State = "waiting"    // for credentials, or for another engine that holds it
	StateConnecting State = "connecting" // not heard of the platform yet
	StateConnected  State = "connected"
	StateDeaf       State = "deaf"  // the connection is open and nothing comes; it is connected again
	StateError      State = "error" // see Reason; it is tried again unless that is useless
)

// A Status is a channel's state with what is known of its connection.
type Status struct {
	Name      string    `json:"name"`
	Kind      string    `json:"kind"`
	State     State     `json:"state"`
	Since     time.Time `json:"since"`      // when State began
	Reason    string    `json:"reason"`     // why it is so, in a sentence; may be empty
	LastFrame time.Time `json:"last_frame"` // when the platform last spoke; zero: never
	LastEvent time.Time `json:"last_event"` // when the last event came; zero: never
}

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

package channels

import (
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

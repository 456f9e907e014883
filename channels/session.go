package channels

import (
	"encoding/json"
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

package sessions

import (
	"errors"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
)

// ErrTaken says that a session belongs to another person, who wrote there first. Nothing was done.
var ErrTaken = errors.New("the session is another person's")

// RepeatedWithin is for how long an equal call is the same one, while nobody got its answer whole.
const RepeatedWithin = 15 * time.Minute

// A Line is one message of a session.
type Line struct {
	ID    int64 // of the message; 0: a program tells it
	Out   bool  // we said it
	Text  string
	Taint tools.Taint
}

// A Branch is a session with its messages.
type Branch struct {
	Conversation channels.ConversationID
	Person       string // who wrote there last
	Lines        []Line // since it was reset, oldest first, the newest alone where there are many
}

// A ChatCall is a call that brings a whole conversation and is answered with what a turn says.
type ChatCall struct {
	Generation   int64 // how often an equal call was a new one before
	Conversation channels.ConversationID
	Heard        bool // somebody got the answer whole
	CreatedAt    time.Time
}

// GoesOn says that an equal call is this one.
func (c *ChatCall) GoesOn() bool { return !c.Heard && time.Since(c.CreatedAt) < RepeatedWithin }

// An Opening is where a new ChatCall is answered, and what that session is to know.
type Opening struct {
	Key          []byte                // of the call
	Conversation channels.Conversation // where it is answered
	Person       string
	Instructions string // of the session, from now on
	// What a session begins with that is not there yet: what stands in the session From (a key) up to the message Upto, then Lines.
	From  string // empty: nothing
	Upto  int64
	Lines []Line
	Of    string // the session (a key) of which it is a branch; empty: of none
}

// Package api is the engine's HTTP API as both of its ends see it: how calls, answers
// and errors look, the client, how long things may take, and the socket in
// data_dir/run by which programs on one machine reach an engine. Its owner alone may
// open that. Only this package knows where the sockets are, and which of several
// engines answers.
//
// What is asked and answered is said elsewhere: the calls of a conversation in
// channels/console, all others in cmd/switchboard/socket.
package api

import "time"

// How long things may take.
const (
	// aliveWait is how long an engine may take to say that it lives, where others may
	// be asked instead.
	aliveWait = 3 * time.Second
	// readWait bounds reading from an engine that is not waited for.
	readWait = 5 * time.Second
	// headerWait is how long a client may take to say what it wants.
	headerWait = 10 * time.Second

	// StartWait is how long a call waits for a part of the engine that starts.
	StartWait = 2 * time.Second
	// PostWait bounds one try to hand over a message that can be tried again.
	PostWait = 15 * time.Second
	// WriteWait is how long the reader of a stream may leave it unread.
	WriteWait = 5 * time.Second
)

// An Error is a complete answer that is no success.
type Error struct {
	Status  int    `json:"-"` // of HTTP
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// failure is the body that carries an Error.
type failure struct {
	Error *Error `json:"error"`
}

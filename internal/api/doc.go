// Package api is the engine's HTTP API as both of its ends see it: how calls, answers
// and errors look, the client, how long things may take, and the socket in
// data_dir/run by which programs on one machine reach an engine. Its owner alone may
// open that. Only this package knows where the sockets are, and which of several
// engines answers.
//
// What is asked and answered is said elsewhere: the calls that every door has in
// channels/api, the socket's own in cmd/switchboard/socket.
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
	// DeltaEvery is how often a client is told more of a text that grows.
	DeltaEvery = 40 * time.Millisecond
)

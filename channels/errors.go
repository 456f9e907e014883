package channels

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrUnauthorized is returned by Run, Send and Probe when the platform rejects
	// the credentials. The channel is down until its settings change or, tried again
	// seldom, they are taken after all.
	ErrUnauthorized = errors.New("the platform rejected the credentials")
	// ErrNoCredentials is returned by Run while the settings name none, or a file or
	// variable that is not there. The channel waits for them.
	ErrNoCredentials = errors.New("no credentials are set")
	// ErrStopped is returned by Run when the platform refuses the bot for what only a
	// person can change, which the error says. Run then returns at once, with no I/O,
	// until the program restarts or the credentials change.
	ErrStopped = errors.New("stopped")
	// ErrElsewhere is returned by Run when another program receives this bot's
	// events, so that the platform refuses ours.
	ErrElsewhere = errors.New("another program receives this bot's messages")
	// ErrHeld is returned by Sink.Accept when an event could not be taken and may be
	// at fault itself; what came behind it may be handed in before it comes again.
	ErrHeld = errors.New("an event is held back")
	// ErrGone is returned by Send when the conversation is closed to the bot for
	// good: blocked, removed, deleted. Its open deliveries are dropped.
	ErrGone = errors.New("the conversation is closed to the bot")
	// ErrNoMessage is returned by Edit and Draft when the message is not there any
	// more. A part that was to take its place is sent as a new message.
	ErrNoMessage = errors.New("the message to edit is not there any more")
	// ErrMoved is returned by Send and Edit when the conversation has a new ID, which
	// an EventMoved tells; surely not sent. It is tried again, under the new ID then.
	ErrMoved = errors.New("the conversation has a new ID")
	// ErrNotConnected is returned by Send when the request surely never left this
	// machine. The channel pauses; it costs the delivery no try.
	ErrNotConnected = errors.New("not connected to the platform")
)

// RateLimitError reports that a platform refused a call for now; nothing was sent.
type RateLimitError struct {
	Op         string        // the platform's method, e.g. "chat.postMessage"
	RetryAfter time.Duration // as told by the platform; zero if it gave none
	Channel    bool          // the whole channel is limited, not this conversation alone
	Err        error
}

func (e *RateLimitError) Error() string {
	return fmt.Sprintf("%s: rate limited, retry after %s: %v", e.Op, e.RetryAfter, e.Err)
}
func (e *RateLimitError) Unwrap() error { return e.Err }

// RefusedError reports a complete error reply: the part surely was not sent.
type RefusedError struct {
	Op        string
	Reason    string // the platform's words
	Temporary bool   // the platform itself is ill (5xx); trying again may help
}

func (e *RefusedError) Error() string { return fmt.Sprintf("%s: refused: %s", e.Op, e.Reason) }

package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/internal/retry"
	"switchboard/internal/words"
)

// ErrFenced is returned by writes under a fence that is no longer the newest:
// another engine took the session or channel over, and nothing was written.
var ErrFenced = errors.New("the lease was taken over")

// ErrConflict is returned by writes that contradict what is stored, and changed
// nothing: what the caller knows is out of date, so it has to load anew.
var ErrConflict = errors.New("it contradicts what is stored")

// ErrRefused is returned by writes with a value that the database does not take,
// and would not another time; nothing was written.
var ErrRefused = errors.New("the database does not take such a value")

// ErrNotNow is wrapped by all that says that the database cannot be asked, or can take
// nothing, for now (unreachable, full, read-only, not migrated) or asks for another try:
// nothing that it was asked is at fault.
var ErrNotNow = errors.New("the database cannot do it now")

// ErrUnreadable is returned by Load, Absorb and Backlog when a part of what is stored is not what we write.
// To try again brings nothing.
var ErrUnreadable = errors.New("what is stored of the turn cannot be read")

// ErrStopped is returned where a turn was to wait that was asked to stop; nothing was written.
var ErrStopped = errors.New("the turn was asked to stop")

// ErrNotFound is returned where a row asked for does not exist.
var ErrNotFound = errors.New("not found")

// ErrTooManyAsked is returned where a turn was to wait for a decision, and too many of its
// person wait already; nothing was written.
var ErrTooManyAsked = errors.New("too many questions of this person are open")

// ErrNotAway is returned where a turn was to wait for somebody who is not away; nothing was written.
var ErrNotAway = errors.New("the person of the turn is not away")

// IsFinal says that the same call would fail of err another time too.
func IsFinal(err error) bool {
	for _, final := range []error{ErrFenced, ErrConflict, ErrRefused, ErrNotFound, ErrUnreadable, ErrStopped, ErrTooManyAsked, ErrNotAway} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}

// insistFor is how long Insist tries: what was done must not be lost for a hiccup.
const insistFor = 2 * time.Minute

// Insist does something in the database, again and again while that cannot take it: it
// is no fault of the program that the disk is full or the server gone. It returns the
// latest error: a final one, or any after two minutes, or once ctx has ended.
func Insist(ctx context.Context, do func() error) error {
	var err error
	began := time.Now()
	for range retry.Doubling(ctx, 50*time.Millisecond, 2*time.Second) {
		if err = do(); err == nil || IsFinal(err) || time.Since(began) > insistFor {
			break
		}
	}
	return err
}

// A Moved is a conversation by a former ID and its present one.
type Moved struct {
	Channel         string
	Former, Current channels.ConversationID
}

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

// Held is a session under a lease, with its next turn.
type Held struct {
	TurnRef
	Stop Stop // why it was asked to stop
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

// SessionKey is the key of the session of a conversation.
func SessionKey(c channels.Conversation) string { return c.Channel + ":" + string(c.ID) }

// console is the channel of the terminal, which every engine has.
const console = "console"

// ChatWords names a conversation, of which no more than its key may be known, to somebody who reads it in here.
func ChatWords(c, here channels.Conversation) string {
	switch {
	case SessionKey(c) == SessionKey(here):
		return "this chat"
	case c.Channel == console:
		return "the terminal"
	case c.Kind == channels.Group && c.Title != "":
		return fmt.Sprintf("the group “%s” on %s", words.OneLine(words.Visible(c.Title), 60), c.Channel)
	case c.Kind == channels.Direct:
		return "a direct chat on " + c.Channel
	}
	return "a chat on " + c.Channel
}

// OfSession is the conversation of a session's key, of which no more is known.
func OfSession(key string) channels.Conversation {
	channel, id, _ := strings.Cut(key, ":")
	return channels.Conversation{Channel: channel, ID: channels.ConversationID(id)}
}

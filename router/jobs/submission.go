package jobs

import (
	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/core"
)

// A Submission is work that nobody typed, for Submit: what a run of a job puts in. It is committed under
// the rights that its person has at that moment, and its text is never a command.
type Submission struct {
	// Key is what it is there once by, within 30 days: "run:JOB:SLOT:TRY".
	Key    string
	Origin string // job | api
	Person string
	Rule   string // by which it is let in; see rules.go
	To     channels.Conversation
	// Text is what the agent is asked for, or, with Say, what we say ourselves, in Markdown.
	Text string
	// InGroup is Text where others read along; empty: the same.
	InGroup string
	Taint   tools.Taint
	// Say: it is a message of ours, and no turn.
	Say bool
	// Abroad: a message may go to whomever its person may have us write to. Otherwise it goes to a
	// direct chat of theirs, or to a group in which they are served.
	Abroad bool
	// ReplyTo is the message that a message of ours replies to in a group; empty: none.
	ReplyTo channels.MessageID
	// Buttons are shown under a message of ours.
	Buttons []core.Button
	// Notification is a message of ours in plain text, which is kept for the person to read again
	// (/notifications); empty: it is not kept.
	Notification string
	// Terms narrow a turn.
	Terms agent.Terms
	// Run is the run that is set running by the same transaction, or done where there is no turn;
	// 0: none.
	Run int64
	// Try of the run, which has to be due still: else nothing is done.
	Try int
	// Seen is what the run's heartbeat remembers from then on; empty: as before.
	Seen string
}

// Submitted is what became of a Submission.
type Submitted struct {
	Turn, Message int64
	Duplicate     bool // its key is known, or its run is not due any more: nothing was done
	// Refused says why it was not taken, in a word and a sentence after ": "; empty: it was.
	// The words are those below.
	Refused string
}

// The words with which Submitted.Refused begins.
const (
	RefusedBusy         = "busy"         // the session's queue is full
	RefusedPerson       = "person"       // its person is not known any more
	RefusedConversation = "conversation" // it is not known, or closed to us
	RefusedRights       = "rights"       // its person may not have us speak there
)

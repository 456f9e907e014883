package ledger

import (
	"strconv"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/scheduler"
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
	Buttons []Button
	// Notification is a message of ours in plain text, which is kept for the person to read again
	// (/notifications); empty: it is not kept.
	Notification string
	// Terms narrow a turn.
	Terms agent.Limits
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

// A JobChange makes, changes or ends a job. ErrNotFound: there is none of that number, or it is not Of.
type JobChange struct {
	Kind JobChangeKind
	ID   int64
	// Of is whose job it has to be; empty: anybody's, the program's own included.
	Of string
	// Job is what is made; of an edit what it becomes, from what it was in that Version.
	Job *scheduler.Job
	// NewTime: an edit gives it a time, so that it goes on if it is over, and has a slot that was skipped after all.
	NewTime bool
	// Target is where it speaks; nil: nowhere, or as before.
	Target *channels.Conversation
	// Done is the job as it is after the change; filled in.
	Done *scheduler.Job
	// Run is the number of a run that was made by "run"; filled in.
	Run int64
	// Until is when a snoozed reminder comes again.
	Until time.Time
}

// A JobChangeKind is what a JobChange does.
type JobChangeKind string

const (
	AddJob    JobChangeKind = "add"
	EditJob   JobChangeKind = "edit" // spec, text, name, rules, target
	PauseJob  JobChangeKind = "pause"
	ResumeJob JobChangeKind = "resume"
	RemoveJob JobChangeKind = "remove"
	SkipJob   JobChangeKind = "skip"   // the next slot
	RunJob    JobChangeKind = "run"    // now, beside its slots
	SnoozeJob JobChangeKind = "snooze" // a new one-shot with the text of ID, at Until
)

// Names implements Change.
func (c *JobChange) Names() (action, target string) {
	id := c.ID
	if c.Done != nil {
		id = c.Done.ID
	}
	return "job." + string(c.Kind), "job " + strconv.FormatInt(id, 10)
}

// A Notification is what a job told its owner.
type Notification struct {
	ID   int64  `json:"id"`
	Job  int64  `json:"job,omitempty"`
	Text string `json:"text"`
	// Taint is that of the job.
	Taint tools.Taint `json:"taint,omitempty"`
	At    time.Time   `json:"at"`
	Read  time.Time   `json:"read,omitzero"` // zero: unread
}

// A NotificationsRead marks notifications of a person as read.
type NotificationsRead struct {
	Person string
	IDs    []int64
}

// Names implements Change.
func (c *NotificationsRead) Names() (action, target string) {
	return "notification.read", "person " + c.Person
}

// A Queue is what waits to be done, or was given up.
type Queue struct {
	Waiting int           // turns that could begin
	Oldest  time.Duration // for how long the oldest of them has waited
	Dead    int           // deliveries that were given up, and that nobody has looked after
}

// News are what came about for a heartbeat, since a former one or at all.
type News struct {
	// Message, Notification and Failed are the newest of each: the message's and the notification's
	// number, and the µs at which the run ended.
	Message, Notification, Failed int64
	// Messages and Notifications are how many are new, at most 1000.
	Messages, Notifications int
	Failures                []Failure // new ones, the oldest first, at most 10
	// Health is what the health job remembers.
	Health string
}

// A Failure is a run that failed.
type Failure struct {
	Job    int64
	Name   string // of the program's own job; empty: a person's
	Reason string // in a word
	At     time.Time
}

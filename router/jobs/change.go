package jobs

import (
	"strconv"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/scheduler"
)

// A Change makes, changes or ends a job. ErrNotFound: there is none of that number, or it is not Of.
type Change struct {
	Kind ChangeKind
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

// A ChangeKind is what a Change does.
type ChangeKind string

const (
	AddJob    ChangeKind = "add"
	EditJob   ChangeKind = "edit" // spec, text, name, rules, target
	PauseJob  ChangeKind = "pause"
	ResumeJob ChangeKind = "resume"
	RemoveJob ChangeKind = "remove"
	SkipJob   ChangeKind = "skip"   // the next slot
	RunJob    ChangeKind = "run"    // now, beside its slots
	SnoozeJob ChangeKind = "snooze" // a new one-shot with the text of ID, at Until
)

// Names implements Change.
func (c *Change) Names() (action, target string) {
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

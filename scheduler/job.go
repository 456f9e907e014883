// Package scheduler puts work in at the right time: reminders, recurring jobs, heartbeats,
// maintenance. It owns when a job is due (Spec), what becomes of slots that passed while nobody
// looked (Misfire), and the loop that claims runs, has them started and settles them (Scheduler).
//
// It knows no channel, no router and no SQL: a Starter starts runs, a Store keeps jobs and runs.
// cmd/switchboard wires both.
package scheduler

import (
	"fmt"
	"time"
)

// A Job is work that nobody types when it is due.
type Job struct {
	ID    int64  `json:"id,string"`
	Owner string `json:"owner"` // the person under whose rights it runs; empty: the program's own (maintain.go)
	// Name is a short title; of maintenance, which. Empty: none.
	Name    string  `json:"name,omitempty"`
	Payload Payload `json:"payload"`
	// Text is what is said (notify, send), or asked of the agent (agent, heartbeat).
	Text   string `json:"text"`
	Spec   Spec   `json:"spec"`
	Rules  Rules  `json:"rules"`
	Target Target `json:"target,omitzero"`
	// Taint is what the turn had read by which the job was made: it runs under it. Empty: clean.
	Taint  string   `json:"taint,omitempty"`
	State  JobState `json:"state"`
	Reason string   `json:"reason,omitempty"` // why it is paused or disabled; empty: its owner wanted it
	// Slot is the instant of the spec that is next, and Due when it runs: Slot and its jitter. Zero:
	// none is left.
	Slot      time.Time `json:"slot,omitzero"`
	Due       time.Time `json:"due,omitzero"`
	Version   int64     `json:"-"`              // grows with each change and each claim
	Runs      int       `json:"runs"`           // slots that ran, or are due; not those that were missed or skipped
	Failures  int       `json:"failures"`       // in a row
	Seen      string    `json:"-"`              // a heartbeat's memory of what it saw last
	Away      bool      `json:"away,omitempty"` // its owner is away, for whom it waits; where jobs are listed or shown
	CreatedAt time.Time `json:"created_at"`
}

// A Payload says what a run of a job does.
type Payload string

const (
	PayloadNotify      Payload = "notify"      // says a fixed text to its owner, and keeps it as a notification
	PayloadAgent       Payload = "agent"       // runs a prompt as a turn of the target's session
	PayloadHeartbeat   Payload = "heartbeat"   // the same, where something changed since the last
	PayloadSend        Payload = "send"        // says a fixed text in a conversation
	PayloadMaintenance Payload = "maintenance" // the program looks after itself
)

// Kind is what people call a job that does this.
func (p Payload) Kind() string {
	switch p {
	case PayloadNotify:
		return "reminder"
	case PayloadAgent:
		return "task"
	case PayloadSend:
		return "message"
	}
	return string(p)
}

// A JobState is whether a job has runs.
type JobState string

const (
	JobActive   JobState = "active"
	JobPaused   JobState = "paused"
	JobDisabled JobState = "disabled" // it failed MostFailures times in a row
	JobDone     JobState = "done"     // no slot is left
	JobRemoved  JobState = "removed"  // kept for its history
)

// A Target is the conversation in which a job speaks; its session is the one of its turns.
type Target struct {
	Channel      string `json:"channel"`
	Conversation string `json:"conversation"`
}

// Rules say how a job runs. What is zero is as the settings say.
type Rules struct {
	Misfire Misfire       `json:"misfire,omitempty"`
	Grace   time.Duration `json:"grace,omitempty"`
	Overlap Overlap       `json:"overlap,omitempty"` // empty: skip
	Timeout time.Duration `json:"timeout,omitempty"` // of a turn; 0: turn_timeout alone
	// Retries is how often a run that failed is tried again; nil: MostRetries.
	Retries *int `json:"retries,omitempty"`
	// Budget is the most that the model calls of a run may cost; 0: as [budget] says.
	Budget float64 `json:"budget,omitempty"`
	// BudgetBy and FileBy are the admins who typed Budget and File; empty: somebody else did.
	BudgetBy string `json:"budget_by,omitempty"`
	FileBy   string `json:"file_by,omitempty"`
	Model    string `json:"model,omitempty"` // of an agent's run; empty: the session's
	// NoWeb and NoTools narrow an agent's run.
	NoWeb   bool `json:"no_web,omitempty"`
	NoTools bool `json:"no_tools,omitempty"`
	// File is a heartbeat's checklist, a path in the data folder; empty: its Text is.
	File string `json:"file,omitempty"`
	// Asked is the message in a group that asked for a reminder, which its message replies to; empty: none is known.
	Asked string `json:"asked,omitempty"`
	// Approved: a person allowed the job to speak outside of its owner's own chats, once, when it was
	// saved.
	Approved bool `json:"approved,omitempty"`
}

// A Misfire says what becomes of slots that passed while nobody looked.
type Misfire string

const (
	MisfireSkip Misfire = "skip" // none of them runs
	MisfireOnce Misfire = "once" // the newest runs, if it is within the grace
	MisfireAll  Misfire = "all"  // each runs that is within the grace, MostMissed of them
)

// An Overlap says what becomes of a slot while a former run of the job is open.
type Overlap string

const (
	OverlapSkip  Overlap = "skip"
	OverlapQueue Overlap = "queue" // it runs after it
	OverlapAllow Overlap = "allow" // both run at once
)

const (
	// MostFailures in a row disable a job.
	MostFailures = 10
	// MostRetries is how often a run is tried again, after 30 s, 1, 5, 15 and 60 minutes.
	MostRetries = 5
	// MostMissed is how many slots MisfireAll makes up for at most.
	MostMissed = 100
	// MostOpen is how many runs of a job may be open that queue, or run at once; the next is skipped.
	MostOpen = 100
	// LateAfter is how late a run may begin and still count as on time.
	LateAfter = time.Minute
)

// A Run is what became of one slot of a job.
type Run struct {
	ID    int64     `json:"id,string"`
	JobID int64     `json:"job,string"`
	Slot  time.Time `json:"slot"` // unique in the job
	// Last and Count are of a stretch of slots that did not run (RunMissed): its last, and how many.
	Last  time.Time `json:"last,omitzero"`
	Count int       `json:"count,omitempty"`
	Try   int       `json:"try"` // from 1
	State RunState  `json:"state"`
	// Reason says why it is missed, skipped or failed: a word, or a word and a sentence after ": ".
	Reason string `json:"reason,omitempty"`
	// StartAt is when it is to be started at the earliest, while it is due.
	StartAt   time.Time `json:"start_at,omitzero"`
	Engine    int64     `json:"-"`                        // the engine that works on it, where there is no turn; 0: none
	Turn      int64     `json:"turn_id,string,omitempty"` // what it became; 0: nothing (yet)
	Message   int64     `json:"message_id,string,omitempty"`
	Claimed   time.Time `json:"claimed"`
	Started   time.Time `json:"started,omitzero"` // zero: not yet
	Finished  time.Time `json:"finished,omitzero"`
	Calls     int       `json:"llm_calls,omitempty"`
	TokensIn  int64     `json:"tokens_in,omitempty"`
	TokensOut int64     `json:"tokens_out,omitempty"`
	Cost      float64   `json:"cost,omitempty"`
	// Delivery is what became of what it said, from the database: "delivered" only when the platform
	// said so; else pending, unknown, dead or dropped. Empty: it said nothing, or that is not kept any more.
	Delivery string `json:"delivery,omitempty"`
}

// A RunState is how far a run is.
type RunState string

const (
	RunDue     RunState = "due"     // claimed; it is started at StartAt
	RunRunning RunState = "running" // its turn is in the database, or its engine works on it
	RunDone    RunState = "done"
	RunFailed  RunState = "failed"  // and is not tried again
	RunMissed  RunState = "missed"  // a stretch of slots passed while nobody looked
	RunSkipped RunState = "skipped" // overlap, busy, and what else Reason says
)

// Key is the key of a try: what it puts into the database is there once.
func (r *Run) Key() string { return fmt.Sprintf("run:%d:%d:%d", r.JobID, r.Slot.UnixMicro(), r.Try) }

// Lag is how late the first try began; 0: it did not.
func (r *Run) Lag() time.Duration {
	if r.Started.IsZero() {
		return 0
	}
	return r.Started.Sub(r.Slot)
}

// start sets from when a job runs. An interval is counted from there, as of "every … from …"; one of whole days keeps
// the time of its day, and of whole weeks its weekday, where a day alone was said. Without a start it comes
// as soon as it may.
func (j *Job) start(from, now time.Time) {
	s := &j.Spec
	s.From = from
	zone, err := Zone(s.Zone)
	if s.Every == 0 || err != nil {
		return
	}
	if from.IsZero() {
		if ahead := s.Anchor.Sub(now); ahead > s.Every {
			s.Anchor = s.Anchor.Add(-ahead / s.Every * s.Every)
		}
		return
	}
	step, first := oneDay, wall(from, zone)
	if s.Every%(7*oneDay) == 0 {
		step = 7 * oneDay
	}
	if s.Every%oneDay != 0 || s.Anchor.IsZero() || timeOfDay(first) != 0 {
		s.Anchor = from
		return
	}
	after := wall(s.Anchor, zone).Sub(first) % step
	s.Anchor = reached(first.Add((after+step)%step), zone)
	s.From = s.Anchor // so that String says it
}

package agent

import (
	"context"
	"errors"
	"time"

	"switchboard/agent/llm"
	"switchboard/agent/tools"
)

// Causes with which the caller cancels the context of Run.
var (
	// ErrCancelled: a person asked to stop. Run kills what runs, writes what was
	// done, tells the person, and ends the turn as cancelled.
	ErrCancelled = errors.New("cancelled by a person")
	// ErrReleased: the engine stops or lost its lease. Run stops at once, writes
	// nothing more, and returns ErrReleased; the turn is resumed later.
	ErrReleased = errors.New("released")
	// ErrInterrupted is ErrCancelled because the person wrote something newer that
	// goes first. Run ends the turn as cancelled, and says so.
	ErrInterrupted = errors.New("interrupted by a newer message")
	// ErrRestart: the person changed the message. Run kills what runs, writes that it
	// was cancelled, and returns ErrRestart; run again, it absorbs the new text and
	// plans again, keeping what was done.
	ErrRestart = errors.New("the message was changed")
)

// A Turn is the work on one message.
type Turn struct {
	ID        int64
	Session   Session
	Person    Person
	Place     Place
	Message   Incoming
	Order     *Order    // the message called a tool; nil: it is to be planned for
	Limits    Limits    // what narrows it; the zero value: nothing
	Workspace string    // absolute path of the session's folder, which exists
	StartedAt time.Time // when the turn first ran, later by the time that it waited; turn_timeout runs from here
	// KeepTrying is for how long a model that is away is asked again for one step, with
	// the turn queued in between; 0: it is not.
	KeepTrying time.Duration
}

// Limits narrow a turn that nobody typed. They are stored with it, as JSON.
type Limits struct {
	NoWeb       bool `json:"no_web,omitempty"`       // no tool that reaches other machines
	NoTools     bool `json:"no_tools,omitempty"`     // no tools and no commands
	NoQuestions bool `json:"no_questions,omitempty"` // the answer asks nothing: nobody is there
	NoApprovals bool `json:"no_approvals,omitempty"` // what would ask for an approval is refused at once
	// Quiet: nothing is shown before the answer, and one that is QuietAnswer and no more is not sent.
	Quiet bool `json:"quiet,omitempty"`
	// Silent: where it fails and is tried again, that is not said.
	Silent  bool          `json:"silent,omitempty"`
	Model   string        `json:"model,omitempty"`   // in place of the session's
	Timeout time.Duration `json:"timeout,omitempty"` // of the turn, where that is less than turn_timeout; 0: turn_timeout
	Budget  float64       `json:"budget,omitempty"`  // the most that its calls may cost; 0: no limit of its own
	Allowed bool          `json:"allowed,omitempty"` // an admin allowed Budget, also where [budget] allows less
	Run     int64         `json:"run,omitempty"`     // the run that it is the work of; 0: none
	Job     int64         `json:"job,omitempty"`     // whose run that is
	Seen    string        `json:"seen,omitempty"`    // what its heartbeat has seen once it is done
	Late    string        `json:"late,omitempty"`    // when it was due, where it begins late: said below its answer
}

// QuietAnswer is what a turn answers that has nothing to say, where its Limits are Quiet.
const QuietAnswer = "NOTHING_TO_SAY"

// Session is what is remembered of one conversation.
type Session struct {
	ID           int64
	Key          string // "channel:conversation"
	Summary      string
	SummaryTaint tools.Taint
	Mode         string // ask | act
	Model        string // overrides the planner's model; empty: the settings'
	Language     string
	TimeZone     string // by which the turn's person reads times here; an IANA name
	// Instructions are what the person's program has us heed here; under our own. Empty: it says nothing.
	Instructions string
	Private      bool // nothing is learned of what is said here, and nothing recalled
}

// Person is who the turn works for.
type Person struct {
	Name     string
	Role     string // admin | user
	TimeZone string // their own; Session.TimeZone is what counts
}

// Place says where the turn speaks; from Features and policy.
type Place struct {
	Channel string
	Group   string // channels.Conversation.Place; of a direct chat it says nothing
	Direct  bool   // a chat with one person; otherwise others read along
	MaxText int    // longest part in the platform's units; 0: no limit
	Files   bool
	Buttons bool
	Rich    bool // more than plain text is shown
	Streams bool // a text can be shown while it is written
}

// Incoming is the message the turn answers.
type Incoming struct {
	ID          int64
	Text        string // the person's own words; empty: there are none
	Passed      []Passed
	Author      string
	At          time.Time
	Taint       tools.Taint // of what came along; Text is the person's own all the same
	Quote       string      // outside text
	Attachments []Attachment
	// Replaces is the message (Incoming.ID) that this is the new state of, text and
	// attachments, because the person edited it: of an Added that came by an edit, the
	// row of the message as first taken. 0: it is a message of its own.
	Replaces int64
}

// Passed is a text in a person's message that is not their own words: forwarded, a card
// in words, a choice made of what was read. Outside text.
type Passed struct {
	From string // who wrote a forwarded message, as the platform labels them; empty: not known
	Text string
}

// Attachment is a file that came along, by reference.
type Attachment struct {
	ID   string // as tools and "attachment:ID" links name it
	Kind string // document | photo | audio | video | voice
	Name string
	Type string // media type, not trusted
	Size int64  // bytes; 0: not known
}

// A Journal holds one turn's rows. The router implements it; it also renders
// messages and commits them with their deliveries in the same transaction. A
// commit returns ErrReleased when the session's fence is no longer ours.
type Journal interface {
	// Resume reads what the turn has to know: its context and all that was
	// committed of it so far.
	Resume(ctx context.Context) (*State, error)
	// Commit writes step in one transaction; all or nothing. ErrCancelled: the turn was to wait
	// and was asked to stop, so nothing was written.
	Commit(ctx context.Context, step Step) error
	// Absorb merges what the person sent meanwhile, and may steer this turn, into it:
	// in one transaction they become messages of this turn, to be heeded from attempt
	// from on. Asked at each task boundary. Usually there is nothing.
	Absorb(ctx context.Context, from int) ([]Incoming, error)
	// Edited says that the person changed a message of this turn since Absorb was last asked, so that it
	// has something. It answers at once, from memory: a change of this very moment may be missed.
	Edited() bool
	// Approval says what people said to a question that was asked of them for this very task,
	// or granted before; it is read each time.
	Approval(ctx context.Context, ask Ask) (Approval, error)
	// Reserve reserves what a call can cost, all of its tries so far and the one to come,
	// before it is made. held is false where there are no limits and nothing was reserved.
	// *OverLimitError: it may cost more than may be spent. *llm.SetupError: nobody knows what it
	// costs. With any error the call is not made.
	Reserve(ctx context.Context, step, role string, quote llm.Quote) (held bool, err error)
	// Stream shows text (Markdown), the whole of what the turn's next message says so
	// far. It is best effort and never blocks: what is shown may lag behind, or nothing
	// be shown at all. Empty takes back what was streamed; the next message replaces it.
	Stream(text string)
}

// OverLimitError is returned by Reserve. Text says to the person what is used up, and until when.
type OverLimitError struct{ Text string }

func (e *OverLimitError) Error() string { return "a limit of [budget] is reached" }

// An Added is a message that was merged into a running turn.
type Added struct {
	Incoming
	From int // the first attempt that heeds it
}

// State is what Resume returns.
type State struct {
	// context
	Remembers bool   // something is remembered that may concern the turn: Options.Memory is asked
	Recent    []Line // what was said before this turn's message, oldest first: the newest, and all that is not in the summary, at most 30
	LeftOut   bool   // there was more before these that is not in the summary
	// Reports say in a model's words what strangers wrote there lately, oldest first. They taint, also an empty one, which was taken back since.
	Reports []Line
	// what was committed of this turn
	Calls []Call    // model answers, by Step
	Plans []PlanRow // by Attempt
	Said  []Say     // messages, in order
	Added []Added   // messages merged since the turn began, in order
	// Former are the turns whose work this one is to do again, oldest first: the first is
	// the one whose message Turn.Message is.
	Former []Former
}

// A Line is one message of the conversation.
type Line struct {
	ID            int64
	Summed        bool // it is in the session's summary, if there is one
	Author        string
	Bot           bool   // we said it
	Job           bool   // a job of its author's asked for it, and nobody typed it then
	To            string // of what we said: whom we answered; empty: nobody in particular
	Text          string
	ForwardedFrom string // as in Passed.From
	At            time.Time
	Taint         tools.Taint
	// Attachments came with it (or went out with it), so that a later turn can name
	// them.
	Attachments []Attachment
}

// A Step is what one commit adds. Zero fields add nothing.
type Step struct {
	// Calls are models' answers and failures. An answer is read first, for credentials
	// and faults that its row says, but nothing of it is done or said before it is
	// committed, unless in the same commit.
	Calls []Call
	// Plan adds a plan with its tasks, all pending; pending tasks of earlier
	// attempts become cancelled.
	Plan *PlanRow
	// Tasks change states. One that sets an exec or tool task running makes the
	// commit durable to power loss.
	Tasks []TaskChange
	// Review is the verdict on one task.
	Review *Review
	// Say are texts for the person.
	Say []Say
	// Redact are credentials that the person typed: wherever the turn's rows hold
	// them (the message itself, earlier prompts), they are replaced in the same
	// transaction. The step's own parts hold none.
	Redact []string
	// End ends the turn, or has it wait; tasks still pending become cancelled when it ends.
	End *End
	// Ask is what a turn that End parks asks a person for.
	Ask *Ask
}

// An Ask is the question whether a task may run.
type Ask struct {
	Attempt, Position int
	Tool              string // a registry name, or tools.ExecName
	Shown             string // the command, the words of tools.Deed, or the arguments as JSON, as they will run
	Means             string // what else there is to say of what would run, as plain text; empty: nothing
	Hash              []byte // of all that is shown and runs: an approval counts for this alone
	// Loads: a command that may run or load files of its workspace, which may change: it is
	// allowed once only, and Hash is of these files too. Nil: it is none.
	Loads        *tools.Loaded
	Rule, Reason string // why it asks
	Taint        tools.Taint
}

// States of an Approval.
const (
	Accepted = "accepted"
	Rejected = "rejected"
	Expired  = "expired"
	// Changed: it was accepted, and the Hash is another by now.
	Changed = "changed"
	// Nobody: there is nobody who may decide and could be asked.
	Nobody = "nobody"
	// TooMany questions of the turn's person wait for a decision already.
	TooMany = "too_many"
)

// An Approval is what people said to an Ask. The zero value: nobody was asked yet.
type Approval struct {
	ID    int64
	State string
	Scope string // accepted: once | session | always
	// Grant: it was given to an earlier task, for the same and more than once.
	Grant bool
	By    string // who decided
	Why   string // in their words; empty: they gave none
}

// A Use names the approval by which a task runs, with the Hash of the Ask. Setting the
// task running uses it up, or does nothing where it is not good any more.
type Use struct {
	Approval int64
	Hash     []byte
	Grant    bool
}

// A Call is one use of a model, keyed by Step within its turn.
type Call struct {
	Step     string // e.g. "plan.0.1": role, attempt, position or try
	Role     string
	Answer   string // Response.Text; empty when Error is set
	Error    string // what went wrong; empty: fine
	Finish   string // why the model ended, the provider's word; empty when resumed from the journal
	Refused  string // what was wrong with the answer; empty: it was used, or resumed from the journal
	Usage    llm.Usage
	Exchange llm.Exchange // empty when resumed from the journal
	Held     string       // the Step under which its cost was reserved; empty: it was not
	Day      string       // by which its cost is counted, YYYY-MM-DD; the journal fills it
	At       time.Time    // when it was first recorded; the journal fills it as the turn is resumed
}

// A TaskType is the kind of a task.
type TaskType string

const (
	TaskExec TaskType = "exec"
	TaskMsg  TaskType = "msg"
	TaskTool TaskType = "tool"
)

// A TaskState is how far a task has come; docs/architecture.md draws them.
type TaskState string

const (
	TaskPending     TaskState = "pending"
	TaskRunning     TaskState = "running"
	TaskDone        TaskState = "done"
	TaskFailed      TaskState = "failed"
	TaskInterrupted TaskState = "interrupted"
	TaskCancelled   TaskState = "cancelled"
)

// A Plan is what the planner writes, in the schema's own shape.
type Plan struct {
	Goal     string    `json:"goal"`
	Secrets  *struct{} `json:"secrets"`            // always null
	Question int64     `json:"question,omitempty"` // of Known, that it puts or that was answered; 0: none
	Tasks    []Task    `json:"tasks"`
}

// A Task is one step of a plan; unused fields are nil.
type Task struct {
	Type    TaskType `json:"type"`
	Detail  string   `json:"detail"`
	Tool    *string  `json:"tool"`
	Args    *string  `json:"args"` // JSON text
	Expect  *string  `json:"expect"`
	Choices []string `json:"choices"`
	Answer  *string  `json:"answer"` // ready text, on the last msg only
}

// A PlanRow is a plan as stored, with what became of its tasks.
type PlanRow struct {
	Attempt int // 0, then one more a replan
	Goal    string
	Secrets []string // names only
	Tasks   []TaskRow
	// Question is the memory that the plan puts to the person or, with Answer, that they answered; 0: none. It is not read again.
	Question int64
	Answer   string // the question with what they answered; becomes a pending learning
}

// A TaskRow is a task as stored.
type TaskRow struct {
	Task
	Position int // from 0
	State    TaskState
	Result   *tools.Result // nil while it has none
	Review   *Review       // nil while it has none
}

// A TaskChange sets a task's state; conditional on its former one.
type TaskChange struct {
	Attempt, Position int
	Type              TaskType
	State             TaskState
	AllowedBy         string        // with running: the gate's rule that let it run
	Use               *Use          // with running: the approval that let it run; nil: it needed none
	Result            *tools.Result // with done, failed and interrupted
}

// A Review is the reviewer's verdict on one task.
type Review struct {
	Attempt, Position int
	Status            string // ok | replan
	Reason            string
	Learn             string      // becomes a pending learning; empty: nothing
	Taint             tools.Taint // of what was reviewed; the learning inherits it
}

// A Say is a text for the person.
type Say struct {
	Attempt, Position int    // the msg task it comes from; Position -1 for notices
	Notice            bool   // a fixed notice of ours, not written by a model
	Text              string // Markdown
	Choices           []string
	Final             bool // the last message, and every reviewed task passed
	Taint             tools.Taint
	Made              []string // by the plan's tools, as their results' Code says; not stored
}

// OutcomePersonAway is the outcome of a turn that waits until its person is back.
const OutcomePersonAway = "person_away"

// An End is how a turn ended. Outcome is a short word: "answered", "asked",
// "not_reached" (an answer that tells what failed), "not_served",
// "invalid_plan", "replan_limit", "repeated_strategy", "call_limit", "over_limit", "timeout",
// "model_error", "cancelled", "no_model", …
type End struct {
	// State is done | failed | cancelled, or the turn is run again from the top: waiting, once its
	// approval is decided or its person back (OutcomePersonAway), or queued, ahead of what has not begun, once
	// Wait is over.
	State   string
	Outcome string
	Wait    time.Duration // queued: how long it is not run
	Timed   bool          // queued: Wait is part of its timeout
}

// A Former is a turn whose work is to be done again: it ended, and the person asked for
// another try.
type Former struct {
	AskedAt time.Time
	State   string // done | failed | cancelled
	Outcome string
	Plans   []PlanRow // with what became of their tasks
}

// CodeDoneBefore is the code of a result that was not brought about again: the task was
// done by the turn that this one retries, and its result is the recorded one.
const CodeDoneBefore = "done_before"

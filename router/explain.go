package router

import (
	"context"
	"time"

	"switchboard/channels"
)

// Reasons reads why something went as it did, from rows alone. Implemented by store.
type Reasons interface {
	// Explain reads all that the rows say of a turn. ErrNotFound.
	Explain(ctx context.Context, turn int64) (*Explanation, error)
	// TurnOf is the turn that the message which the platform knows by that ID asked for,
	// or was said by, in a conversation; with no ID the newest that was asked for there.
	// ErrNotFound.
	TurnOf(ctx context.Context, conv channels.Conversation, id channels.MessageID) (int64, error)
	// KeptOut lists what came from whoever was not served, the newest first.
	KeptOut(ctx context.Context, limit int) ([]KeptOutView, error)
}

// An Explanation is a turn with every decision about it.
type Explanation struct {
	TurnView
	Asked   []AskedView  `json:"asked"`   // its message, then those merged into it
	Holders []HolderView `json:"holders"` // the engines that set it running, in order
	// HoldersCut says that there were more engines before those.
	HoldersCut bool          `json:"holders_cut,omitempty"`
	Attempts   []AttemptView `json:"attempts"`
	Said       []SaidView    `json:"said"`
	Audit      []AuditView   `json:"audit"` // what was done to it by hand
}

// An AskedView is a message in, and why it was taken.
type AskedView struct {
	MessageID    int64     `json:"message_id,string"`
	Channel      string    `json:"channel"`
	Conversation string    `json:"conversation"`
	Kind         string    `json:"kind"` // of the conversation
	Person       string    `json:"person"`
	Author       string    `json:"author"`
	Identity     string    `json:"identity"`
	Rule         string    `json:"rule"`
	Why          string    `json:"why"` // the rule in words
	Origin       string    `json:"origin"`
	Taint        string    `json:"taint,omitempty"`
	Text         string    `json:"text"`
	At           time.Time `json:"at"` // when it was taken
	// WrittenAt is when it was written, or edited, by the platform's clock; nil: it told
	// nothing.
	WrittenAt *time.Time `json:"written_at,omitempty"`
}

// A HolderView is an engine that held a turn.
type HolderView struct {
	Engine int64     `json:"engine,string"`
	Host   string    `json:"host"`
	PID    int       `json:"pid"` // 0: its row is gone
	Fence  int64     `json:"fence"`
	From   time.Time `json:"from"`
}

// An AttemptView is one plan with what it cost and what became of its steps.
type AttemptView struct {
	Attempt int        `json:"attempt"`
	Goal    string     `json:"goal"` // empty: no valid plan was made
	Calls   []CallView `json:"calls"`
	Steps   []StepView `json:"steps"`
}

// A StepView is a task with the rule that decided about it and what it cost.
type StepView struct {
	TaskView
	// Rule let it run; or refused it, where Outcome says "refused" and Reason says why.
	Rule       string     `json:"rule,omitempty"`
	Reason     string     `json:"reason,omitempty"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
	Calls      []CallView `json:"calls"`
}

// A SaidView is a message of the turn with its parts on their way.
type SaidView struct {
	MessageID int64          `json:"message_id,string"`
	Text      string         `json:"text"`
	Notice    bool           `json:"notice"` // a fixed notice of the program
	Final     bool           `json:"final"`
	At        time.Time      `json:"at"`
	Parts     []DeliveryView `json:"parts"`
}

// An AuditView is something that somebody did by hand.
type AuditView struct {
	At      time.Time `json:"at"`
	Person  string    `json:"person"`
	Action  string    `json:"action"`
	Target  string    `json:"target"`
	Rule    string    `json:"rule"`
	Outcome string    `json:"outcome"`
}

// A KeptOutView is a message of somebody who was not served.
type KeptOutView struct {
	AskedView
	Class string `json:"class"` // stranger | overheard
}

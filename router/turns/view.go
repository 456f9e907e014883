package turns

import (
	"encoding/json"
	"time"

	"switchboard/channels"
	"switchboard/router/approvals"
	"switchboard/router/outbox"
)

// A Turn is a turn for people to read.
type Turn struct {
	ID         int64      `json:"id,string"`
	Session    string     `json:"session"`
	Person     string     `json:"person"`
	State      string     `json:"state"`
	Outcome    string     `json:"outcome"`
	Text       string     `json:"text"`
	Taint      string     `json:"taint,omitempty"` // of its message
	CreatedAt  time.Time  `json:"created_at"`
	StartedAt  *time.Time `json:"started_at"`
	FinishedAt *time.Time `json:"finished_at"`
	// NextTry is when the turn is tried again, as no model answers it; nil: it does not wait for that.
	NextTry   *time.Time `json:"next_try,omitempty"`
	Calls     int        `json:"llm_calls"`
	TokensIn  int64      `json:"tokens_in"`
	TokensOut int64      `json:"tokens_out"`
	// BilledTokens are those of all prompts and answers, TokensIn and TokensOut together;
	// PromptTokens those of the last call's prompt alone, which is what the model's
	// context_tokens have to hold. Turn fills the latter.
	BilledTokens int64   `json:"billed_tokens"`
	PromptTokens int64   `json:"prompt_tokens,omitempty"`
	Cost         float64 `json:"cost"`
	// MergedInto is the turn that answers this one's message; 0: it does itself.
	MergedInto int64 `json:"merged_into,string,omitempty"`
	// RetryOf is the turn whose work this one did again; 0: none.
	RetryOf int64 `json:"retry_of,string,omitempty"`
	// Job is the job whose work it is, and Terms what narrows a turn that nobody typed; 0 and
	// nil: somebody did.
	Job   int64           `json:"job,string,omitempty"`
	Terms json.RawMessage `json:"terms,omitempty"`
	// the rest is filled by Turn; Current fills Plans
	Plans    []Plan    `json:"plans,omitempty"`
	Messages []Message `json:"messages,omitempty"` // in: its own, and those merged into it
	LLM      []Call    `json:"calls,omitempty"`
	Holders  []Holder  `json:"holders,omitzero"` // the engines that set it running, in order
	// HoldersCut says that there were more engines before those.
	HoldersCut bool    `json:"holders_cut,omitempty"`
	Audit      []Audit `json:"audit,omitzero"` // what was done to it by hand
}

// Request is what a turn that waits asks for: its next task. Empty: it has none.
func (t *Turn) Request() string {
	if len(t.Plans) == 0 {
		return ""
	}
	for _, task := range t.Plans[len(t.Plans)-1].Tasks {
		if task.State != "pending" || task.Type == "msg" {
			continue
		}
		if task.Tool != "" {
			return task.Tool + " " + task.Args
		}
		return task.Detail
	}
	return ""
}

// A Plan is a valid plan.
type Plan struct {
	Attempt int    `json:"attempt"`
	Goal    string `json:"goal"`
	Tasks   []Task `json:"tasks"`
}

// A Task is one task with its verdict and the rule that decided about it.
type Task struct {
	Position int     `json:"position"`
	Type     string  `json:"type"`
	Detail   string  `json:"detail"`
	Tool     string  `json:"tool,omitempty"`
	Args     string  `json:"args,omitempty"`
	Expect   string  `json:"expect,omitempty"`
	State    string  `json:"state"`
	Outcome  string  `json:"outcome,omitempty"` // the result's end and code
	Output   string  `json:"output,omitempty"`
	Taint    string  `json:"taint,omitempty"`
	Review   *Review `json:"review,omitempty"`
	// Rule let it run; or refused it, where Outcome says "refused" and Reason says why.
	Rule       string               `json:"rule,omitempty"`
	Reason     string               `json:"reason,omitempty"`
	StartedAt  *time.Time           `json:"started_at,omitempty"`
	FinishedAt *time.Time           `json:"finished_at,omitempty"`
	Approvals  []approvals.Approval `json:"approvals,omitempty"` // what people were asked, oldest first
}

// A Review is a verdict.
type Review struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
	Learn  string `json:"learn,omitempty"`
}

// A Message is a text in or out.
type Message struct {
	channels.SessionMessage
	Class        string        `json:"class"` // turn | revision | say | stranger | overheard …
	Channel      string        `json:"channel"`
	Conversation string        `json:"conversation"`
	Kind         string        `json:"kind"` // of the conversation
	Person       string        `json:"person"`
	Identity     string        `json:"identity"`
	Rule         string        `json:"rule"` // in: why it was taken or not
	Why          string        `json:"why"`  // the rule in words
	Origin       string        `json:"origin"`
	Taint        string        `json:"taint,omitempty"`
	Event        int64         `json:"event"`
	At           time.Time     `json:"at"`                    // when it was taken
	Turn         int64         `json:"turn,string,omitempty"` // in: the turn that it was to be
	Parts        []outbox.Info `json:"parts,omitzero"`        // out: what becomes of it
	// WrittenAt is when it was written, or edited, by the platform's clock; nil: it gave
	// none.
	WrittenAt *time.Time `json:"written_at,omitempty"`
	MessageID int64      `json:"message_id,string"` // ID once more
}

// A Call is one use of a model.
type Call struct {
	Step      string `json:"step"`
	Role      string `json:"role"`
	Provider  string `json:"provider"`
	Model     string `json:"model"`
	TokensIn  int64  `json:"tokens_in"`
	TokensOut int64  `json:"tokens_out"`
	// CachedTokens are those of TokensIn that the provider's cache served.
	CachedTokens int64   `json:"cached_tokens,omitempty"`
	Cost         float64 `json:"cost"`
	// Reserved is the most that it can cost, while it is being made; Lost, that its engine ended
	// meanwhile, so that Cost is what was reserved.
	Reserved float64         `json:"reserved,omitempty"`
	Lost     bool            `json:"lost,omitempty"`
	Duration string          `json:"duration"`
	Error    string          `json:"error,omitempty"`
	Refused  string          `json:"refused,omitempty"`  // what was wrong with the answer; empty: it was used
	Request  json.RawMessage `json:"request,omitempty"`  // with prompts
	Response string          `json:"response,omitempty"` // with prompts
}

// A Holder is an engine that held a turn.
type Holder struct {
	Engine int64     `json:"engine,string"`
	Host   string    `json:"host"`
	PID    int       `json:"pid"` // 0: its row is gone
	Fence  int64     `json:"fence"`
	From   time.Time `json:"from"`
}

// An Audit is something that somebody did by hand.
type Audit struct {
	At      time.Time `json:"at"`
	Person  string    `json:"person"`
	Action  string    `json:"action"`
	Target  string    `json:"target"`
	Rule    string    `json:"rule"`
	Outcome string    `json:"outcome"`
}

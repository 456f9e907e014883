// Package approvals has what waits for a person's decision, and what was allowed for more than once.
package approvals

import (
	"cmp"
	"strconv"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/internal/words"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
)

// Asked is how an approval is proposed.
type Asked struct {
	Questions []outbox.Question
	ExpiresAt time.Time
	MostOpen  int // with so many open ones of its person it is not asked; 0: no limit
}

// An Approval is a question whether a task may run, and its answer.
type Approval struct {
	ID        int64      `json:"id,string"`
	State     string     `json:"state"`
	Scope     string     `json:"scope,omitempty"` // accepted: once | session | always
	Rule      string     `json:"rule"`            // that asked
	By        string     `json:"by,omitempty"`
	Why       string     `json:"why,omitempty"`
	AskedAt   time.Time  `json:"asked_at"`
	DecidedAt *time.Time `json:"decided_at,omitempty"`
}

// Answer is what was said to a question, and by whom, for people to read.
func (a *Approval) Answer() string {
	why := ""
	if a.Why != "" {
		why = " (" + words.OneLine(a.Why, 300) + ")"
	}
	switch a.State {
	case "accepted":
		scope := map[string]string{"once": "once", "session": "for the session", "always": "always"}[a.Scope]
		return a.By + " allowed it " + scope + why
	case "rejected":
		return a.By + " denied it" + why
	case "expired":
		return "nobody answered in time"
	case "cancelled":
		return "it was cancelled before anybody answered"
	}
	return "nobody has answered yet"
}

// A Grant is what was allowed for more than once.
type Grant struct {
	ID                  int64
	Person, Tool, Shown string
	Scope               string // session | always
	Session             string // scope session: its key
	By                  string
	At                  time.Time
}

// An Open approval of a tool waits for a decision, for programs to read.
type Open struct {
	ID      int64       `json:"id,string"`
	Turn    int64       `json:"turn_id,string"`
	Session string      `json:"session"`
	Person  string      `json:"person"` // whose turn it is
	Tool    string      `json:"tool"`
	Shown   string      `json:"shown"`           // the command, what it comes to, or the arguments as JSON
	Rule    string      `json:"rule"`            // that asks
	Taint   tools.Taint `json:"taint,omitempty"` // of what led to it
	Once    bool        `json:"once,omitempty"`  // it can be allowed once only
	AskedAt time.Time   `json:"asked_at"`
	// ExpiresAt is when it is denied by itself.
	ExpiresAt time.Time `json:"expires_at"`
	// Questions are where people were asked; in each the code decides.
	Questions []Place `json:"questions"`
}

// A Place is a session where people were asked, with the code that decides there.
type Place struct {
	Session string `json:"session"`
	Code    string `json:"code"`
}

// A Decision decides an approval outside of a chat; the person of the actor decides. ErrNotFound: there is none
// of that ID.
type Decision struct {
	ID int64
	// Pairing: it is about a stranger; else about a tool.
	Pairing bool
	Name    string // with Pairing, what to call them; empty: as they call themselves
	Does    outbox.Does
	Why     string // with DoesDeny
	// NotOf is the identity that does not decide what a message of its own led to; empty: none.
	NotOf   string
	State   outbox.ActionState // filled in
	Outcome intake.Outcome     // filled in, also where it is refused
	// Admitted (Pairing) is filled in: who may write from now on, and At where they are told.
	Admitted string
	At       channels.Conversation
}

// Names implements Change.
func (c *Decision) Names() (action, target string) {
	return "approval." + string(cmp.Or(c.State, "decide")), "approval " + strconv.FormatInt(c.ID, 10)
}

// DecisionIntent is a code that was typed to decide an approval.
type DecisionIntent struct {
	core.AnIntent

	Code []byte // HashCode of the code
	Does outbox.Does
	Why  string // with DoesDeny
	// Pairing: it lets a stranger in, and decides nothing else.
	Pairing bool
	Name    string // with Pairing, what to call them; empty: as they call themselves
}

// RevokeIntent takes a grant back.
type RevokeIntent struct {
	core.AnIntent

	Grant int64
	// AnyPerson: also what was granted to others (admins).
	AnyPerson bool
}

const (
	Allowed      intake.Outcome = "approval_allowed"
	Denied       intake.Outcome = "approval_denied"
	ByButton     intake.Outcome = "approval_by_button" // a plain yes or no is not enough for it
	Unknown      intake.Outcome = "approval_unknown"   // no such code in this conversation
	NotYours     intake.Outcome = "approval_not_yours" // only admins decide
	Over         intake.Outcome = "approval_over"      // decided before, expired or cancelled
	OwnTurn      intake.Outcome = "approval_own_turn"  // a program does not decide what it asked for itself
	OnceOnly     intake.Outcome = "approval_once_only" // no grants for turns that read outside text, nor for commands that may load files
	GrantRevoked intake.Outcome = "grant_revoked"
	GrantUnknown intake.Outcome = "grant_unknown"
)

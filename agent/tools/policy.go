package tools

import (
	"cmp"
)

// An Effect says what running a tool changes.
type Effect string

const (
	EffectRead    Effect = "read"    // nothing
	EffectWrite   Effect = "write"   // the session's workspace
	EffectOutside Effect = "outside" // the world outside the sandbox
)

// ExecName is the name under which policies speak of exec tasks.
const ExecName = "exec"

// A Question is what the policy gate is asked before a tool is offered, when a
// plan names it, and again when it is about to run.
type Question struct {
	Person  string // the person's name; role and rights are looked up at each question
	Channel string // the channel's name
	Direct  bool   // it is a chat with one person
	Group   string // channels.Conversation.Place; of a direct chat it says nothing
	Mode    string // the session's mode: "ask" | "act"
	Tool    string // a registry name, or ExecName; empty: whether the person is served at all
	// Command is the line that exec is to run; empty while it is only offered.
	Command string
	Effect  Effect
	// Looks says that this use of the tool only shows something, whatever its other uses do.
	Looks bool
	// Own says that the person asked for it in so many words in this turn, and that it is about what is theirs.
	Own   bool
	Taint Taint // of the turn so far
	// Sends is the URL that goes out when the tool runs; empty: none does.
	Sends string
	// Keeps is what the tool keeps for a later time as it runs, as Tool.Keeps says; none: nothing.
	Keeps []string
	// Words are the person's own words in this turn: nothing that they quoted, passed on
	// or attached, and nothing of earlier turns.
	Words string
}

// A Verdict is what the gate says.
type Verdict string

const (
	Allow  Verdict = "allow"
	Ask    Verdict = "ask" // a permitted person must approve it first
	Refuse Verdict = "refuse"
)

// RuleKeeps is the rule that asks, after text from elsewhere was read, before something is kept for
// later that the person did not write. That person decides.
const RuleKeeps = "taint.later"

// PersonAway is the rule that refuses everything for a person who is away; their work waits.
const PersonAway = "person.away"

// A Decision is the gate's answer. Rule names the rule that decided, e.g.
// "channel.tools_deny", and Reason says it in a sentence that may be shown.
type Decision struct {
	Verdict Verdict
	Rule    string
	Reason  string
	Role    string // of the person, as it is now; empty: there is nobody of that name
}

// Taint says that a text holds words of somebody who must not give orders, and
// where they came from: "web", "file", "forwarded", "enclosed", "quote", "others",
// "label". The empty Taint is clean. What is derived from a tainted text inherits its taint.
type Taint string

// Clean is the taint of a text that comes from a known person or from ourselves.
const Clean Taint = ""

// Others is the taint of what other people wrote where several do, and of what we
// answered them, in the turn of somebody else.
const Others Taint = "others"

// Label is the taint of what people or chats call themselves.
const Label Taint = "label"

// Told is the taint of what a program says that we said.
const Told Taint = "told"

// Words says where the text came from, for people.
func (t Taint) Words() string { return cmp.Or(sources[t], string(t)) }

var sources = map[Taint]string{
	taintWeb: "a web page", taintFile: "a file", taintTool: "what a tool brought", "forwarded": "a forwarded message", "enclosed": "a card, place or poll",
	"quote": "a quoted message", Others: "what others wrote", Label: "what people or chats call themselves",
	Told: "what a program says that I said",
}

// JoinIf is Join where the condition holds, and t otherwise.
func (t Taint) JoinIf(condition bool, other Taint) Taint {
	if !condition {
		return t
	}
	return t.Join(other)
}

// Join returns t, or other when t is clean: the first source is kept.
func (t Taint) Join(other Taint) Taint {
	if t == Clean {
		return other
	}
	return t
}

package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"switchboard/internal/secrets"
)

// A Tool runs and has a JSON schema.
type Tool struct {
	Name    string // e.g. "workspace.read"
	Summary string // one line
	Page    string // how to use it, for the planner where it is needed; at most 40 lines
	// Words finds in what was said lately that the planner reads the page before it uses the tool. Nil:
	// the line that every planner reads is enough, until a plan got it wrong.
	Words  func(string) bool
	Note   string          // what every planner has to know beyond Summary; empty: nothing
	Schema json.RawMessage // of the arguments: an object, strict
	Effect Effect
	Taints bool // its output is text from elsewhere
	// Sends names the argument, a URL, that goes out of the program when the tool runs, so
	// that what was read could leave in it; empty: none does.
	Sends string
	// Keeps is what of the arguments speaks or acts at a later time. Where text from elsewhere was read
	// the person is asked, unless each of it stands in their own words. Nil, or none: nothing does.
	Keeps func(ctx context.Context, call Call) []string
	// Means says to whoever is asked what the arguments come to now, as plain text: a name
	// may stand for somebody else tomorrow. An approval counts for that alone. Nil, or
	// empty: for no more than they say.
	Means func(ctx context.Context, call Call) string
	// Describe says what a call comes to, before anybody is asked about it. It changes nothing. Nil: its
	// name and its arguments say it.
	Describe func(ctx context.Context, call Call) Deed
	Timeout  time.Duration // 0: one minute
	// Secrets names those of the encrypted store that it needs; they come with each Call, and
	// to no other tool. Without them it does not run.
	Secrets []string
	// Run does the work and returns when ctx ends. It must be safe for use by
	// several turns at once.
	Run func(ctx context.Context, call Call) Result
}

// A Deed is what a call of a tool comes to.
type Deed struct {
	// Words are what is done, in one line, as plain text, and behind a line break the text that is kept:
	// an approval counts for these. Empty: name and arguments say it.
	Words string
	Taint Taint // of what Words show
	Looks bool  // it only shows something
	// Asked is how people ask for it in so many words, where it is about what is theirs: their own words of
	// this turn hold one of each list. None: they cannot. Then it is not asked about because text from
	// elsewhere was read.
	Asked [][]string
	// Refused is why it would not be done: nobody is asked. Nil: it would.
	Refused *Result
}

// A Call is one use of a tool.
type Call struct {
	Args      json.RawMessage // checked against the schema before Run
	Workspace string          // absolute path of the session's folder, which exists
	Session   Session
	Taint     Taint // of the turn so far; what the tool stores inherits it
	// Secrets are those that the tool declares, by name.
	Secrets map[string]secrets.Secret
}

// Session is what a tool may know of where it is used.
type Session struct {
	ID       string // the session's key, "channel:conversation"
	Person   string
	Role     string // admin | user
	Channel  string
	Direct   bool  // a chat with one person
	Turn     int64 // the turn's number
	Alone    bool  // nobody is there to be asked: a job's run
	Mode     string
	TimeZone string // IANA name; empty: UTC
	Language string
	Model    string // the planner's model
}

// An End is how a tool's run ended.
type End string

const (
	EndOK      End = "ok"
	EndError   End = "error"   // it ran and failed, or crashed
	EndRefused End = "refused" // a rule, a limit or the sandbox said no; nothing ran
	EndTimeout End = "timeout" // it was stopped after its time
	// EndCancelled: ctx ended first; what had been done by then is in Output.
	EndCancelled End = "cancelled"
)

// A Result is what a tool or a command brought.
type Result struct {
	End    End
	Output string // valid UTF-8, at most the output limit, with a marker line where it was cut
	Code   string // a word for machines when End is not ok, e.g. "exit_status", "private_address", "crash"; else what was made, as in "job 7"
	Rule   string // the rule that refused
	Hint   string // advice for the next plan
	Taint  Taint
}

// A Command is one exec task.
type Command struct {
	Line      string // for /bin/sh -c
	Workspace string // absolute path; the working folder, and the only place it may write
	// Admin says that the person is an admin, for whom the settings may lift the
	// confinement (admin_unconfined; sandbox = "off").
	Admin bool
	// Env are variables besides PATH, HOME, LANG, TZ and TMPDIR.
	Env   []string
	Taint Taint // of the turn so far; the files the command writes inherit it
}

// ErrUnsafe is the cause with which the context of a side effect ends when the
// engine's leases could soon be somebody else's: what was begun must stop at once,
// and nobody knows how far it came.
var ErrUnsafe = errors.New("this engine's leases may have run out")

// CodeInterrupted is the code of a result whose tool or command was stopped midway
// for ErrUnsafe. It is neither done nor failed: nobody may simply do it again.
const CodeInterrupted = "interrupted"

const (
	hintUnsafe   = "it was stopped because this engine could no longer be sure that the work was its own; nobody knows how far it came, so look before doing it again"
	hintNotBegun = "it was not begun, because this engine could not be sure that the work was its own"
)

// with gives a tool its arguments, which were checked against the schema.
func with[T any](run func(context.Context, Call, T) Result) func(context.Context, Call) Result {
	return func(ctx context.Context, call Call) Result {
		var args T
		if err := json.Unmarshal(call.Args, &args); err != nil {
			return refused("bad_arguments", "correct the arguments", "args: %v", err)
		}
		return run(ctx, call, args)
	}
}

func failed(code, hint, format string, a ...any) Result {
	return Result{End: EndError, Code: code, Hint: hint, Output: fmt.Sprintf(format, a...)}
}

func refused(code, hint, format string, a ...any) Result {
	return Result{End: EndRefused, Code: code, Hint: hint, Output: fmt.Sprintf(format, a...)}
}

package agent

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"switchboard/agent/tools"
	"switchboard/internal/words"
)

// ErrTooManyAsked is returned by Journal.Commit of a step that asks, where too many
// questions of the turn's person are open; nothing was written.
var ErrTooManyAsked = errors.New("too many questions of this person are open")

// question is what a person is asked before a task runs. The hash is of all that they see
// and that runs: a command that was allowed in its confinement is not allowed without, nor a
// message to somebody else who is called so by now, nor a script that was changed meanwhile.
// refused: its files cannot be compared.
func (t *tasks) question(ctx context.Context, plan *PlanRow, i int, q tools.Question, d tools.Decision, deed tools.Deed) (ask Ask, refused *tools.Result) {
	task := plan.Tasks[i].Task
	ask = Ask{
		Attempt: plan.Attempt, Position: i, Tool: q.Tool, Shown: deref(task.Args), Rule: d.Rule, Reason: d.Reason, Taint: t.rights.taintOf(q),
	}
	if task.Type == TaskExec {
		ask.Shown = task.Detail
		if q.Effect == tools.EffectOutside {
			ask.Means = "It would run without the sandbox, with everything that I may do on this machine."
		}
		var err error
		if ask.Loads, err = tools.Loads(ctx, t.turn.Workspace, task.Detail, q.Effect == tools.EffectOutside); err != nil {
			return ask, t.refused("not_permitted", "approval.files", "an approval is of the files that a command may load as well, and these cannot be compared: "+err.Error())
		}
	} else if tool, ok := t.rights.toolbox.Get(q.Tool); ok && tool.Means != nil {
		ask.Means = tool.Means(ctx, t.call(task))
	}
	of := q.Tool + "\x00" + string(q.Effect) + "\x00" + ask.Shown + "\x00" + ask.Means
	if ask.Loads != nil {
		of += "\x00" + string(ask.Loads.Hash)
	}
	if deed.Words != "" {
		of += "\x00" + deed.Words
		ask.Shown, ask.Taint = deed.Words, ask.Taint.Join(deed.Taint)
	}
	hash := sha256.Sum256([]byte(of))
	ask.Hash = hash[:]
	return ask, nil
}

// permitted is the approval by which a task may run, with the rule that says so. Where
// nobody was asked yet it parks the turn, errParked; a refusal ends the turn, so that
// nothing is planned around it. Where nobody is ever asked the task has failed: nil.
func (t *tasks) permitted(ctx context.Context, plan *PlanRow, i int, ask Ask) (use *Use, rule string, err error) {
	if err := t.flush(ctx); err != nil { // reviews of what was done before it
		return nil, "", err
	}
	reading, done := journalContext(ctx)
	defer done()
	a, err := t.journal.Approval(reading, ask)
	if err != nil {
		return nil, "", fmt.Errorf("look for an approval in turn %d: %w", t.turn.ID, err)
	}
	switch {
	case a.State == Accepted && a.Grant:
		return &Use{Approval: a.ID, Hash: ask.Hash, Grant: true}, "grant." + a.Scope, nil
	case a.State == Accepted:
		return &Use{Approval: a.ID, Hash: ask.Hash}, "approval." + a.Scope, nil
	case a.State == "" && t.turn.Limits.NoApprovals:
		return nil, "", t.settle(ctx, plan, i, TaskFailed, t.refused("not_permitted", ruleNoApprovals,
			ask.Tool+" needs a permission (rule "+ask.Rule+"), and nobody is there to be asked; plan without it, and say in the answer what was not done"))
	case a.State == "":
		if err := t.park(ctx, Step{Ask: &ask, End: &End{State: "waiting", Outcome: "approval"}}); !errors.Is(err, ErrTooManyAsked) {
			return nil, "", err
		}
		t.staged, a.State = Step{}, TooMany
	}
	what := ask.Tool
	if what == tools.ExecName {
		what = "the command"
	}
	if err := t.settle(ctx, plan, i, TaskFailed, t.refused("not_permitted", "approval."+a.State, denied(a, ask, what))); err != nil {
		return nil, "", err
	}
	if ask.Tool != tools.ExecName {
		what = told(plan.Tasks[i].Task)
	}
	a.By, a.Why = words.Escape(a.By), words.Escape(a.Why) // of people, for whom no sign means anything
	end := &ending{state: "done", outcome: a.State, text: "I stopped: " + strings.Replace(denied(a, ask, what), " (rule "+ask.Rule+")", "", 1) + "."}
	if a.State == Rejected && a.Why == "" && !t.did() {
		end.text, end.whole = "Denied, so I did nothing: "+told(plan.Tasks[i].Task)+".", true
	}
	return nil, "", end
}

// denied says who did not let a task run, and why.
func denied(a Approval, ask Ask, what string) string {
	switch a.State {
	case Rejected:
		text := a.By + " did not allow " + what
		if a.Why != "" {
			text += " (\"" + clip(oneLine(a.Why), 300) + "\")"
		}
		return text
	case Expired:
		return "nobody allowed " + what + " in time"
	case Changed:
		return "what " + what + " would do has changed since it was allowed, so I did not do it; ask me again if you still want it"
	case TooMany:
		return "I ask nobody about " + what + " while you have so many open questions; decide those first, or wait until they are over"
	case Nobody:
		return what + " needs the permission of an admin (rule " + ask.Rule + "), and none has a direct chat with me in which I could ask"
	}
	return what + " was not allowed"
}

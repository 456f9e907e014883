package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"switchboard/agent/tools"
	"switchboard/internal/retry"
)

// maxRepeats is how often the same command, or tool with the same arguments, may
// stand in a turn before it is a cycle. It catches longer cycles too: their third
// round begins with a third use.
const maxRepeats = 2

// The tasks of a turn are its commands and its uses of tools.
type tasks struct {
	*writer
	rights *rights
	shell  Shell
	guard  Guard // nil: nothing bounds what commands and tools change
}

// act does an exec or tool task, at most once: its start is committed before it
// runs, its result as soon as it is known. On return the task has a result.
func (t *tasks) act(ctx context.Context, plan *PlanRow, i int) error {
	task := &plan.Tasks[i]
	switch task.State {
	case TaskPending:
	case TaskRunning:
		if !t.rights.harmless(task.Task) {
			return t.settle(ctx, plan, i, TaskInterrupted, interrupted(t.taint))
		}
	default:
		return nil
	}
	decision, ask, refused := t.allowed(ctx, plan, i)
	if refused != nil {
		if err := t.halted(ctx); err != nil { // it was refused for want of an answer, and is asked for again
			return err
		}
		return t.settle(ctx, plan, i, TaskFailed, refused)
	}
	if task.State == TaskPending {
		if result := t.doneBefore(plan, i); result != nil {
			return t.settle(ctx, plan, i, TaskDone, result)
		}
	}
	var use *Use
	if decision.Verdict == tools.Ask {
		if task.State == TaskRunning { // its approval is used up
			return t.settle(ctx, plan, i, TaskInterrupted, interrupted(t.taint))
		}
		var err error
		if use, decision.Rule, err = t.permitted(ctx, plan, i, ask); use == nil {
			return err
		}
	}
	doing, over := t.guarded(ctx, task.Task)
	defer over()
	if task.State == TaskPending {
		start := change(plan, i, TaskRunning, nil)
		start.AllowedBy, start.Use = decision.Rule, use
		if err := t.commit(ctx, Step{Tasks: []TaskChange{start}}); err != nil {
			return err
		}
	}
	if err := t.halted(ctx); err != nil {
		if released(ctx) {
			return err
		}
		return cmp.Or(t.settle(ctx, plan, i, TaskCancelled, &tools.Result{
			End: tools.EndCancelled, Code: "cancelled", Hint: "it was not begun", Taint: t.taint,
		}), err)
	}
	result := t.perform(doing, plan, i, decision.Role)
	if released(ctx) {
		return ErrReleased
	}
	result.Output, result.Hint = tidy(result.Output), tidy(result.Hint)
	result.Taint = result.Taint.Join(t.taint) // what it was told to do derives from the turn
	state := TaskFailed
	switch {
	case result.End == tools.EndOK:
		state = TaskDone
	case result.Code == tools.CodeInterrupted:
		state = TaskInterrupted
	case ctx.Err() != nil:
		state = TaskCancelled
		if errors.Is(context.Cause(ctx), ErrRestart) {
			result.Hint = changedHint
		}
	}
	if err := t.settle(ctx, plan, i, state, &result); err != nil {
		return err
	}
	if err := t.halted(ctx); err != nil {
		return err // what stopped the turn is committed with the result
	}
	return t.flush(ctx)
}

// changedHint is what the next plan is told of a task that an edit broke off.
const changedHint = "stopped because the message was changed; it may have done a part of its work, so look before doing it again"

// allowed is the decision that lets a task run, or the result of one that must not; ask is
// what a person has to be asked where the decision says so. Rights are asked for again: they
// may have changed since the plan, and so may the taint.
func (t *tasks) allowed(ctx context.Context, plan *PlanRow, i int) (d tools.Decision, ask Ask, refused *tools.Result) {
	task := plan.Tasks[i].Task
	var deed tools.Deed
	q := tools.Question{Tool: tools.ExecName, Effect: t.rights.execEffect(), Command: task.Detail}
	if task.Type == TaskExec && t.turn.Order != nil && q.Effect == tools.EffectOutside { // it is typed as it runs
		loads, err := tools.Loads(ctx, t.turn.Workspace, task.Detail, true)
		q.Own = err == nil && loads == nil
	}
	if task.Type == TaskTool {
		tool, ok := t.rights.toolbox.Get(deref(task.Tool))
		if !ok {
			return d, ask, t.refused("unknown_tool", "registry", "this tool is no longer there; plan without it")
		}
		q = tools.Question{Tool: tool.Name, Effect: tool.Effect}
		if tool.Sends != "" {
			q.Sends = argument(deref(task.Args), tool.Sends)
		}
		if tool.Keeps != nil {
			q.Keeps = tool.Keeps(ctx, t.call(task))
		}
		if tool.Describe != nil {
			deed = tool.Describe(ctx, t.call(task))
			q.Looks, q.Own = deed.Looks, deed.AskedIn(t.ownWords()) || t.turn.Order != nil && len(deed.Asked) > 0
		}
	}
	if d = t.rights.confirm(ctx, q, t.rights.decide(q)); d.Verdict == tools.Refuse {
		return d, ask, t.refused("not_permitted", d.Rule, d.Reason)
	}
	if n := t.uses(&plan.Tasks[i]); n >= maxRepeats {
		return d, ask, t.refused("cycle", "agent.cycle", fmt.Sprintf("exactly this was done %d times in this turn already; doing it again brings nothing new, so try another way", n))
	}
	switch {
	case d.Verdict != tools.Ask:
	case deed.Refused != nil: // nobody is asked about what is not there
		refused = deed.Refused
		refused.Taint = refused.Taint.Join(t.taint)
	default:
		ask, refused = t.question(ctx, plan, i, q, d, deed)
	}
	return d, ask, refused
}

// argument is the text of one argument of a tool; one that is no text is its JSON.
func argument(args, name string) string {
	var values map[string]json.RawMessage
	var text string
	_ = json.Unmarshal([]byte(args), &values) // checked when the plan was made
	if json.Unmarshal(values[name], &text) != nil {
		return string(values[name])
	}
	return text
}

const doneBeforeHint = "this was done when it was first tried, and not again: the output is the one recorded then"

// doneBefore is the recorded result of a task that was done by a turn which this one
// retries; nil: it is to be run. Each such task stands for one of this turn's. What only
// looks runs again.
func (t *tasks) doneBefore(plan *PlanRow, i int) *tools.Result {
	task := plan.Tasks[i].Task
	wanted := signature(task)
	if wanted == "" || len(t.Former) == 0 || t.rights.harmless(task) || t.turn.Order != nil { // who orders again means again
		return nil
	}
	taken := 0
	for _, other := range tasksOf(t.Plans) {
		if recorded(other) && signature(other.Task) == wanted {
			taken++
		}
	}
	for _, former := range t.Former {
		for _, other := range tasksOf(former.Plans) {
			if other.State != TaskDone || other.Result == nil || recorded(other) || signature(other.Task) != wanted {
				continue
			}
			if taken--; taken < 0 {
				result := *other.Result
				result.Code, result.Hint, result.Taint = CodeDoneBefore, doneBeforeHint, result.Taint.Join(t.taint)
				return &result
			}
		}
	}
	return nil
}

// unsafePause is how often an engine that may begin nothing is asked again.
const unsafePause = 100 * time.Millisecond

const notBegun = "it was not begun, because this engine could not be sure that the work was its own"

// guarded waits until the engine may begin side effects and returns the context to do
// the task under. It is taken before the task's start is committed: that commit fails
// once the session is somebody else's, and the context ends before it could become
// somebody else's after it. What only reads needs no guard.
func (t *tasks) guarded(ctx context.Context, task Task) (context.Context, context.CancelFunc) {
	guard := t.guard
	if guard == nil || t.rights.harmless(task) {
		return ctx, func() {}
	}
	for !guard.Safe() {
		if !retry.Sleep(ctx, unsafePause) {
			return ctx, func() {}
		}
	}
	return guard.Guard(ctx)
}

// perform runs the command or the tool under what guard returned. role is the person's, as
// it is now.
func (t *tasks) perform(ctx context.Context, plan *PlanRow, i int, role string) tools.Result {
	task := plan.Tasks[i].Task
	if t.guard != nil && !t.rights.harmless(task) && (!t.guard.Safe() || ctx.Err() != nil) {
		return tools.Result{End: tools.EndError, Code: tools.CodeInterrupted, Hint: notBegun}
	}
	if task.Type == TaskTool {
		return t.rights.toolbox.Run(ctx, deref(task.Tool), t.call(task))
	}
	if err := t.writeOutputs(plan, i); err != nil {
		return tools.Result{
			End: tools.EndError, Code: "workspace", Output: "the command was not started: " + err.Error(),
			Hint: "the workspace cannot be written to; nothing ran",
		}
	}
	return t.keepOutput(ctx, plan, i, t.shell.Run(ctx, tools.Command{
		Line: task.Detail, Workspace: t.turn.Workspace, Admin: t.turn.Person.Role == "admin" && role == "admin",
		Taint: t.taint,
	}))
}

// call is the use of a tool that a task means.
func (t *tasks) call(task Task) tools.Call {
	return tools.Call{
		Args: json.RawMessage(deref(task.Args)), Workspace: t.turn.Workspace,
		Session: tools.Session{
			ID: t.turn.Session.Key, Person: t.turn.Person.Name, Role: t.turn.Person.Role,
			Channel: t.turn.Place.Channel, Direct: t.turn.Place.Direct, Turn: t.turn.ID, Alone: t.turn.Limits.NoApprovals,
			Mode: t.turn.Session.Mode, TimeZone: t.turn.Session.TimeZone,
			Language: t.turn.Session.Language, Model: t.modelOf[rolePlanner],
		},
		Taint: t.taint,
	}
}

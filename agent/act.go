package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"switchboard/agent/tools"
)

// maxRepeats is how often the same command, or tool with the same arguments, may
// stand in a turn before it is a cycle. It catches longer cycles too: their third
// round begins with a third use.
const maxRepeats = 2

// act does an exec or tool task, at most once: its start is committed before it
// runs, its result as soon as it is known. On return the task has a result.
func (r *run) act(ctx context.Context, plan *PlanRow, i int) error {
	task := &plan.Tasks[i]
	switch task.State {
	case TaskPending:
	case TaskRunning:
		if !r.harmless(task.Task) {
			return r.settle(ctx, plan, i, TaskInterrupted, interrupted(r.taint))
		}
	default:
		return nil
	}
	decision, ask, refused := r.allowed(ctx, plan, i)
	if refused != nil {
		return r.settle(ctx, plan, i, TaskFailed, refused)
	}
	if task.State == TaskPending {
		if result := r.doneBefore(plan, i); result != nil {
			return r.settle(ctx, plan, i, TaskDone, result)
		}
	}
	var use *Use
	if decision.Verdict == tools.Ask {
		if task.State == TaskRunning { // its approval is used up
			return r.settle(ctx, plan, i, TaskInterrupted, interrupted(r.taint))
		}
		var err error
		use, decision.Rule, err = r.permitted(ctx, plan, i, ask)
		if errors.Is(err, errNobodyAsked) {
			return nil
		} else if err != nil {
			return err
		}
	}
	doing, over := r.guard(ctx, task.Task)
	defer over()
	if task.State == TaskPending {
		start := change(plan, i, TaskRunning, nil)
		start.Tasks[0].AllowedBy, start.Tasks[0].Use = decision.Rule, use
		if err := r.commit(ctx, start); err != nil {
			return err
		}
	}
	if err := r.halted(ctx); err != nil {
		if handedBack(ctx) {
			return err
		}
		return cmp.Or(r.settle(ctx, plan, i, TaskCancelled, &tools.Result{
			End: tools.EndCancelled, Code: "cancelled", Hint: "it was not begun", Taint: r.taint,
		}), err)
	}
	result := r.perform(doing, plan, i, decision.Role)
	if handedBack(ctx) {
		return ErrHandBack
	}
	result.Output, result.Hint = tidy(result.Output), tidy(result.Hint)
	result.Taint = result.Taint.Join(r.taint) // what it was told to do derives from the turn
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
	if err := r.settle(ctx, plan, i, state, &result); err != nil {
		return err
	}
	if err := r.halted(ctx); err != nil {
		return err // what stopped the turn is committed with the result
	}
	return r.flush(ctx)
}

// changedHint is what the next plan is told of a task that an edit broke off.
const changedHint = "stopped because the message was changed; it may have done a part of its work, so look before doing it again"

// settle stages a task's result.
func (r *run) settle(ctx context.Context, plan *PlanRow, i int, state TaskState, result *tools.Result) error {
	return r.stage(ctx, change(plan, i, state, result))
}

func change(plan *PlanRow, i int, state TaskState, result *tools.Result) Step {
	return Step{Tasks: []TaskChange{{
		Attempt: plan.Attempt, Position: i, Type: plan.Tasks[i].Type, State: state, Result: result,
	}}}
}

// perform runs the command or the tool under what guard returned. role is the person's, as
// it is now.
func (r *run) perform(ctx context.Context, plan *PlanRow, i int, role string) tools.Result {
	task := plan.Tasks[i].Task
	if r.opts.Guard != nil && !r.harmless(task) && (!r.opts.Guard.Safe() || ctx.Err() != nil) {
		return tools.Result{End: tools.EndError, Code: tools.CodeInterrupted, Hint: notBegun}
	}
	if task.Type == TaskTool {
		return r.toolbox.Run(ctx, deref(task.Tool), r.call(task))
	}
	if err := r.writeOutputs(plan, i); err != nil {
		return tools.Result{
			End: tools.EndError, Code: "workspace", Output: "the command was not started: " + err.Error(),
			Hint: "the workspace cannot be written to; nothing ran",
		}
	}
	return r.keepOutput(ctx, plan, i, r.shell.Run(ctx, tools.Command{
		Line: task.Detail, Workspace: r.turn.Workspace, Admin: r.turn.Person.Role == "admin" && role == "admin",
		Taint: r.taint,
	}))
}

// call is the use of a tool that a task means.
func (r *run) call(task Task) tools.Call {
	return tools.Call{
		Args: json.RawMessage(deref(task.Args)), Workspace: r.turn.Workspace,
		Session: tools.Session{
			ID: r.turn.Session.Key, Person: r.turn.Person.Name, Role: r.turn.Person.Role,
			Channel: r.turn.Place.Channel, Direct: r.turn.Place.Direct, Turn: r.turn.ID, Alone: r.turn.Terms.NoApprovals,
			Mode: r.turn.Session.Mode, TimeZone: r.turn.Session.TimeZone,
			Language: r.turn.Session.Language, Model: r.modelOf(rolePlanner),
		},
		Taint: r.taint,
	}
}

// harmless says that running the task once more changes nothing.
func (r *run) harmless(task Task) bool {
	if task.Type != TaskTool {
		return false
	}
	tool, ok := r.toolbox.Get(deref(task.Tool))
	return ok && tool.Effect == tools.EffectRead
}

// served refuses a task that is not done where its person is not served any more, and ends
// the turn: nothing else is tried for them. For who is away it waits.
func (r *run) served(ctx context.Context, plan *PlanRow, i int) error {
	if state := plan.Tasks[i].State; state != TaskPending && state != TaskRunning {
		return nil
	}
	d := r.decide(tools.Question{})
	if d.Verdict == tools.Allow {
		return nil
	}
	if plan.Tasks[i].State == TaskPending && d.Rule != tools.PersonAway {
		if err := r.settle(ctx, plan, i, TaskFailed, r.refusedBy(d)); err != nil {
			return err
		}
	}
	return r.unserved(ctx, d)
}

// unserved ends a turn whose person is not served, or parks it until they are back.
func (r *run) unserved(ctx context.Context, d tools.Decision) error {
	if d.Rule == tools.PersonAway {
		return r.park(ctx, Step{End: &End{State: "waiting", Outcome: OutcomePersonAway}})
	}
	return &ending{state: "failed", outcome: "not_served", text: "I stopped: you are not served here any more."}
}

// refusedBy is the result of a task that the gate did not let run.
func (r *run) refusedBy(d tools.Decision) *tools.Result {
	return &tools.Result{End: tools.EndRefused, Code: "not_permitted", Rule: d.Rule, Hint: d.Reason, Taint: r.taint}
}

// allowed is the decision that lets a task run, or the result of one that must not; ask is
// what a person has to be asked where the decision says so. Rights are asked for anew: they
// may have changed since the plan, and so may the taint.
func (r *run) allowed(ctx context.Context, plan *PlanRow, i int) (d tools.Decision, ask Ask, refused *tools.Result) {
	task := plan.Tasks[i].Task
	var deed tools.Deed
	q := tools.Question{Tool: tools.ExecName, Effect: r.execEffect(), Command: task.Detail}
	if task.Type == TaskExec && r.turn.Order != nil && q.Effect == tools.EffectOutside { // it is typed as it runs
		loads, err := tools.Loads(ctx, r.turn.Workspace, task.Detail, true)
		q.Own = err == nil && loads == nil
	}
	if task.Type == TaskTool {
		tool, ok := r.toolbox.Get(deref(task.Tool))
		if !ok {
			return d, ask, &tools.Result{
				End: tools.EndRefused, Code: "unknown_tool", Rule: "registry", Taint: r.taint,
				Hint: "this tool is no longer there; plan without it",
			}
		}
		q = tools.Question{Tool: tool.Name, Effect: tool.Effect}
		if tool.Sends != "" {
			q.Sends = argument(deref(task.Args), tool.Sends)
		}
		if tool.Keeps != nil {
			q.Keeps = tool.Keeps(ctx, r.call(task))
		}
		if tool.Describe != nil {
			deed = tool.Describe(ctx, r.call(task))
			q.Looks, q.Own = deed.Looks, deed.AskedIn(r.ownWords()) || r.turn.Order != nil && len(deed.Asked) > 0
		}
	}
	d = r.decide(q)
	if d.Verdict == tools.Refuse {
		return d, ask, r.refusedBy(d)
	}
	if n := r.uses(plan.Attempt, i); n >= maxRepeats {
		return d, ask, &tools.Result{
			End: tools.EndRefused, Code: "cycle", Rule: "agent.cycle", Taint: r.taint,
			Hint: fmt.Sprintf("exactly this was done %d times in this turn already; doing it again brings nothing new, so try another way", n),
		}
	}
	if d.Verdict == tools.Ask && deed.Refused != nil { // nobody is asked about what is not there
		deed.Refused.Taint = deed.Refused.Taint.Join(r.taint)
		return d, ask, deed.Refused
	}
	if d.Verdict == tools.Ask {
		ask, refused = r.question(ctx, plan, i, q, d, deed)
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

// uses counts how often the turn ran the same before.
func (r *run) uses(attempt, position int) int {
	wanted, n := signature(r.task(attempt, position).Task), 0
	for _, plan := range r.state.Plans {
		for _, task := range plan.Tasks {
			ran := task.State != TaskPending && (task.Result == nil || task.Result.End != tools.EndRefused)
			if ran && (plan.Attempt != attempt || task.Position != position) && signature(task.Task) == wanted {
				n++
			}
		}
	}
	return n
}

// signature is the same for tasks that surely do the same; empty for a msg. White space
// within a command may be what it is about: in quotes, in a program it hands over.
func signature(task Task) string {
	switch task.Type {
	case TaskExec:
		return "exec " + strings.TrimSpace(task.Detail)
	case TaskTool:
		args := deref(task.Args)
		var value any
		if json.Unmarshal([]byte(args), &value) == nil {
			if canonical, err := json.Marshal(value); err == nil {
				args = string(canonical)
			}
		}
		return "tool " + deref(task.Tool) + " " + args
	}
	return ""
}

// signatures are those of the acts of a plan, in order.
func signatures(tasks []Task) []string {
	var all []string
	for _, task := range tasks {
		all = append(all, signature(task))
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// interrupted is the result of a task that a crash cut off.
func interrupted(taint tools.Taint) *tools.Result {
	return &tools.Result{
		End: tools.EndError, Code: tools.CodeInterrupted, Taint: taint,
		Hint: "it was cut off when the program stopped; nobody knows how far it came, so look before doing it again",
	}
}

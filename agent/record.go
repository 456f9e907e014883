package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"switchboard/agent/memory"
	"switchboard/agent/tools"
)

// A record is what is known of the turn, and a mirror of its rows: what the journal holds plus
// what is staged. So the code asks it alone whether something was done already, in this
// process or in an earlier one.
type record struct {
	State
	turn    Turn
	cfg     Config
	now     func() time.Time
	timeout time.Duration     // how long the turn may take in all
	modelOf map[string]string // each role's; the turn may have a planner of its own
	calls   map[string]Call   // State.Calls by step
	leftTo  int64             // the newest message before the turn that does not stand in its prompts, but in the summary; 0: none
	known   memory.Known      // what is remembered that concerns the turn
	taint   tools.Taint       // of the turn so far
}

func newRecord(cfg Config, now func() time.Time, turn Turn, resumed *State) *record {
	r := &record{State: *resumed, turn: turn, cfg: cfg, now: now, timeout: cfg.TurnTimeout, calls: make(map[string]Call, len(resumed.Calls))}
	r.Plans, r.Said, r.Added = nil, slices.Clone(resumed.Said), slices.Clone(resumed.Added) // the mirror is ours, the journal's state is not
	if turn.Session.Summary != "" {
		r.leaveSummed()
	}
	for i := range resumed.Plans {
		r.Plans = append(r.Plans, clonePlan(&resumed.Plans[i]))
	}
	if r.turn.StartedAt.IsZero() {
		r.turn.StartedAt = now()
	}
	if own := turn.Limits.Timeout; own > 0 {
		r.timeout = min(own, r.timeout)
	}
	cfg.Planner = cmp.Or(turn.Limits.Model, turn.Session.Model, cfg.Planner)
	r.modelOf = cfg.Roles()
	for _, call := range r.Calls {
		r.calls[call.Step] = call
	}
	r.taint = r.contextTaint().Join(formerTaint(r.Former))
	for _, task := range tasksOf(r.Plans) {
		r.inherit(task.Result)
	}
	return r
}

// leaveSummed leaves out what the summary says, but for the newest lines. In a direct chat it says nothing of what is tainted.
func (r *record) leaveSummed() {
	var kept []Line
	for i, line := range r.Recent {
		if line.Summed && i < len(r.Recent)-r.cfg.ContextMessages && !(r.turn.Place.Direct && lineTaint(&line, r.turn.Person.Name) != tools.Clean) {
			r.leftTo = line.ID
		} else {
			kept = append(kept, line)
		}
	}
	if r.leftTo > 0 && len(kept) > 0 {
		r.Reports = slices.DeleteFunc(slices.Clone(r.Reports), func(l Line) bool { return l.At.Before(kept[0].At) })
	}
	r.Recent = kept
}

// timeLeft is until turn_timeout.
func (r *record) timeLeft() time.Duration { return r.turn.StartedAt.Add(r.timeout).Sub(r.now()) }

// inherit taints the turn by a task's result.
func (r *record) inherit(result *tools.Result) {
	if result != nil {
		r.taint = r.taint.Join(result.Taint)
	}
}

// mirror does to the mirror what the journal will do to the rows.
func (r *record) mirror(step Step) {
	for _, call := range step.Calls {
		r.calls[call.Step] = call
	}
	if step.Plan != nil {
		r.Plans = append(r.Plans, clonePlan(step.Plan))
	}
	for _, change := range step.Tasks {
		task := &r.Plans[change.Attempt].Tasks[change.Position]
		task.State = change.State
		if change.Result != nil {
			task.Result = change.Result
			r.inherit(change.Result)
		}
	}
	if v := step.Review; v != nil {
		r.Plans[v.Attempt].Tasks[v.Position].Review = v
	}
	r.Said = append(r.Said, step.Say...)
}

// clonePlan copies a plan row so that the mirror's states do not show in the
// staged row, whose tasks are all pending.
func clonePlan(plan *PlanRow) PlanRow {
	clone := *plan
	clone.Tasks = slices.Clone(plan.Tasks)
	return clone
}

// planRow is the plan of that attempt; nil while there is none.
func (r *record) planRow(attempt int) *PlanRow {
	if attempt < len(r.Plans) {
		return &r.Plans[attempt]
	}
	return nil
}

// tasksOf are the tasks of some plans, in order, each with its plan.
func tasksOf(plans []PlanRow) iter.Seq2[*PlanRow, *TaskRow] {
	return func(yield func(*PlanRow, *TaskRow) bool) {
		for i := range plans {
			for j := range plans[i].Tasks {
				if !yield(&plans[i], &plans[i].Tasks[j]) {
					return
				}
			}
		}
	}
}

// lastAttempt is the newest plan's; 0 while there is none.
func (r *record) lastAttempt() int { return max(0, len(r.Plans)-1) }

// answered says that the step's answer is recorded.
func (r *record) answered(step string) bool {
	call, ok := r.calls[step]
	return ok && call.Error == ""
}

// spareKey is a key for a call that does not stand for its step.
func (r *record) spareKey(step string) string {
	for n := 1; ; n++ {
		key := fmt.Sprintf("%s+%d", step, n)
		if _, taken := r.calls[key]; !taken {
			return key
		}
	}
}

// stepOf is the key of the answer of a step's model, or of one of its fallbacks.
func stepOf(step string, candidate int) string {
	if candidate == 0 {
		return step
	}
	return fmt.Sprintf("%s~%d", step, candidate)
}

// failedBefore says that each of the models failed at the step when the turn was last tried, so
// that it was put off, and since when. They are all asked again.
func (r *record) failedBefore(step string, models int) (since time.Time, again bool) {
	for i := range models {
		call, ok := r.calls[stepOf(step, i)]
		if !ok || call.Error == "" {
			return time.Time{}, false
		}
		if since.IsZero() || call.At.Before(since) {
			since = call.At
		}
	}
	return since, true
}

// noticed says that the person need not be told that the turn takes longer: they were, or nobody waits.
func (r *record) noticed() bool {
	return r.turn.Limits.Quiet || r.turn.Limits.Run != 0 || slices.ContainsFunc(r.Said, func(say Say) bool { return say.Notice })
}

// did: a task that is no message is done, or was begun.
func (r *record) did() bool {
	for _, task := range tasksOf(r.Plans) {
		if task.Type != TaskMsg && (task.State == TaskDone || task.State == TaskInterrupted) {
			return true
		}
	}
	return false
}

// leftRunning settles tasks that an earlier process left running.
func (r *record) leftRunning() (changes []TaskChange) {
	for plan, task := range tasksOf(r.Plans) {
		switch {
		case task.State != TaskRunning:
		case task.Type == TaskMsg:
			changes = append(changes, change(plan, task.Position, TaskCancelled, nil))
		default:
			changes = append(changes, change(plan, task.Position, TaskInterrupted, interrupted(r.taint)))
		}
	}
	return changes
}

// change is what becomes of a task.
func change(plan *PlanRow, i int, state TaskState, result *tools.Result) TaskChange {
	return TaskChange{Attempt: plan.Attempt, Position: i, Type: plan.Tasks[i].Type, State: state, Result: result}
}

// refused is the result of a task that was not let run.
func (r *record) refused(code, rule, hint string) *tools.Result {
	return &tools.Result{End: tools.EndRefused, Code: code, Rule: rule, Hint: hint, Taint: r.taint}
}

// interrupted is the result of a task that a crash cut off.
func interrupted(taint tools.Taint) *tools.Result {
	return &tools.Result{
		End: tools.EndError, Code: tools.CodeInterrupted, Taint: taint,
		Hint: "it was cut off when the program stopped; nobody knows how far it came, so look before doing it again",
	}
}

// uses counts how often the turn ran the same before.
func (r *record) uses(task *TaskRow) (n int) {
	wanted := signature(task.Task)
	for _, other := range tasksOf(r.Plans) {
		ran := other.State != TaskPending && (other.Result == nil || other.Result.End != tools.EndRefused)
		if ran && other != task && signature(other.Task) == wanted {
			n++
		}
	}
	return n
}

// tried says that an earlier attempt failed with exactly what these tasks would do.
func (r *record) tried(tasks []TaskRow) bool {
	acts := signatures(tasks)
	return len(acts) > 0 && slices.ContainsFunc(r.Plans, func(row PlanRow) bool {
		return row.failed() && slices.Equal(signatures(row.Tasks), acts)
	})
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
func signatures(tasks []TaskRow) (all []string) {
	for _, task := range tasks {
		if s := signature(task.Task); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// reasons are those of the replans so far.
func (r *record) reasons() (all []string) {
	for _, task := range tasksOf(r.Plans) {
		if task.Review != nil && task.Review.Status == "replan" {
			all = append(all, task.Review.Reason)
		}
	}
	return all
}

// failed says that a review asked for another plan.
func (p *PlanRow) failed() bool {
	return slices.ContainsFunc(p.Tasks, func(task TaskRow) bool {
		return task.Review != nil && task.Review.Status == "replan"
	})
}

// reached says that the plan shows its goal reached: every reviewed task passed.
// After a failure, words alone show nothing: they tell of it, or ask.
func (r *record) reached(plan *PlanRow) bool {
	reviewed := 0
	for _, task := range plan.Tasks {
		if task.Type == TaskMsg {
			continue
		}
		if task.Review == nil || task.Review.Status != "ok" {
			return false
		}
		reviewed++
	}
	return len(r.reasons()) == 0 || reviewed > 0
}

// recorded says that a task's result is that of an earlier turn.
func recorded(task *TaskRow) bool {
	return task.Result != nil && task.Result.Code == CodeDoneBefore
}

// An earlier task is one whose output later tasks may use.
type earlier struct {
	Attempt int       `json:"attempt"` // from 1
	Task    int       `json:"task"`    // from 1
	Type    TaskType  `json:"type"`
	Detail  string    `json:"detail"`
	State   TaskState `json:"state"`
	Output  string    `json:"output"`
	row     TaskRow
}

// earlierTasks are the tasks of the plan before position that have an output, and
// before them what earlier attempts did well or said.
func (r *record) earlierTasks(attempt, position int) (all []earlier) {
	for plan, task := range tasksOf(r.Plans) {
		passed := task.Review != nil && task.Review.Status == "ok" || task.Type == TaskMsg && task.State == TaskDone
		before := plan.Attempt < attempt && passed || plan.Attempt == attempt && task.Position < position
		if !before || task.State == TaskPending {
			continue
		}
		e := earlierTask(plan, task)
		switch {
		case task.Type == TaskMsg:
			e.Output = r.said(plan.Attempt, task.Position)
		case task.Result != nil:
			e.Output = task.Result.Output
		}
		all = append(all, e)
	}
	return all
}

func earlierTask(plan *PlanRow, task *TaskRow) earlier {
	return earlier{Attempt: plan.Attempt + 1, Task: task.Position + 1, Type: task.Type, Detail: task.Detail, State: task.State, row: *task}
}

// said is the text of a msg task that was written.
func (r *record) said(attempt, position int) string {
	for _, say := range r.Said {
		if say.Attempt == attempt && say.Position == position {
			return say.Text
		}
	}
	return ""
}

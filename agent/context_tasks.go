package agent

import (
	"fmt"

	"switchboard/agent/tools"
)

// planningAgain are the rules of every attempt but the first.
const planningAgain = `- What is completed stays done: use it, do not do it again.
- After a failure go for its cause, by another way; a refusal names its rule: plan within it. If there is no other way, plan one msg that says honestly what was tried, what failed and what the person can do.
- What was interrupted or stopped may have done a part of its work: look before you repeat it.
- Where the person wrote more or changed their message, nothing failed: plan for all that they want now. A changed message counts as it reads now, and what was said last goes first. What is done and fits no longer is undone if that can be, or the msg says so. Remaining tasks that are still right may stand in the new plan as they were.
`

// history tells a new attempt what came of those before.
func (ps *prompts) history(p *prompt, attempt int, cut cut) {
	var failed, stopped *earlier // in the plan before
	p.section("Planning again")
	p.add(planningAgain)
	p.section("Earlier attempts")
	for _, plan := range ps.Plans {
		p.linef("%d. %s", plan.Attempt+1, oneLine(plan.Goal))
		if !plan.failed() {
			p.linef("   (it was set aside, not failed: the person added or changed something)")
		}
		for _, task := range plan.Tasks {
			line := fmt.Sprintf("   - task %d %s", task.Position+1, label(task.Task))
			switch {
			case task.Review != nil && task.Review.Status == "ok":
				line += ": ok"
			case task.Review != nil:
				line += ": failed"
				failed = new(earlierTask(&plan, &task))
			case task.State == TaskDone:
				line += ": done"
			case task.State == TaskCancelled && task.Result != nil:
				line += ": broken off"
				stopped = new(earlierTask(&plan, &task))
			default:
				line += ": not done"
			}
			p.linef("%s", line)
			if task.Review != nil && task.Review.Reason != "" {
				p.text(task.Review.Reason, task.Review.Taint)
			}
		}
	}
	p.section("Completed tasks")
	done := ps.earlierTasks(attempt, 0)
	if len(done) == 0 {
		p.linef("None.")
	}
	for _, task := range done {
		p.outcome(fmt.Sprintf("Attempt %d, task %d (%s)", task.Attempt, task.Task, task.Type), task, cut.output)
	}
	p.section("Remaining tasks")
	none := "None.\n"
	for _, task := range ps.planRow(attempt - 1).Tasks {
		if task.Review == nil && task.State != TaskDone {
			none = ""
			p.item(fmt.Sprintf("task %d (%s): %s", task.Position+1, task.Type, oneLine(task.Detail)), tools.Clean)
		}
	}
	p.add(none)
	for _, end := range []struct {
		title string
		task  *earlier
	}{{"What failed", failed}, {"What was stopped", stopped}} {
		if end.task == nil || end.task.Attempt != attempt {
			continue
		}
		p.section(end.title)
		p.outcome(fmt.Sprintf("Attempt %d, task %d (%s)", end.task.Attempt, end.task.Task, end.task.Type), *end.task, cut.output)
		if review := end.task.row.Review; review != nil {
			p.linef("The reviewer's reason:")
			p.text(review.Reason, review.Taint)
		}
	}
}

// outcome shows a task and its fenced output.
func (p *prompt) outcome(title string, task earlier, limit int) {
	p.linef("### %s", title)
	p.what(task.row.Task)
	if task.row.Result != nil {
		p.how(*task.row.Result)
		if task.row.Type != TaskMsg {
			task.Output = task.row.Result.Output
		}
	}
	p.data(clip(task.Output, limit))
}

// what says what a task does.
func (p *prompt) what(task Task) {
	switch task.Type {
	case TaskExec:
		p.linef("Command: %s", indent(task.Detail))
	case TaskTool:
		p.linef("Tool: %s\nArguments: %s\nFor: %s", deref(task.Tool), indent(deref(task.Args)), indent(task.Detail))
	default:
		p.linef("Message: %s", indent(task.Detail))
	}
}

// how says how a task ended.
func (p *prompt) how(result tools.Result) {
	line := "Ended: " + string(result.End)
	if result.Code != "" {
		line += " (" + oneLine(result.Code) + ")"
	}
	if result.Rule != "" {
		line += "\nRule: " + oneLine(result.Rule)
	}
	if result.Hint != "" {
		line += "\nHint: " + oneLine(result.Hint)
	}
	p.linef("%s", line)
}

const formerIntro = "The person asks you to try their message once more; it stands under New message. " +
	"What was done for it before is below. A task that stands here as done is not run again: where your plan has exactly the same, " +
	"its recorded output is taken. Plan a task that differs where something has to be looked at anew. " +
	"Of a task that was cut off nobody knows how far it came: look before doing it again."

// former tells what was done for the message before.
func (ps *prompts) former(p *prompt, cut cut) {
	if len(ps.Former) == 0 {
		return
	}
	p.section("Tried before")
	p.linef("%s", formerIntro)
	for i, former := range ps.Former {
		p.linef("\n### Try %d, asked %s, ended %s (%s)", i+1, former.AskedAt.UTC().Format("2006-01-02 15:04 UTC"), former.State, oneLine(former.Outcome))
		if len(former.Plans) == 0 {
			p.linef("Nothing was planned.")
		}
		for _, plan := range former.Plans {
			p.linef("Goal: %s", oneLine(plan.Goal))
			for _, task := range plan.Tasks {
				p.tried(&task, cut.output)
			}
		}
	}
}

// tried tells what became of a task of an earlier turn.
func (p *prompt) tried(task *TaskRow, limit int) {
	if task.Type == TaskMsg {
		p.linef("- a message, %s: %s", task.State, oneLine(task.Detail))
		return
	}
	p.linef("- %s, %s", label(task.Task), task.State)
	if task.Result == nil || recorded(task) {
		return
	}
	p.what(task.Task)
	p.how(*task.Result)
	p.data(clip(task.Result.Output, limit))
	if task.Review != nil && task.Review.Reason != "" {
		p.linef("The reviewer's reason (%s):", task.Review.Status)
		p.text(task.Review.Reason, task.Review.Taint)
	}
}

package agent

import (
	"time"

	"switchboard/agent/tools"
)

// A Former is a turn whose work is to be done again: it ended, and the person asked for
// another try.
type Former struct {
	AskedAt time.Time
	State   string // done | failed | cancelled
	Outcome string
	Plans   []PlanRow // with what became of their tasks
}

// CodeDoneBefore is the code of a result that was not brought about again: the task was
// done by the turn that this one retries, and its result is the recorded one.
const CodeDoneBefore = "done_before"

const (
	doneBeforeHint = "this was done when it was first tried, and not again: the output is the one recorded then"
	formerIntro    = "The person asks you to try their message once more; it stands under New message. " +
		"What was done for it before is below. A task that stands here as done is not run again: where your plan has exactly the same, " +
		"its recorded output is taken. Plan a task that differs where something has to be looked at anew. " +
		"Of a task that was cut off nobody knows how far it came: look before doing it again."
)

// doneBefore is the recorded result of a task that was done by a turn which this one
// retries; nil: it is to be run. Each such task stands for one of this turn's. What only
// looks is looked at anew.
func (r *run) doneBefore(plan *PlanRow, i int) *tools.Result {
	task := plan.Tasks[i].Task
	wanted := signature(task)
	if wanted == "" || len(r.state.Former) == 0 || r.harmless(task) || r.turn.Order != nil { // who orders again means again
		return nil
	}
	taken := 0
	for _, plan := range r.state.Plans {
		for _, other := range plan.Tasks {
			if recorded(&other) && signature(other.Task) == wanted {
				taken++
			}
		}
	}
	for _, former := range r.state.Former {
		for _, plan := range former.Plans {
			for _, other := range plan.Tasks {
				if other.State != TaskDone || other.Result == nil || recorded(&other) || signature(other.Task) != wanted {
					continue
				}
				if taken--; taken >= 0 {
					continue
				}
				result := *other.Result
				result.Code, result.Hint, result.Taint = CodeDoneBefore, doneBeforeHint, result.Taint.Join(r.taint)
				return &result
			}
		}
	}
	return nil
}

// recorded says that a task's result is that of an earlier turn.
func recorded(task *TaskRow) bool {
	return task.Result != nil && task.Result.Code == CodeDoneBefore
}

// former tells what was done for the message before.
func (r *run) former(p *prompt, cut cut) {
	if len(r.state.Former) == 0 {
		return
	}
	p.section("Tried before")
	p.linef("%s", formerIntro)
	for i, former := range r.state.Former {
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

// formerTaint is the taint of what earlier turns brought, which the planner reads.
func formerTaint(former []Former) (taint tools.Taint) {
	for _, f := range former {
		for _, plan := range f.Plans {
			for _, task := range plan.Tasks {
				if task.Result != nil {
					taint = taint.Join(task.Result.Taint)
				}
				if task.Review != nil {
					taint = taint.Join(task.Review.Taint)
				}
			}
		}
	}
	return taint
}

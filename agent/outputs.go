package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"switchboard/agent/tools"
)

// Commands read what earlier tasks brought from this file, in the workspace's folder
// of ours, ".switchboard".
const outputsFile = "outputs.json"

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
func (r *run) earlierTasks(attempt, position int) []earlier {
	var all []earlier
	for _, plan := range r.state.Plans {
		for _, task := range plan.Tasks {
			passed := task.Review != nil && task.Review.Status == "ok" || task.Type == TaskMsg && task.State == TaskDone
			before := plan.Attempt < attempt && passed || plan.Attempt == attempt && task.Position < position
			if !before || task.State == TaskPending {
				continue
			}
			e := earlier{
				Attempt: plan.Attempt + 1, Task: task.Position + 1, Type: task.Type,
				Detail: task.Detail, State: task.State, row: task,
			}
			switch {
			case task.Type == TaskMsg:
				e.Output = r.said(plan.Attempt, task.Position)
			case task.Result != nil:
				e.Output = task.Result.Output
			}
			all = append(all, e)
		}
	}
	return all
}

// said is the text of a msg task that was written.
func (r *run) said(attempt, position int) string {
	for _, say := range r.state.Said {
		if say.Attempt == attempt && say.Position == position {
			return say.Text
		}
	}
	return ""
}

// writeOutputs gives a command the outputs of earlier tasks.
func (r *run) writeOutputs(plan *PlanRow, position int) error {
	list := r.earlierTasks(plan.Attempt, position)
	if list == nil {
		list = []earlier{}
	}
	body, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return fmt.Errorf("encode outputs: %w", err)
	}
	return tools.PutHidden(r.turn.Workspace, outputsFile, append(body, '\n'))
}

// keptAbove is the length in bytes from which on a command's output is kept as a file
// as well: no answer shows so much.
const keptAbove = 4000

// keepOutput puts a long output into the workspace, where the person can ask for it,
// and has the hint name it.
func (r *run) keepOutput(ctx context.Context, plan *PlanRow, i int, result tools.Result) tools.Result {
	if len(result.Output) <= keptAbove {
		return result
	}
	name := fmt.Sprintf("outputs/turn-%d-%d-%d.txt", r.turn.ID, plan.Attempt+1, i+1)
	if err := tools.Keep(context.WithoutCancel(ctx), r.turn.Workspace, name, result.Output, result.Taint.Join(r.taint)); err != nil {
		r.log.WarnContext(ctx, "an output was not kept as a file", slog.Any("error", err))
		return result
	}
	if result.Hint != "" {
		result.Hint += "; "
	}
	result.Hint += "the output is kept in the workspace as " + name
	return result
}

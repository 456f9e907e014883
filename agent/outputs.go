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

// writeOutputs gives a command the outputs of earlier tasks.
func (t *tasks) writeOutputs(plan *PlanRow, position int) error {
	body, err := json.MarshalIndent(append([]earlier{}, t.earlierTasks(plan.Attempt, position)...), "", "  ")
	if err != nil {
		return fmt.Errorf("encode outputs: %w", err)
	}
	return tools.PutHidden(t.turn.Workspace, outputsFile, append(body, '\n'))
}

// keptAbove is the length in bytes from which on a command's output is kept as a file
// as well: no answer shows so much.
const keptAbove = 4000

// keepOutput puts a long output into the workspace, where the person can ask for it,
// and has the hint name it.
func (t *tasks) keepOutput(ctx context.Context, plan *PlanRow, i int, result tools.Result) tools.Result {
	if len(result.Output) <= keptAbove {
		return result
	}
	name := fmt.Sprintf("outputs/turn-%d-%d-%d.txt", t.turn.ID, plan.Attempt+1, i+1)
	if err := tools.Keep(context.WithoutCancel(ctx), t.turn.Workspace, name, result.Output, result.Taint.Join(t.taint)); err != nil {
		t.log.WarnContext(ctx, "an output was not kept as a file", slog.Any("error", err))
		return result
	}
	if result.Hint != "" {
		result.Hint += "; "
	}
	result.Hint += "the output is kept in the workspace as " + name
	return result
}

package router

import (
	"strings"

	"switchboard/agent"
)

// taskSigns stand before a step, by its state.
var taskSigns = map[agent.TaskState]string{
	agent.TaskPending:     "▫️",
	agent.TaskRunning:     "⏳",
	agent.TaskDone:        "✅",
	agent.TaskFailed:      "⚠️",
	agent.TaskInterrupted: "⚠️",
	agent.TaskCancelled:   "✖️",
}

const (
	progressName  = 80 // runes of a goal or a step's name shown
	progressSteps = 12 // steps shown
)

// acts says whether a plan does something that takes time, besides talking.
func acts(plan *agent.PlanRow) bool {
	for _, task := range plan.Tasks {
		if task.Type != agent.TaskMsg {
			return true
		}
	}
	return false
}

// planText is a plan while it is carried out, in Markdown: its goal and its steps
// with their states, never what they yielded.
func planText(plan *agent.PlanRow) string {
	lines := []string{"**" + escape(shorten(plan.Goal, 2*progressName)) + "**", ""}
	for i, task := range plan.Tasks {
		if i == progressSteps {
			lines = append(lines, "…")
			break
		}
		name := "write the answer"
		if task.Type != agent.TaskMsg {
			name = shorten(task.Detail, progressName)
		}
		lines = append(lines, taskSigns[task.State]+" "+escape(name)+`\`)
	}
	return strings.TrimSuffix(strings.Join(lines, "\n"), `\`)
}

// escape makes any text mean itself in Markdown.
func escape(text string) string {
	var b strings.Builder
	b.Grow(len(text) + 8)
	for _, r := range text {
		if strings.ContainsRune("\\`*_{}[]()<>#+-.!|~$&:@=\"'^/", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

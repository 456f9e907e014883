package outbox

import (
	"slices"
	"strings"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/words"
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
	ShownName  = 80 // runes of a name shown
	shownSteps = 12 // steps shown
)

// moreMark opens a draft whose text is longer than one message: what is shown is its
// end.
const moreMark = "… "

// Draft is a text, which may grow, as one message: its first part, and when it is
// longer its last one.
func (c *Composer) Draft(conv channels.Conversation, markdown string, grows bool) channels.Body {
	parts := c.rendered(conv, markdown, grows).Parts
	body := parts[len(parts)-1]
	if len(parts) == 1 {
		return body
	}
	return c.Marked(body, moreMark, "")
}

// Plan is a plan while it is carried out, in Markdown: its goal and its steps with their states,
// never what they yielded. It is empty where the plan does nothing that takes time, besides talking.
func Plan(plan *agent.PlanRow) string {
	if !slices.ContainsFunc(plan.Tasks, func(t agent.TaskRow) bool { return t.Type != agent.TaskMsg }) {
		return ""
	}
	lines := []string{"**" + render.Escape(words.OneLine(plan.Goal, 2*ShownName)) + "**", ""}
	from, to := stepsShown(plan.Tasks)
	if from > 0 {
		lines = append(lines, `…\`)
	}
	for i, task := range plan.Tasks[from:to] {
		name := words.OneLine(task.Detail, ShownName)
		switch {
		case task.Type == agent.TaskMsg && from+i == len(plan.Tasks)-1:
			name = "write the answer"
		case task.Type == agent.TaskMsg:
			name = "send a message"
		}
		lines = append(lines, taskSigns[task.State]+" "+render.Escape(name)+`\`)
	}
	if to < len(plan.Tasks) {
		lines = append(lines, "…")
	}
	return strings.TrimSuffix(strings.Join(lines, "\n"), `\`)
}

// stepsShown is the range of a long plan's steps around the one it is at.
func stepsShown(tasks []agent.TaskRow) (from, to int) {
	at := 0
	for at < len(tasks) && tasks[at].State != agent.TaskPending && tasks[at].State != agent.TaskRunning {
		at++
	}
	from = max(0, min(at-shownSteps/2, len(tasks)-shownSteps))
	return from, min(from+shownSteps, len(tasks))
}

package router

import (
	"strings"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/words"
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

// moreMark opens a draft whose text is longer than one message: what is shown is its
// end.
const moreMark = "… "

// draftBody is a text that grows, as one message: its first part, and when it is
// longer its last one.
func (l *line) draftBody(conv channels.Conversation, markdown string) channels.Body {
	parts := l.reply(conv, markdown).Parts
	body := parts[len(parts)-1]
	if len(parts) == 1 {
		return body
	}
	return l.marked(body, moreMark, "")
}

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
	lines := []string{"**" + render.Escape(words.OneLine(plan.Goal, 2*progressName)) + "**", ""}
	from, to := stepsShown(plan.Tasks)
	if from > 0 {
		lines = append(lines, `…\`)
	}
	for i, task := range plan.Tasks[from:to] {
		name := words.OneLine(task.Detail, progressName)
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
	from = max(0, min(at-progressSteps/2, len(tasks)-progressSteps))
	return from, min(from+progressSteps, len(tasks))
}

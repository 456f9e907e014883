package outbox

import (
	"cmp"
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

// A content is what there is to show of a turn: the text of its next message, else its
// plan while that does something, else nothing.
type content struct {
	plan *agent.PlanRow // as it is now; nil: none yet
	text string         // of the next message so far
	past string         // what the latest message took the place of
}

// follow notes what was committed of the turn.
func (c *content) follow(step agent.Step) {
	if step.Plan != nil {
		plan := *step.Plan
		plan.Tasks = slices.Clone(plan.Tasks)
		c.plan = &plan
	}
	if c.plan == nil {
		return
	}
	for _, change := range step.Tasks {
		if change.Attempt == c.plan.Attempt && change.Position < len(c.plan.Tasks) {
			c.plan.Tasks[change.Position].State = change.State
		}
	}
}

// said notes that a message takes the place of what is shown; what follows it is news.
func (c *content) said() { c.text, c.past = "", c.planned() }

// planned is the plan; empty: it does nothing that takes time.
func (c *content) planned() string {
	if c.plan == nil || !acts(c.plan) {
		return ""
	}
	return planText(c.plan)
}

// news is what is to be shown; false: nothing. Drafted says that something is shown,
// which is taken back when there is nothing else to show.
func (c *content) news(drafted bool) (text string, news bool) {
	text = cmp.Or(c.text, c.planned())
	if text == "" && drafted {
		text = nothingYet
	}
	return text, text != "" && text != c.past
}

// nothingYet is what is shown where there is nothing to show.
const nothingYet = "…"

// first is what is shown before anything of the next message is.
func (c *content) first() string {
	if plan := c.planned(); plan != "" && plan != c.past {
		return plan
	}
	return nothingYet
}

// draftBody is a text, which may grow, as one message: its first part, and when it is
// longer its last one.
func (l *Connection) draftBody(conv channels.Conversation, markdown string, grows bool) channels.Body {
	parts := l.rendered(conv, markdown, grows).Parts
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

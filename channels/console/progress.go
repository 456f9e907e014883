package console

import (
	"cmp"
	"encoding/json"
	"fmt"

	"switchboard/channels"
)

// detailWidth is how much of a task's detail is shown.
const detailWidth = 100

// planTask is one task of an event of kind plan.
type planTask struct {
	Type   string `json:"type"`
	Tool   string `json:"tool"`
	Detail string `json:"detail"`
}

// eventData is what the events of the kinds plan, task, review and turn hold;
// whatever is missing stays empty.
type eventData struct {
	Attempt  int        `json:"attempt"`
	Goal     string     `json:"goal"`
	Count    int        `json:"count"`
	Tasks    []planTask `json:"tasks"`
	Position int        `json:"position"`
	Type     string     `json:"type"`
	State    string     `json:"state"`
	Outcome  string     `json:"outcome"`
	Code     string     `json:"code"`
	Detail   string     `json:"detail"`
	Status   string     `json:"status"`
	Reason   string     `json:"reason"`
}

func readData(e channels.SessionEvent) eventData {
	var d eventData
	_ = json.Unmarshal(e.Data, &d) // progress is for people: what cannot be read is not shown
	return d
}

// over says whether a turn in this state has ended.
func over(state string) bool {
	switch state {
	case "done", "failed", "cancelled", "merged":
		return true
	}
	return false
}

// progress words the course of a turn. It remembers the plans of open turns, so
// that a task can be named by its detail.
type progress struct{ plans map[int64][]planTask }

func newProgress() *progress { return &progress{plans: map[int64][]planTask{}} }

// lines words an event, for people; none for what need not be told.
func (p *progress) lines(e channels.SessionEvent) []string {
	d := readData(e)
	switch e.Kind {
	case "plan":
		return p.plan(e.TurnID, d)
	case "task":
		return p.task(e.TurnID, d)
	case "review":
		if p.simple(e.TurnID) {
			return nil
		}
		line := fmt.Sprintf("  %d. review: %s", d.Position+1, oneLine(d.Status, detailWidth))
		if d.Reason != "" {
			line += ", " + oneLine(d.Reason, 4*detailWidth)
		}
		return []string{line}
	case "turn":
		if over(d.State) {
			delete(p.plans, e.TurnID)
		}
		if d.State == "failed" || d.State == "cancelled" {
			return []string{d.State + because(d.Outcome, d.State)}
		}
	}
	return nil
}

func (p *progress) plan(turn int64, d eventData) []string {
	p.plans[turn] = d.Tasks
	if d.Attempt == 0 && p.simple(turn) {
		return nil // a ready answer: nothing happens on the way to it
	}
	title := "plan: "
	if d.Attempt > 0 {
		title = fmt.Sprintf("plan %d: ", d.Attempt+1)
	}
	lines := []string{title + oneLine(d.Goal, 4*detailWidth)}
	for i, task := range d.Tasks {
		lines = append(lines, fmt.Sprintf("  %d. %s: %s", i+1, task.name(), oneLine(task.Detail, detailWidth)))
	}
	if more := d.Count - len(d.Tasks); more > 0 {
		lines = append(lines, fmt.Sprintf("  … and %d more", more))
	}
	return lines
}

// simple says whether a plan only speaks.
func (p *progress) simple(turn int64) bool {
	tasks, known := p.plans[turn]
	for _, t := range tasks {
		if t.Type != "msg" {
			return false
		}
	}
	return known && len(tasks) == 1
}

func (p *progress) task(turn int64, d eventData) []string {
	if d.State == "" || d.State == "pending" || p.simple(turn) {
		return nil
	}
	line := fmt.Sprintf("  %d. %s", d.Position+1, oneLine(d.State, detailWidth))
	if d.State == "running" {
		task := planTask{Type: d.Type, Detail: d.Detail}
		if tasks := p.plans[turn]; d.Position >= 0 && d.Position < len(tasks) {
			task = tasks[d.Position]
		}
		line += " " + task.name()
		if detail := cmp.Or(d.Detail, task.Detail); detail != "" {
			line += ": " + oneLine(detail, detailWidth)
		}
		return []string{line}
	}
	return []string{line + because(cmp.Or(d.Code, d.Outcome), d.State, "ok")}
}

func (t planTask) name() string {
	if t.Tool != "" {
		return oneLine(t.Tool, detailWidth)
	}
	return oneLine(cmp.Or(t.Type, "task"), detailWidth)
}

// because is outcome in parentheses, unless it says nothing new.
func because(outcome string, known ...string) string {
	for _, k := range append(known, "") {
		if outcome == k {
			return ""
		}
	}
	return " (" + oneLine(outcome, detailWidth) + ")"
}

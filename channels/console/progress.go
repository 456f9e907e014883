package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"switchboard/channels"
)

// detailWidth is how much of a task's detail is shown, in runes.
const detailWidth = 100

// planTask is one task of an event of kind plan.
type planTask struct {
	Type   string `json:"type"`
	Tool   string `json:"tool"`
	Detail string `json:"detail"`

	state string
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

// progress words the course of a turn: what it is after, each thing it did, and
// what went wrong. What only speaks is not told, since its answer is seen. It
// remembers the plans of open turns, so that a task can be named by its detail, and
// what is ahead be told.
type progress struct {
	plans                  map[int64][]planTask
	ok, failed, now, later string // how a task's line begins
}

// newProgress words with signs, or with words alone.
func newProgress(signs bool) *progress {
	p := &progress{plans: map[int64][]planTask{}, ok: "ok", failed: "failed", now: "now", later: "then"}
	if signs {
		p.ok, p.failed, p.now, p.later = "✓", "✗", "▸", "·"
	}
	return p
}

// lines words an event, for people; none for what need not be told.
func (p *progress) lines(e channels.SessionEvent) []string {
	d := readData(e)
	switch e.Kind {
	case "plan":
		return p.plan(e.TurnID, d)
	case "task":
		return p.task(e.TurnID, d)
	case "review":
		if d.Status == "replan" {
			return []string{"planning again: " + oneLine(d.Reason, 4*detailWidth)}
		}
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
	acts := d.Count > len(d.Tasks) || slices.ContainsFunc(d.Tasks, func(t planTask) bool { return t.Type != "msg" })
	if !acts {
		return nil
	}
	title := "goal: "
	if d.Attempt > 0 {
		title = "new plan: "
	}
	return []string{title + oneLine(d.Goal, 4*detailWidth)}
}

func (p *progress) task(turn int64, d eventData) []string {
	task := planTask{Type: d.Type}
	if tasks := p.plans[turn]; d.Position >= 0 && d.Position < len(tasks) {
		tasks[d.Position].state = d.State
		task = tasks[d.Position]
	}
	if task.Type == "msg" {
		return nil
	}
	line := fmt.Sprintf("%d. %s", d.Position+1, task.words())
	switch d.State {
	case "done":
		return []string{p.ok + " " + line}
	case "failed", "interrupted":
		return []string{p.failed + " " + line + ": " + oneLine(cmp.Or(d.Code, d.Outcome, d.State), detailWidth)}
	}
	return nil
}

// aheadMost is how many tasks are told that are not over.
const aheadMost = 6

// ahead words what open turns do now, and will do then.
func (p *progress) ahead() (lines []string) {
	for _, turn := range slices.Sorted(maps.Keys(p.plans)) {
		for i, task := range p.plans[turn] {
			sign := ""
			switch {
			case task.Type == "msg":
			case task.state == "running":
				sign = p.now
			case task.state == "" || task.state == "pending":
				sign = p.later
			}
			if sign != "" {
				lines = append(lines, fmt.Sprintf("%s %d. %s", sign, i+1, task.words()))
			}
		}
	}
	if more := len(lines) - aheadMost; more > 0 {
		lines = append(lines[:aheadMost], fmt.Sprintf("(%d more)", more))
	}
	return lines
}

// words says what a task does.
func (t planTask) words() string {
	name := cmp.Or(t.Tool, t.Type, "task")
	if t.Type == "exec" {
		name = "run a command"
	}
	if t.Detail == "" {
		return oneLine(name, detailWidth)
	}
	return oneLine(name, detailWidth) + ": " + oneLine(t.Detail, detailWidth)
}

// because is outcome in parentheses, unless it says nothing new.
func because(outcome, state string) string {
	if outcome == "" || outcome == state {
		return ""
	}
	return " (" + oneLine(outcome, detailWidth) + ")"
}

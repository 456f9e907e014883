package router

import (
	"slices"
	"strconv"
	"strings"
)

// An Explanation is a turn put in the order in which it was decided about.
type Explanation struct {
	TurnView               // without what stands below
	Asked    []MessageView `json:"asked"` // its message, then those merged into it
	Attempts []AttemptView `json:"attempts"`
	Said     []MessageView `json:"said"`
}

// An AttemptView is one plan with the model calls that it took.
type AttemptView struct {
	Attempt int        `json:"attempt"`
	Goal    string     `json:"goal"` // empty: no valid plan was made
	Calls   []CallView `json:"calls"`
	Steps   []StepView `json:"steps"`
}

// A StepView is a task with the model calls that it took.
type StepView struct {
	TaskView
	Calls []CallView `json:"calls"`
}

// Explanation puts what Turn read in order.
func (v *TurnView) Explanation() *Explanation {
	e := &Explanation{TurnView: *v, Asked: []MessageView{}, Attempts: []AttemptView{}, Said: []MessageView{}}
	e.Plans, e.Messages, e.LLM = nil, nil, nil
	for _, m := range v.Messages {
		switch {
		case m.Direction == "in":
			e.Asked = append(e.Asked, m)
		case m.Class == "say":
			e.Said = append(e.Said, m)
		}
	}
	for _, p := range v.Plans {
		a := e.attempt(p.Attempt)
		a.Goal = p.Goal
		for _, task := range p.Tasks {
			a.Steps = append(a.Steps, StepView{TaskView: task, Calls: []CallView{}})
		}
	}
	for _, c := range v.LLM {
		number, position := placeOf(c.Step)
		a := e.attempt(number)
		if strings.HasPrefix(c.Step, "plan.") || position >= len(a.Steps) {
			a.Calls = append(a.Calls, c)
		} else {
			a.Steps[position].Calls = append(a.Steps[position].Calls, c)
		}
	}
	return e
}

// attempt is the one of that number, made where it is not there: a call for a plan that
// never came to be makes an attempt without a goal.
func (e *Explanation) attempt(number int) *AttemptView {
	i := slices.IndexFunc(e.Attempts, func(a AttemptView) bool { return a.Attempt == number })
	if i < 0 {
		i = len(e.Attempts)
		e.Attempts = append(e.Attempts, AttemptView{Attempt: number, Calls: []CallView{}, Steps: []StepView{}})
	}
	return &e.Attempts[i]
}

// placeOf reads attempt and position out of a call's key, e.g. "review.0.2.1".
func placeOf(step string) (attempt, position int) {
	parts := strings.FieldsFunc(step, func(r rune) bool { return r == '.' || r == '~' || r == '+' })
	if len(parts) > 1 {
		attempt, _ = strconv.Atoi(parts[1])
	}
	if len(parts) > 2 {
		position, _ = strconv.Atoi(parts[2])
	}
	return attempt, position
}

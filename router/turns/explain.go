package turns

import (
	"slices"
	"strconv"
	"strings"
)

// An Explanation is a turn put in the order in which it was decided about.
type Explanation struct {
	Turn               // without what stands below
	Asked    []Message `json:"asked"` // its message, then those merged into it
	Attempts []Attempt `json:"attempts"`
	Said     []Message `json:"said"`
}

// An Attempt is one plan with the model calls that it took.
type Attempt struct {
	Attempt int    `json:"attempt"`
	Goal    string `json:"goal"` // empty: no valid plan was made
	Calls   []Call `json:"calls"`
	Steps   []Step `json:"steps"`
}

// A Step is a task with the model calls that it took.
type Step struct {
	Task
	Calls []Call `json:"calls"`
}

// Explanation puts what Turn read in order.
func (v *Turn) Explanation() *Explanation {
	e := &Explanation{Turn: *v, Asked: []Message{}, Attempts: []Attempt{}, Said: []Message{}}
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
			a.Steps = append(a.Steps, Step{Task: task, Calls: []Call{}})
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
func (e *Explanation) attempt(number int) *Attempt {
	i := slices.IndexFunc(e.Attempts, func(a Attempt) bool { return a.Attempt == number })
	if i < 0 {
		i = len(e.Attempts)
		e.Attempts = append(e.Attempts, Attempt{Attempt: number, Calls: []Call{}, Steps: []Step{}})
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

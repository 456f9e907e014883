package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"switchboard/agent/memory"
	"switchboard/agent/tools"
	"switchboard/internal/words"
)

// validate checks a plan of the right shape against the rules; a sentence a
// fault, each naming the task and the field.
func (p *planner) validate(plan Plan) []string {
	v := &validation{planner: p}
	if len(plan.Tasks) == 0 {
		return []string{"field tasks: the list is empty; a plan has at least one task"}
	}
	acts := slices.ContainsFunc(plan.Tasks, func(task Task) bool { return task.Type != TaskMsg })
	last := len(plan.Tasks) - 1
	for i, task := range plan.Tasks {
		v.task = i + 1
		switch task.Type {
		case TaskExec:
			v.fields(task)
			v.permitted("type", tools.ExecName, p.rights.execEffect(), task.Detail)
		case TaskTool:
			v.fields(task)
			v.tool(task)
		case TaskMsg:
			v.fields(task)
			v.answer(task, i == last, acts)
			v.choices(task.Choices)
		default:
			v.fault("type", "must be exec, msg or tool")
		}
	}
	open, asked := p.questions()
	if n := plan.Question; n != 0 && !slices.ContainsFunc(slices.Concat(open, asked), func(e memory.Entry) bool { return e.ID == n }) {
		v.faults = append(v.faults, fmt.Sprintf("field question: there is no question %d to be put, or that was put", n))
	}
	v.task = last + 1
	if plan.Tasks[last].Type != TaskMsg {
		v.fault("type", "the last task must be a msg, so that the person gets an answer")
	}
	return v.faults
}

// A validation collects the faults of one plan.
type validation struct {
	*planner
	task   int // from 1
	faults []string
}

func (v *validation) fault(field, format string, args ...any) {
	v.faults = append(v.faults, fmt.Sprintf("task %d, field %s: ", v.task, field)+fmt.Sprintf(format, args...))
}

// fields checks that the fields of other types are null.
func (v *validation) fields(task Task) {
	acts := task.Type != TaskMsg
	if acts && task.Expect == nil {
		v.fault("expect", "missing; every exec and tool task says what a good result looks like")
	}
	for _, field := range []struct {
		name      string
		set, fits bool
	}{
		{"tool", task.Tool != nil, task.Type == TaskTool},
		{"args", task.Args != nil, task.Type == TaskTool},
		{"answer", task.Answer != nil, !acts},
		{"choices", task.Choices != nil, !acts},
	} {
		if field.set && !field.fits {
			v.fault(field.name, "must be null on a task of type %s", task.Type)
		}
	}
	if !acts && task.Expect != nil {
		v.fault("expect", "must be null on a msg, which nobody reviews")
	}
}

// answer checks where ready text stands: it was written before anything was done.
func (v *validation) answer(task Task, last, acts bool) {
	switch {
	case task.Answer == nil:
	case !last:
		v.fault("answer", "must be null on every task but the last msg")
	case acts:
		v.fault("answer", "must be null in a plan with exec or tool tasks, whose results are not known yet")
	}
}

// Choices are buttons, and what a person may type.
const (
	maxChoices    = 10
	longestChoice = 64 // in characters
)

func (v *validation) choices(choices []string) {
	if len(choices) > 0 && v.turn.Limits.NoQuestions {
		v.fault("choices", "must be null: nobody is there to choose")
		return
	}
	if len(choices) > maxChoices {
		v.fault("choices", "%d choices, at most %d are allowed", len(choices), maxChoices)
		return
	}
	seen := map[string]int{}
	for i, choice := range choices {
		shown := shownAs(choice)
		switch n := utf8.RuneCountInString(choice); {
		case shown == "":
			v.fault("choices", "choice %d shows nothing that a person can read", i+1)
		case n > longestChoice:
			v.fault("choices", "choice %d has %d characters, at most %d are allowed", i+1, n, longestChoice)
		case seen[shown] > 0:
			v.fault("choices", "choice %d says the same as choice %d", i+1, seen[shown])
		}
		seen[shown] = i + 1
	}
}

// shownAs is what tells a choice from others where a person reads it, case aside; empty:
// there is nothing to be seen.
func shownAs(choice string) string {
	shown := strings.Join(strings.Fields(strings.ToLower(words.Visible(choice))), " ")
	if !strings.ContainsFunc(shown, func(r rune) bool { return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) }) {
		return ""
	}
	return shown
}

func (v *validation) tool(task Task) {
	if task.Args == nil {
		v.fault("args", "missing; write {} when the tool takes none")
	}
	if task.Tool == nil {
		v.fault("tool", "missing; name a permitted tool")
		return
	}
	tool, ok := v.rights.toolbox.Get(*task.Tool)
	if !ok {
		v.fault("tool", "there is no tool %q", clip(*task.Tool, 60))
		return
	}
	v.permitted("tool", tool.Name, tool.Effect, "")
	if task.Args == nil {
		return
	}
	if err := v.rights.toolbox.Check(tool.Name, json.RawMessage(*task.Args)); err != nil {
		v.fault("args", "%s", clip(err.Error(), 400))
	}
}

func (v *validation) permitted(field, name string, effect tools.Effect, command string) {
	if d := v.rights.decide(tools.Question{Tool: name, Effect: effect, Command: command}); d.Verdict == tools.Refuse {
		v.fault(field, "%s is not permitted here by the rule %s: %s", name, d.Rule, d.Reason)
	}
}

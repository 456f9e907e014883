package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"switchboard/agent/tools"
)

// A planner makes the plans of a turn.
type planner struct {
	*asker
	rights *rights
}

// plan returns the plan of that attempt: the recorded one, or a new one that
// passed validation. A new plan is staged and rides on its first task's commit.
func (p *planner) plan(ctx context.Context, attempt int) (*PlanRow, error) {
	if row := p.planRow(attempt); row != nil {
		return row, nil
	}
	var retry planRetry
	var plan Plan
	schema := &PlanSchema
	if open, asked := p.questions(); len(open)+len(asked) > 0 {
		schema = &askSchema
	}
	tries := 1 + p.cfg.MaxValidationRetries
	ok, err := p.askUntil(ctx, tries, question{
		step: fmt.Sprintf("plan.%d", attempt), heeds: p.heeded(attempt), role: rolePlanner, schema: schema,
		prompt:  func(size int) (string, string) { return p.prompts.plannerPrompt(attempt, retry, size) },
		partial: p.readyAnswer,
	}, func(call Call) (faults []string, ride bool, err error) {
		if holdsSecrets(call.Answer) {
			p.retract(ctx)
			return nil, false, p.refuseSecrets(ctx, call)
		}
		if plan, faults = p.readPlan(call); len(faults) == 0 {
			return nil, ready(plan), nil
		}
		p.retract(ctx)
		if d := p.rights.decide(tools.Question{}); d.Verdict != tools.Allow { // then every tool is a fault
			if err := p.keep(ctx, call, true); err != nil {
				return nil, false, err
			}
			return nil, false, p.unserved(ctx, d)
		}
		retry = planRetry{call.Answer, faults}
		return faults, false, nil
	})
	switch {
	case err != nil:
		return nil, err
	case ok:
		return p.adopt(ctx, attempt, plan)
	}
	return nil, failure("invalid_plan", fmt.Sprintf("I could not work out a valid plan for this, after %d tries. "+
		"Asking in another way may help; if it happens often, the language model is not up to it and another one should be set.", tries))
}

// A planRetry is what was wrong with the try before; zero at the first.
type planRetry struct {
	answer string
	faults []string
}

// readPlan reads a planner's answer: the plan, or what is wrong with it, a sentence a fault.
func (p *planner) readPlan(call Call) (Plan, []string) {
	plan, faults := parsePlan(call.Answer, p.cfg.MaxPlanTasks, p.cfg.Lenient)
	if len(faults) > 0 && p.isProse(call) {
		plan, faults = prosePlan(call.Answer), nil
	}
	if len(faults) == 0 {
		faults = p.validate(plan)
	}
	return plan, faults
}

// adopt makes the plan rows. A strategy that failed before ends the turn.
func (p *planner) adopt(ctx context.Context, attempt int, plan Plan) (*PlanRow, error) {
	row := PlanRow{Attempt: attempt, Goal: plan.Goal, Tasks: make([]TaskRow, len(plan.Tasks))}
	for i, task := range plan.Tasks {
		row.Tasks[i] = TaskRow{Task: task, Position: i, State: TaskPending}
	}
	row.Question = plan.Question
	_, asked := p.questions()
	for _, q := range asked {
		if said := p.ownWords(); q.ID == plan.Question {
			row.Answer = fmt.Sprintf("Asked “%s”, %s answered: %s", q.Text, p.turn.Person.Name, p.mask.Text(tidy(clip(strings.TrimSpace(said), 1500))))
		}
	}
	repeated := p.tried(row.Tasks)
	if err := p.stage(ctx, Step{Plan: &row}); err != nil {
		return nil, err
	}
	if repeated {
		return nil, p.giveUp("repeated_strategy", "the next plan was one that had failed already")
	}
	return p.planRow(attempt), nil
}

// ready says that the plan is one message with its text: answer, plan, task,
// message and the turn's end are then one commit.
func ready(plan Plan) bool {
	return len(plan.Tasks) == 1 && plan.Tasks[0].Answer != nil
}

// readyAnswer is the partial of a planner. Of its plan the person sees the ready
// answer of the only task, and that only when all before it has passed validation:
// what stands behind it can then be no more than the ends of the plan, or a fault.
func (p *planner) readyAnswer() partial {
	scan := &answerScan{accept: func(plan string) bool {
		// Read strictly, a plan with secrets is at fault.
		parsed, faults := parsePlan(plan, p.cfg.MaxPlanTasks, false)
		return len(faults) == 0 && ready(parsed) && len(p.validate(parsed)) == 0
	}}
	return scan.read
}

// isProse says that a planner's answer is words for the person in place of a plan: it ended by
// itself, and nothing in it may have been meant as a plan or as the use of a tool.
func (p *planner) isProse(call Call) bool {
	text := strings.TrimSpace(call.Answer)
	switch call.Finish {
	case "", "length", "content_filter", "tool_calls", "function_call":
		return false
	}
	if strings.ContainsAny(text, "{}") || strings.Contains(text, "```") {
		return false
	}
	if text == "" || text == "null" || strings.ContainsAny(text[:1], `["`) && json.Valid([]byte(text)) {
		return false
	}
	families := map[string]bool{}
	for _, tool := range p.rights.toolbox.All() {
		if family, _, dotted := strings.Cut(tool.Name, "."); dotted {
			families[family] = true
		}
	}
	for _, name := range dottedName.FindAllStringSubmatch(text, -1) {
		if families[name[1]] {
			return false
		}
	}
	return true
}

// dottedName is what the name of a tool such as schedule.add looks like.
var dottedName = regexp.MustCompile(`\b([a-z][a-z0-9_]*)\.[a-z]`)

// prosePlan is the plan that says a text as it is.
func prosePlan(text string) Plan {
	text = strings.TrimSpace(text)
	return Plan{Goal: "Answer in words.", Tasks: []Task{{Type: TaskMsg, Detail: "Answer.", Answer: &text}}}
}

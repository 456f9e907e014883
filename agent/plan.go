package agent

import (
	"context"
	"fmt"
	"strings"

	"switchboard/agent/tools"
)

// plan returns the plan of that attempt: the recorded one, or a new one that
// passed validation. A new plan is staged and rides on its first task's commit.
func (r *run) plan(ctx context.Context, attempt int) (*PlanRow, error) {
	if row := r.planRow(attempt); row != nil {
		return row, nil
	}
	var retry planRetry
	for try := 1; try <= 1+r.cfg.MaxValidationRetries; try++ {
		if err := r.halted(ctx); err != nil {
			return nil, err
		}
		call, err := r.ask(ctx, question{
			step: r.planStep(attempt, try), role: rolePlanner, model: r.modelOf(rolePlanner),
			schema:  &PlanSchema,
			prompt:  func(size int) (string, string) { return r.plannerPrompt(attempt, retry, size) },
			partial: r.readyAnswer,
		})
		if err != nil {
			return nil, err
		}
		if holdsSecrets(call.Answer) {
			r.takeBack(ctx)
			return nil, r.refuseSecrets(ctx, call)
		}
		plan, faults := r.readPlan(call)
		if len(faults) > 0 {
			r.takeBack(ctx)
			if d := r.decide(tools.Question{}); d.Verdict != tools.Allow { // then every tool is a fault
				if err := r.record(ctx, call, true); err != nil {
					return nil, err
				}
				return nil, r.unserved(ctx, d)
			}
			call.Refused = refusal(faults)
		}
		if err := r.record(ctx, call, len(faults) == 0 && ready(plan)); err != nil {
			return nil, err
		}
		if len(faults) == 0 {
			return r.adopt(ctx, attempt, plan)
		}
		r.log.WarnContext(ctx, "plan has faults", "attempt", attempt, "try", try, "faults", call.Refused)
		retry = planRetry{answer: call.Answer, faults: faults}
	}
	return nil, &ending{
		state: "failed", outcome: "invalid_plan",
		text: fmt.Sprintf("I could not work out a valid plan for this, after %d tries. Asking in another way may help; if it happens often, the language model is not up to it and another one should be set.", 1+r.cfg.MaxValidationRetries),
	}
}

// readPlan reads a planner's answer: the plan, or what is wrong with it, a sentence a fault.
func (r *run) readPlan(call Call) (Plan, []string) {
	plan, faults := parsePlan(call.Answer, r.cfg.MaxPlanTasks, r.cfg.Lenient)
	if len(faults) > 0 && r.isProse(call) {
		plan, faults = prosePlan(call.Answer), nil
	}
	if len(faults) == 0 {
		faults = r.validate(plan)
	}
	return plan, faults
}

// A planRetry is what was wrong with the try before; zero at the first.
type planRetry struct {
	answer string
	faults []string
}

// refusal is what a call's row says of an answer with faults.
func refusal(faults []string) string { return clip(strings.Join(faults, "; "), 500) }

// ready says that the plan is one message with its text: answer, plan, task,
// message and the turn's end are then one commit.
func ready(plan Plan) bool {
	return len(plan.Tasks) == 1 && plan.Tasks[0].Answer != nil
}

// record makes sure that an answer is committed before anything follows from it.
// With ride it is only staged: all that follows is in the same commit.
func (r *run) record(ctx context.Context, call Call, ride bool) error {
	if r.answered(call.Step) {
		return nil
	}
	step := Step{Calls: []Call{call}}
	if ride {
		return r.stage(ctx, step)
	}
	return r.commit(ctx, step)
}

// refuseSecrets ends the turn in one commit that holds nothing of the answer.
func (r *run) refuseSecrets(ctx context.Context, call Call) error {
	if !r.answered(call.Step) {
		if err := r.stage(ctx, Step{Calls: []Call{blank(call)}, Redact: r.secretsIn(call.Answer)}); err != nil {
			return err
		}
	}
	return secretsRefused()
}

// adopt makes the plan rows. A strategy that failed before ends the turn.
func (r *run) adopt(ctx context.Context, attempt int, plan Plan) (*PlanRow, error) {
	repeated := r.tried(plan)
	row := PlanRow{Attempt: attempt, Goal: plan.Goal, Tasks: make([]TaskRow, len(plan.Tasks))}
	for i, task := range plan.Tasks {
		row.Tasks[i] = TaskRow{Task: task, Position: i, State: TaskPending}
	}
	if err := r.stage(ctx, Step{Plan: &row}); err != nil {
		return nil, err
	}
	if repeated {
		return nil, r.giveUp("repeated_strategy", "the next plan was one that had failed already")
	}
	return r.planRow(attempt), nil
}

package turns

import (
	"encoding/json"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/store/database"
)

// loadPlans reads plans with their tasks and verdicts; a plan without tasks is
// one row with NULLs.
const loadPlans = `
	SELECT p.attempt, p.goal, p.secrets, t.position, t.type, t.detail, t.tool, t.args, t.expect, t.choices, t.answer,
		t.state, t.has_result, t.outcome, t.output, t.code, t.rule, t.hint, t.taint,
		r.status, r.reason, r.learn, r.taint AS review_taint
	FROM plans p LEFT JOIN tasks t ON t.turn_id = p.turn_id AND t.attempt = p.attempt
	LEFT JOIN reviews r ON r.turn_id = t.turn_id AND r.attempt = t.attempt AND r.position = t.position
	WHERE p.turn_id = ? ORDER BY p.attempt, t.position`

type planTask struct {
	Attempt                                                                                                                                int
	Goal, Secrets                                                                                                                          string
	Position                                                                                                                               *int
	Type, Detail, Tool, Args, Expect, Choices, Answer, State, Outcome, Output, Code, Rule, Hint, Taint, Status, Reason, Learn, ReviewTaint *string
	HasResult                                                                                                                              *bool
}

func plansOf(t *database.Tx, turn int64) ([]agent.PlanRow, error) {
	var rows []planTask
	if err := t.All(&rows, loadPlans, turn); err != nil {
		return nil, err
	}
	var plans []agent.PlanRow
	for i := range rows {
		r := &rows[i]
		if len(plans) == 0 || plans[len(plans)-1].Attempt != r.Attempt {
			p := agent.PlanRow{Attempt: r.Attempt, Goal: r.Goal}
			if err := json.Unmarshal([]byte(r.Secrets), &p.Secrets); err != nil {
				return nil, err
			}
			if len(p.Secrets) == 0 {
				p.Secrets = nil
			}
			plans = append(plans, p)
		}
		if r.Position == nil {
			continue
		}
		task, err := r.task()
		if err != nil {
			return nil, err
		}
		p := &plans[len(plans)-1]
		p.Tasks = append(p.Tasks, task)
	}
	return plans, nil
}

func (r *planTask) task() (agent.TaskRow, error) {
	choices, err := database.ParseList(r.Choices)
	if err != nil {
		return agent.TaskRow{}, err
	}
	row := agent.TaskRow{
		Task: agent.Task{
			Type: agent.TaskType(*r.Type), Detail: *r.Detail, Tool: r.Tool, Args: r.Args, Expect: r.Expect,
			Choices: choices, Answer: r.Answer,
		},
		Position: *r.Position,
		State:    agent.TaskState(*r.State),
	}
	if *r.HasResult {
		row.Result = &tools.Result{
			End: tools.End(*r.Outcome), Output: *r.Output, Code: *r.Code, Rule: *r.Rule, Hint: *r.Hint, Taint: tools.Taint(*r.Taint),
		}
	}
	if r.Status != nil {
		row.Review = &agent.Review{
			Attempt: r.Attempt, Position: *r.Position, Status: *r.Status, Reason: *r.Reason, Learn: *r.Learn,
			Taint: tools.Taint(*r.ReviewTaint),
		}
	}
	return row, nil
}

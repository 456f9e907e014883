package turns

import (
	"switchboard/agent"
	"switchboard/store/database"
)

// loadPlans reads plans with their tasks and verdicts; a plan without tasks is
// one row without any.
const loadPlans = `
	SELECT p.attempt, p.goal, p.secrets, t.position IS NOT NULL AS planned, coalesce(t.position, 0) AS position, coalesce(t.type, '') AS type,
		coalesce(t.detail, '') AS detail, t.tool, t.args, t.expect, t.choices, t.answer, coalesce(t.state, '') AS state,
		coalesce(t.has_result, FALSE) AS has_result, coalesce(t.outcome, '') AS "result.end", coalesce(t.output, '') AS "result.output",
		coalesce(t.code, '') AS "result.code", coalesce(t.rule, '') AS "result.rule", coalesce(t.hint, '') AS "result.hint", coalesce(t.taint, '') AS "result.taint",
		r.status IS NOT NULL AS reviewed, coalesce(r.status, '') AS "review.status", coalesce(r.reason, '') AS "review.reason",
		coalesce(r.learn, '') AS "review.learn", coalesce(r.taint, '') AS "review.taint"
	FROM plans p LEFT JOIN tasks t ON t.turn_id = p.turn_id AND t.attempt = p.attempt
	LEFT JOIN reviews r ON r.turn_id = t.turn_id AND r.attempt = t.attempt AND r.position = t.position
	WHERE p.turn_id = ? ORDER BY p.attempt, t.position`

type planTask struct {
	agent.TaskRow
	Attempt                      int
	Goal                         string
	Secrets                      []string
	Planned, HasResult, Reviewed bool // what there is of the row
}

func plansOf(t *database.Tx, turn int64) (plans []agent.PlanRow, err error) {
	rows, err := database.Select[planTask](t, loadPlans, turn)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if len(plans) == 0 || plans[len(plans)-1].Attempt != r.Attempt {
			p := agent.PlanRow{Attempt: r.Attempt, Goal: r.Goal}
			if len(r.Secrets) > 0 {
				p.Secrets = r.Secrets
			}
			plans = append(plans, p)
		}
		if !r.Planned {
			continue
		}
		if !r.HasResult {
			r.Result = nil
		}
		if r.Review.Attempt, r.Review.Position = r.Attempt, r.Position; !r.Reviewed {
			r.Review = nil
		}
		p := &plans[len(plans)-1]
		p.Tasks = append(p.Tasks, r.TaskRow)
	}
	return plans, nil
}

package store

import (
	"encoding/json"

	"switchboard/agent"
	"switchboard/router"
)

func planView(p agent.PlanRow) router.PlanView {
	v := router.PlanView{Attempt: p.Attempt, Goal: p.Goal, Tasks: []router.TaskView{}}
	for _, t := range p.Tasks {
		task := router.TaskView{
			Position: t.Position, Type: string(t.Type), Detail: t.Detail, Tool: orEmpty(t.Tool), Args: orEmpty(t.Args),
			Expect: orEmpty(t.Expect), State: string(t.State),
		}
		if r := t.Result; r != nil {
			task.Outcome, task.Output, task.Taint = string(r.End), r.Output, string(r.Taint)
			if r.Code != "" {
				task.Outcome += " " + r.Code
			}
		}
		if r := t.Review; r != nil {
			task.Review = &router.ReviewView{Status: r.Status, Reason: r.Reason, Learn: r.Learn}
		}
		v.Tasks = append(v.Tasks, task)
	}
	return v
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// jsonOrText is a body as JSON: itself when it is valid, a string of it when not.
func jsonOrText(b []byte) json.RawMessage {
	if len(b) == 0 {
		return nil
	}
	if json.Valid(b) {
		return b
	}
	return json.RawMessage(jsonText(clean(string(b))))
}

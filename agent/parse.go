package agent

import (
	"bytes"
	"embed"
	"fmt"
	"strings"

	"switchboard/agent/form"
	"switchboard/agent/llm"
)

//go:embed schemas/*.json
var schemas embed.FS

// PlanSchema is the strict schema of a planner's answer.
var PlanSchema = schema("plan")

// askSchema is PlanSchema where a question may be put or answered.
var askSchema = llm.Schema{Name: PlanSchema.Name, JSON: []byte(strings.NewReplacer(
	`"tasks": {`, `"question": {"type": ["integer", "null"], "description": "number of the question that is put, or answered; otherwise null"},
    "tasks": {`,
	`"secrets", "tasks"]`, `"secrets", "question", "tasks"]`).Replace(string(PlanSchema.JSON)))}

// ReviewSchema is the strict schema of a reviewer's answer.
var ReviewSchema = schema("review")

func schema(name string) llm.Schema {
	text, _ := schemas.ReadFile("schemas/" + name + ".json") // it is there: nothing runs without it
	return llm.Schema{Name: name, JSON: bytes.TrimSpace(text)}
}

// A verdict is a reviewer's answer in the schema's own shape.
type verdict struct {
	status, reason, learn string
}

// parsePlan reads a planner's answer: the plan, or what is wrong with its shape,
// a sentence a fault. lenient takes fields that are not as the schema says: absent
// or added ones, args as an object.
func parsePlan(answer string, maxTasks int, lenient bool) (Plan, []string) {
	f := &form.Fields{Lenient: lenient, May: []string{"question"}}
	if !f.Open(answer, "goal", "secrets", "question", "tasks") {
		return Plan{}, f.Faults
	}
	plan := Plan{Goal: f.Text("goal"), Question: f.Number("question")}
	if !f.Empty("secrets") {
		f.Fault("secrets", "must be null")
	}
	tasks := f.List("tasks", "tasks")
	// Alone and before the tasks are looked at: this answer may be huge.
	if len(tasks) > maxTasks {
		return Plan{}, []string{fmt.Sprintf("field tasks: %d tasks, at most %d are allowed", len(tasks), maxTasks)}
	}
	for i, raw := range tasks {
		t := &form.Fields{Lenient: lenient, Where: fmt.Sprintf("task %d, ", i+1)}
		if t.Open(string(raw), "type", "detail", "tool", "args", "expect", "choices", "answer") {
			plan.Tasks = append(plan.Tasks, Task{
				Type: TaskType(t.Text("type")), Detail: t.Text("detail"),
				Tool: t.Optional("tool"), Args: t.Optional("args"), Expect: t.Optional("expect"),
				Choices: t.Texts("choices", "choice"), Answer: t.Optional("answer"),
			})
		}
		f.Faults = append(f.Faults, t.Faults...)
	}
	return plan, f.Faults
}

// parseVerdict reads a reviewer's answer, or says what is wrong with it. A replan
// without a reason is a fault.
func parseVerdict(answer string, lenient bool) (verdict, []string) {
	f := &form.Fields{Lenient: lenient}
	if !f.Open(answer, "status", "reason", "learn") {
		return verdict{}, f.Faults
	}
	v := verdict{status: f.Text("status"), reason: deref(f.Optional("reason")), learn: deref(f.Optional("learn"))}
	if v.status != "ok" && v.status != "replan" {
		f.Fault("status", `must be "ok" or "replan"`)
	}
	if v.status == "replan" && v.reason == "" {
		f.Fault("reason", "missing; a replan must say why")
	}
	return v, f.Faults
}

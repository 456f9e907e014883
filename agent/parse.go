package agent

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"switchboard/agent/llm"
)

//go:embed schemas/*.json
var schemas embed.FS

// PlanSchema is the strict schema of a planner's answer.
var PlanSchema = schema("plan")

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
	f := &fields{lenient: lenient}
	if !f.open(answer, "goal", "secrets", "tasks") {
		return Plan{}, f.faults
	}
	plan := Plan{Goal: f.text("goal")}
	if raw := f.values["secrets"]; !emptyList(raw) {
		f.fault("secrets", "must be null")
	}
	var tasks []json.RawMessage
	if raw, there := f.values["tasks"]; there && (isNull(raw) || json.Unmarshal(raw, &tasks) != nil) {
		f.fault("tasks", "must be a list of tasks")
	}
	// Alone and before the tasks are looked at: this answer may be huge.
	if len(tasks) > maxTasks {
		return Plan{}, []string{fmt.Sprintf("field tasks: %d tasks, at most %d are allowed", len(tasks), maxTasks)}
	}
	for i, raw := range tasks {
		t := &fields{lenient: lenient, where: fmt.Sprintf("task %d, ", i+1)}
		if t.open(string(raw), "type", "detail", "tool", "args", "expect", "choices", "answer") {
			plan.Tasks = append(plan.Tasks, Task{
				Type: TaskType(t.text("type")), Detail: t.text("detail"),
				Tool: t.optional("tool"), Args: t.optional("args"), Expect: t.optional("expect"),
				Choices: t.list("choices"), Answer: t.optional("answer"),
			})
		}
		f.faults = append(f.faults, t.faults...)
	}
	return plan, f.faults
}

// parseVerdict reads a reviewer's answer, or says what is wrong with it. A replan
// without a reason is a fault.
func parseVerdict(answer string, lenient bool) (verdict, []string) {
	f := &fields{lenient: lenient}
	if !f.open(answer, "status", "reason", "learn") {
		return verdict{}, f.faults
	}
	v := verdict{status: f.text("status"), reason: deref(f.optional("reason")), learn: deref(f.optional("learn"))}
	if v.status != "ok" && v.status != "replan" {
		f.fault("status", `must be "ok" or "replan"`)
	}
	if v.status == "replan" && v.reason == "" {
		f.fault("reason", "missing; a replan must say why")
	}
	return v, f.faults
}

// fields reads one JSON object field by field and collects what is wrong.
type fields struct {
	lenient bool
	where   string // "task 2, "
	values  map[string]json.RawMessage
	faults  []string
}

func (f *fields) fault(field, format string, args ...any) {
	f.faults = append(f.faults, f.where+"field "+field+": "+fmt.Sprintf(format, args...))
}

// open decodes the object and checks that it has these keys and no others.
func (f *fields) open(text string, keys ...string) bool {
	text = strings.TrimSpace(text)
	if text == "" {
		f.faults = append(f.faults, f.where+"the answer is empty; write one JSON object of the schema")
		return false
	}
	if text[0] != '{' || !json.Valid([]byte(text)) {
		f.faults = append(f.faults, f.where+"the answer is not one complete JSON object; write nothing but the JSON of the schema, to its end")
		return false
	}
	f.values = map[string]json.RawMessage{}
	again := ""
	in := json.NewDecoder(strings.NewReader(text))
	_, _ = in.Token() // nothing fails: the text is valid
	for in.More() {
		var value json.RawMessage
		key, _ := in.Token()
		_ = in.Decode(&value)
		name, _ := key.(string)
		if former, there := f.values[name]; there && !bytes.Equal(former, value) {
			again = name
		}
		f.values[name] = value
	}
	if again != "" {
		f.fault(clip(again, 40), "stands there twice, and nobody can say which is meant; write it once")
		return false
	}
	if f.lenient {
		return true
	}
	for _, key := range keys {
		if _, ok := f.values[key]; !ok {
			f.fault(key, "missing; every field of the schema must be there, null when unused")
		}
	}
	for key := range f.values {
		if !slices.Contains(keys, key) {
			f.fault(clip(key, 40), "unknown; the schema has no such field")
		}
	}
	slices.Sort(f.faults) // map order is random
	return true
}

// text is a field that must hold words.
func (f *fields) text(name string) string {
	value := f.optional(name)
	if value == nil {
		if _, there := f.values[name]; there || f.lenient {
			f.fault(name, "must be text")
		}
		return ""
	}
	return *value
}

// optional is a text, or nil for null, blank and absent.
func (f *fields) optional(name string) *string {
	raw := f.values[name]
	if isNull(raw) {
		return nil
	}
	var value string
	if err := json.Unmarshal(raw, &value); err != nil {
		if f.lenient && name == "args" {
			value = string(raw)
		} else {
			f.fault(name, "must be text or null")
			return nil
		}
	}
	value = tidy(value)
	if strings.TrimSpace(value) == "" {
		return nil
	}
	return &value
}

// list is a list of texts; nil for null, empty and absent.
func (f *fields) list(name string) []string {
	raw := f.values[name]
	if emptyList(raw) {
		return nil
	}
	var values []string
	if err := json.Unmarshal(raw, &values); err != nil {
		f.fault(name, "must be a list of texts or null")
		return nil
	}
	for i, value := range values {
		values[i] = strings.TrimSpace(tidy(value))
		if values[i] == "" {
			f.fault(name, "choice %d is blank", i+1)
		}
	}
	return values
}

func isNull(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null"
}

func emptyList(raw json.RawMessage) bool {
	if isNull(raw) {
		return true
	}
	var list []json.RawMessage
	return json.Unmarshal(raw, &list) == nil && len(list) == 0
}

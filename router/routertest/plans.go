package routertest

import (
	"context"
	"encoding/json"
	"maps"
	"strings"

	"switchboard/agent/tools"
)

// Section is what stands below a heading of a prompt.
func Section(prompt, title string) string {
	_, rest, _ := strings.Cut("\n"+prompt, "\n## "+title+"\n")
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// shorthand are tools by the word that a case has for them, and the names of the arguments
// that follow it; the last one has the rest of the line.
var shorthand = map[string]struct {
	tool string
	args []string
	more map[string]any
}{
	"get":     {"http.get", []string{"url"}, map[string]any{"max_bytes": nil}},
	"list":    {"workspace.list", []string{"path"}, map[string]any{"depth": nil}},
	"read":    {"workspace.read", []string{"path"}, map[string]any{"first_line": nil, "last_line": nil}},
	"write":   {"workspace.write", []string{"path", "content"}, map[string]any{"mode": "replace"}},
	"remove":  {"workspace.remove", []string{"path"}, nil},
	"open":    {"attachment.read", []string{"id"}, map[string]any{"offset": nil, "limit": nil}},
	"save":    {"attachment.save", []string{"id", "path"}, map[string]any{"mode": "replace"}},
	"publish": {"workspace.publish", []string{"path"}, nil},
	"tell":    {"message.send", []string{"to", "text"}, nil},
}

// Use is a tool task of a line: a word of shorthand and what it takes, or the tool's own name
// and its arguments.
func Use(line string) map[string]any {
	name, args, _ := strings.Cut(line, " ")
	if short, ok := shorthand[name]; ok {
		values := maps.Clone(short.more)
		if values == nil {
			values = map[string]any{}
		}
		for i, value := range strings.SplitN(args, " ", len(short.args)) {
			values[short.args[i]] = value
		}
		data, err := json.Marshal(values)
		if err != nil {
			panic(err) // strings always encode
		}
		name, args = short.tool, string(data)
	}
	call := Task("tool", "use it", "")
	call["tool"], call["args"], call["expect"] = name, args, "it went well"
	return call
}

// Anything is a gate that allows everything.
type Anything struct{}

// Decide implements agent.Gate.
func (Anything) Decide(tools.Question) tools.Decision {
	return tools.Decision{Verdict: tools.Allow, Rule: "test"}
}

// Confirm implements agent.Gate.
func (Anything) Confirm(_ context.Context, _ tools.Question, d tools.Decision) tools.Decision {
	return d
}

// Task is a task of a plan as a planner writes it.
func Task(kind, detail, answer string) map[string]any {
	t := map[string]any{"type": kind, "detail": detail, "tool": nil, "args": nil, "expect": nil, "choices": nil, "answer": nil}
	if kind == "exec" {
		t["expect"] = "it went well"
	}
	if answer != "" {
		t["answer"] = answer
	}
	return t
}

// Plan is a plan as a planner writes it.
func Plan(goal string, tasks ...map[string]any) string {
	data, err := json.Marshal(map[string]any{"goal": goal, "secrets": []any{}, "tasks": tasks})
	if err != nil {
		panic(err) // strings and maps always encode
	}
	return string(data)
}

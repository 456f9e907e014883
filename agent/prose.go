package agent

import (
	"encoding/json"
	"regexp"
	"strings"
)

// isProse says that a planner's answer is words for the person in place of a plan: it ended by
// itself, and nothing in it may have been meant as a plan or as the use of a tool.
func (r *run) isProse(call Call) bool {
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
	for _, tool := range r.toolbox.All() {
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

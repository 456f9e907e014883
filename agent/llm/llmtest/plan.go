package llmtest

// A Task is one task of a plan, in the wire's shape; unused fields are nil.
type Task struct {
	Type    string   `json:"type"`
	Detail  string   `json:"detail"`
	Tool    *string  `json:"tool"`
	Args    *string  `json:"args"`
	Expect  *string  `json:"expect"`
	Choices []string `json:"choices"`
	Answer  *string  `json:"answer"`
}

// Plan is the text of a plan.
func Plan(goal string, tasks ...Task) string {
	if tasks == nil {
		tasks = []Task{}
	}
	return string(mustJSON(map[string]any{"goal": goal, "secrets": nil, "tasks": tasks}))
}

// SecretPlan is a plan with the key and value of a credential.
func SecretPlan(goal, key, value string, tasks ...Task) string {
	secrets := []any{map[string]any{"key": key, "value": value}}
	return string(mustJSON(map[string]any{"goal": goal, "secrets": secrets, "tasks": tasks}))
}

// Msg is a msg task that the worker writes.
func Msg(detail string) Task { return Task{Type: "msg", Detail: detail} }

// Answer is a msg task with a ready text.
func Answer(text string) Task { return Task{Type: "msg", Detail: "Answer.", Answer: &text} }

// Ask is a msg task with a ready question and choices.
func Ask(question string, choices ...string) Task {
	return Task{Type: "msg", Detail: "Ask.", Answer: &question, Choices: choices}
}

// Exec is an exec task: command goes to the shell.
func Exec(command, expect string) Task {
	return Task{Type: "exec", Detail: command, Expect: &expect}
}

// Tool is a tool task; args are marshalled.
func Tool(name string, args any, expect string) Task {
	text := string(mustJSON(args))
	return Task{Type: "tool", Detail: "Use " + name + ".", Tool: &name, Args: &text, Expect: &expect}
}

// ReviewOK is the text of the verdict ok.
func ReviewOK() string { return review("ok", nil, nil) }

// Learned is the verdict ok with something learned.
func Learned(learn string) string { return review("ok", nil, &learn) }

// Replan is the text of the verdict replan; an empty reason is null, which is a
// fault.
func Replan(reason string) string {
	if reason == "" {
		return review("replan", nil, nil)
	}
	return review("replan", &reason, nil)
}

func review(status string, reason, learn *string) string {
	return string(mustJSON(map[string]any{"status": status, "reason": reason, "learn": learn}))
}

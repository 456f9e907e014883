package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"switchboard/agent/llm/llmtest"
	"switchboard/agent/tools"
)

func TestSchemasAreStrict(t *testing.T) {
	t.Parallel()
	if err := llmtest.CheckSchema(PlanSchema.Name, true, PlanSchema.JSON); err != nil {
		t.Errorf("plan: %v", err)
	}
	if err := llmtest.CheckSchema(askSchema.Name, true, askSchema.JSON); err != nil || !strings.Contains(string(askSchema.JSON), `"question"`) {
		t.Errorf("plan with a question: %v", err)
	}
	if err := llmtest.CheckSchema(ReviewSchema.Name, true, ReviewSchema.JSON); err != nil {
		t.Errorf("review: %v", err)
	}
}

// newRunFor is a run that has done nothing yet.
func newRunFor(w *world) *run {
	return newRun(w.agent(), w.turn, w.journal, &w.journal.context)
}

// faultsOf are the faults of an answer, by shape and by rules.
func faultsOf(r *run, answer string) (Plan, []string) {
	plan, faults := parsePlan(answer, r.cfg.MaxPlanTasks, r.cfg.Lenient)
	if len(faults) == 0 {
		faults = r.planner.validate(plan)
	}
	return plan, faults
}

func TestEachFaultOfAPlanIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.decide = func(q tools.Question) tools.Decision {
		switch q.Tool {
		case "post":
			return tools.Decision{Verdict: tools.Refuse, Rule: "channel.tools_deny", Reason: "no posting here"}
		case "fetch":
			return tools.Decision{Verdict: tools.Ask, Rule: "taint", Reason: "somebody must agree"}
		}
		return tools.Decision{Verdict: tools.Allow}
	}
	r := newRunFor(w)
	end := msgTask("tell")
	with := func(task Task, change func(*Task)) Task {
		change(&task)
		return task
	}
	for _, tc := range []struct {
		name   string
		answer string
		want   []string // the beginning of each fault; none: the plan is valid
	}{
		{"fine", planText(execTask("ls"), toolTask("look", "a"), msgTask("between"), end), nil},
		{"ready answer", planText(answerTask("yes")), nil},
		{"ready answer after a msg", planText(end, answerTask("yes")), nil},
		{"blank is null", `{"goal":"g","secrets":[],"tasks":[{"type":"msg","detail":"d","tool":"","args":"","expect":" ","choices":[],"answer":""}]}`, nil},
		{"empty answer", "  ", []string{"the answer is empty"}},
		{"no JSON", "I will do that.", []string{"the answer is not one complete JSON object"}},
		{"cut off", planText(end)[:40], []string{"the answer is not one complete JSON object"}},
		{"null", "null", []string{"the answer is not one complete JSON object"}},
		{"two objects", planText(end) + planText(end), []string{"the answer is not one complete JSON object"}},
		{"a field twice", `{"tasks":[],` + planText(end)[1:], []string{"field tasks: stands there twice"}},
		{"a field twice, the same", `{"secrets":null,` + planText(end)[1:], nil},
		{"in a code fence", "```json\n" + planText(end) + "\n```", []string{"the answer is not one complete JSON object"}},
		{"no tasks", planText(), []string{"field tasks: the list is empty"}},
		{"tasks no list", `{"goal":"g","secrets":null,"tasks":{}}`, []string{"field tasks: must be a list"}},
		{"task no object", `{"goal":"g","secrets":null,"tasks":["ls"]}`, []string{"task 1, the answer is not one"}},
		{"missing and unknown keys", `{"goal":"g","tasks":[],"extra":1}`, []string{"field extra: unknown", "field secrets: missing"}},
		{"blank goal", `{"goal":" ","secrets":null,"tasks":[]}`, []string{"field goal: must be text"}},
		{"last is no msg", planText(execTask("ls")), []string{"task 1, field type: the last task must be a msg"}},
		{"expect missing on exec", planText(with(execTask("ls"), func(t *Task) { t.Expect = nil }), end), []string{"task 1, field expect: missing"}},
		{"expect missing on tool", planText(with(toolTask("look", "a"), func(t *Task) { t.Expect = nil }), end), []string{"task 1, field expect: missing"}},
		{"expect on msg", planText(with(end, func(t *Task) { t.Expect = ptr("x") })), []string{"task 1, field expect: must be null"}},
		{"answer not on the last", planText(answerTask("a"), end), []string{"task 1, field answer: must be null on every task but the last"}},
		{"answer on exec", planText(with(execTask("ls"), func(t *Task) { t.Answer = ptr("x") }), end), []string{"task 1, field answer: must be null"}},
		{"answer before results", planText(execTask("ls"), answerTask("a")), []string{"task 2, field answer: must be null in a plan with exec or tool"}},
		{"choices on exec", planText(with(execTask("ls"), func(t *Task) { t.Choices = []string{"a"} }), end), []string{"task 1, field choices: must be null"}},
		{"blank choice", planText(with(end, func(t *Task) { t.Choices = []string{"a", " "} })), []string{"task 1, field choices: choice 2 is blank"}},
		{"ten choices", planText(with(end, func(t *Task) { t.Choices = strings.Split("1 2 3 4 5 6 7 8 9 👩‍👧", " ") })), nil},
		{"too many choices", planText(with(end, func(t *Task) { t.Choices = strings.Split("1 2 3 4 5 6 7 8 9 10 11", " ") })), []string{"task 1, field choices: 11 choices, at most 10"}},
		{"choices that show nothing", planText(with(end, func(t *Task) { t.Choices = []string{"a", "\u200b\u2060", "\u3164", "\ufe0f"} })), []string{
			"task 1, field choices: choice 2 shows nothing", "task 1, field choices: choice 3 shows nothing", "task 1, field choices: choice 4 shows nothing",
		}},
		{"long choice", planText(with(end, func(t *Task) { t.Choices = []string{strings.Repeat("é", 64), strings.Repeat("é", 65)} })), []string{"task 1, field choices: choice 2 has 65 characters, at most 64"}},
		{"equal choices", planText(with(end, func(t *Task) { t.Choices = []string{"For two", "no", "for\u200b  TWO"} })), []string{"task 1, field choices: choice 3 says the same as choice 1"}},
		{"tool on exec", planText(with(execTask("ls"), func(t *Task) { t.Tool = ptr("look") }), end), []string{"task 1, field tool: must be null"}},
		{"args on msg", planText(with(end, func(t *Task) { t.Args = ptr("{}") })), []string{"task 1, field args: must be null"}},
		{"tool without name and args", planText(Task{Type: TaskTool, Detail: "d", Expect: ptr("x")}, end), []string{"task 1, field args: missing", "task 1, field tool: missing"}},
		{"unknown tool", planText(toolTask("fly", "a"), end), []string{`task 1, field tool: there is no tool "fly"`}},
		{"forbidden tool", planText(toolTask("post", "a"), end), []string{"task 1, field tool: post is not permitted here by the rule channel.tools_deny: no posting here"}},
		{"tool that would ask", planText(toolTask("fetch", "a"), end), nil},
		{"args against the schema", planText(with(toolTask("look", "a"), func(t *Task) { t.Args = ptr(`{"word":1}`) }), end), []string{"task 1, field args: "}},
		{"args too long", planText(toolTask("look", strings.Repeat("x", 65<<10)), end), []string{"task 1, field args: "}},
		{"args too deep", planText(with(toolTask("look", "a"), func(t *Task) { t.Args = ptr(`{"word":[[[[[1]]]]]}`) }), end), []string{"task 1, field args: "}},
		{"unknown type", planText(Task{Type: "skill", Detail: "d"}, end), []string{"task 1, field type: must be exec, msg or tool"}},
		{"detail missing", planText(Task{Type: TaskMsg}), []string{"task 1, field detail: must be text"}},
		{"args as an object", strings.Replace(planText(toolTask("look", "a"), end), `"{\"word\":\"a\"}"`, `{"word":"a"}`, 1), []string{"task 1, field args: must be text or null"}},
		{"too many", planText(slices.Repeat([]Task{end}, 21)...), []string{"field tasks: 21 tasks, at most 20"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, faults := faultsOf(r, tc.answer)
			if len(faults) != len(tc.want) {
				t.Fatalf("faults %q, want %q", faults, tc.want)
			}
			for i, want := range tc.want {
				if !strings.HasPrefix(faults[i], want) {
					t.Errorf("fault %q, want %q…", faults[i], want)
				}
			}
		})
	}
}

func TestForbiddenExecIsAFault(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.decide = func(q tools.Question) tools.Decision {
		if q.Tool == tools.ExecName {
			return tools.Decision{Verdict: tools.Refuse, Rule: "role.user", Reason: "users run no commands"}
		}
		return tools.Decision{Verdict: tools.Allow}
	}
	_, faults := faultsOf(newRunFor(w), planText(execTask("ls"), msgTask("tell")))
	if len(faults) != 1 || !strings.Contains(faults[0], "rule role.user") {
		t.Errorf("faults %q", faults)
	}
}

func TestPlansAreRepairedOnlyWhenLenient(t *testing.T) {
	t.Parallel()
	answer := `{"goal":"g","note":1,"tasks":[{"type":"tool","detail":"d","tool":"look","args":{"word":"a"},"expect":"x"},{"type":"msg","detail":"d"}]}`
	w := newWorld(t)
	w.cfg.Lenient = true
	plan, faults := faultsOf(newRunFor(w), answer)
	if len(faults) > 0 || len(plan.Tasks) != 2 || *plan.Tasks[0].Args != `{"word":"a"}` {
		t.Errorf("plan %+v, faults %q", plan, faults)
	}
	w.cfg.Lenient = false
	if _, faults := faultsOf(newRunFor(w), answer); len(faults) == 0 {
		t.Error("repaired although lenient is off")
	}
}

// Ten thousand tasks are one fault, told before any of them is looked at.
func TestTenThousandTasksAreOneFault(t *testing.T) {
	t.Parallel()
	answer := planText(slices.Repeat([]Task{execTask("ls")}, 10_000)...)
	_, faults := parsePlan(answer, 20, false)
	if len(faults) != 1 || faults[0] != "field tasks: 10000 tasks, at most 20 are allowed" {
		t.Errorf("faults %q", faults)
	}
}

// The planner's prompt shows complete plans; they must be such.
func TestWorkedPlansAreValid(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("roles/planner.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllSubmatch(file, -1)
	if len(blocks) != 1 {
		t.Fatalf("%d worked plans, want 1", len(blocks))
	}
	for i, block := range blocks {
		if _, faults := faultsOf(newRunFor(newWorld(t)), string(block[1])); len(faults) > 0 {
			t.Errorf("plan %d: %q", i+1, faults)
		}
	}
}

func TestFaultsGoBackNumbered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.script(map[string][]string{rolePlanner: {
		"{nonsense", planText(Task{Type: TaskExec, Detail: "ls"}), planText(answerTask("at last")),
	}})
	w.run()
	w.wantTexts("at last")
	asked := w.requests(rolePlanner)
	if strings.Contains(asked[0].User, "## Faults") {
		t.Error("the first try speaks of faults")
	}
	for i, want := range []string{"1. the answer is not one complete JSON", "1. task 1, field expect: missing; every exec and tool task says what a good result looks like\n2. task 1, field type: the last task"} {
		if !strings.Contains(asked[i+1].User, "## Faults in your last plan\n"+want) {
			t.Errorf("try %d lacks %q:\n%s", i+2, want, asked[i+1].User)
		}
	}
	for i, want := range []string{"the answer is not one complete JSON", "task 1, field expect: missing", ""} {
		if got := w.journal.calls[i].Refused; !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("the row of try %d says %q, want %q", i+1, got, want)
		}
	}
	if !strings.HasSuffix(asked[2].User, "## New message\nhow much is it?") {
		t.Errorf("the message is not last:\n%s", asked[2].User)
	}
}

func TestGarbageFailsLoudly(t *testing.T) {
	t.Parallel()
	for name, garbage := range map[string]string{"garbage": "}{", "empty": "", "huge": planText(slices.Repeat([]Task{msgTask("x")}, 10_000)...)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.script(map[string][]string{rolePlanner: {garbage}})
			w.run()
			w.wantEnd("failed", "invalid_plan")
			if len(w.asked) != 4 || len(w.journal.calls) != 4 {
				t.Errorf("asked %d times, recorded %d, want 4", len(w.asked), len(w.journal.calls))
			}
			if len(w.journal.said) != 1 || !w.journal.said[0].Notice || w.journal.said[0].Final {
				t.Errorf("said %+v", w.journal.said)
			}
		})
	}
}

// What the model did not copy letter by letter takes the whole message with it.
func TestSecretsCopiedLooselyRedactTheWholeMessage(t *testing.T) {
	t.Parallel()
	for typed, copied := range map[string]string{
		"use this key:\r\nTOPSECRETAAAA\r\nTOPSECRETBBBB": "use this key:\nTOPSECRETAAAA\nTOPSECRETBBBB",
		"my password is TOPSECRETAAAA_x!":                 "TopSecretAAAA_x!",
		"my password is TOPSECRETAAAA rest":               "TOPSECRET****",
		"TOPSECRETAAAA and SECONDSECRET":                  "SECONDSECRET2",
	} {
		w := newWorld(t)
		w.turn.Message.Text = typed
		answer := fmt.Sprintf(`{"goal":"g","secrets":[{"key":"k","value":%s}],"tasks":[]}`, jsonString(t, copied))
		w.script(map[string][]string{rolePlanner: {answer}})
		w.run()
		w.wantEnd("failed", "not_available")
		message := typed
		for _, secret := range w.journal.steps[0].Redact {
			message = strings.ReplaceAll(message, secret, "")
		}
		if strings.Contains(message, "SECRET") {
			t.Errorf("%q, copied as %q, would keep %q", typed, copied, message)
		}
	}
}

func jsonString(t *testing.T, s string) string {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestSecretsLeaveNoTrace(t *testing.T) {
	t.Parallel()
	const value = "hunter2-credential"
	plan := fmt.Sprintf(`{"goal":"log in with %s","secrets":[{"key":"pw","value":%q}],"tasks":[]}`, value, value)
	for name, answer := range map[string]string{
		"a plan":       strings.Replace(plan, `[]}`, strings.TrimPrefix(planText(msgTask("use "+value)), `{"goal":"reach it","secrets":null,"tasks":`), 1),
		"with faults":  plan,
		"cut off":      plan[:len(plan)-25],
		"an object":    fmt.Sprintf(`{"goal":"g","secrets":{"pw":%q},"tasks":[]}`, value),
		"escaped key":  fmt.Sprintf(`{"goal":"g","\u0073ecrets":[{"key":"pw","value":%q}],"tasks":[]}`, value),
		"capital key":  fmt.Sprintf(`{"goal":"g","Secrets" : [ {"key":"pw","value":%q}],"tasks":[]}`, value),
		"in a fence":   "```json\n" + plan + "\n```",
		"null follows": fmt.Sprintf(`{"goal":"g","secrets":[{"key":"pw","value":%q}],"tasks":[],"secrets":null}`, value),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.turn.Message.Text = "my password is " + value + ", log in"
			w.script(map[string][]string{rolePlanner: {answer}})
			w.run()
			w.wantEnd("failed", "not_available")
			message := w.turn.Message.Text
			for i, step := range w.journal.steps {
				for _, secret := range step.Redact {
					message = strings.ReplaceAll(message, secret, "")
				}
				w.journal.steps[i].Redact = nil // what is replaced is not stored
			}
			if strings.Contains(message, value) {
				t.Errorf("the message would keep %q", message)
			}
			rows, err := json.Marshal(w.journal.steps)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(rows), value) {
				t.Errorf("stored: %s", rows)
			}
			for _, call := range w.journal.calls {
				if strings.Contains(string(call.Exchange.Request)+string(call.Exchange.Response)+call.Answer, value) {
					t.Errorf("the call holds the value: %+v", call)
				}
				if !json.Valid(call.Exchange.Request) || call.Usage.In != 10 {
					t.Errorf("the call lost what it may keep: %+v", call)
				}
			}
			if len(w.journal.steps) != 1 || len(w.journal.plans) != 0 || len(w.asked) != 1 {
				t.Errorf("%d commits, %d plans, %d calls", len(w.journal.steps), len(w.journal.plans), len(w.asked))
			}
			if text := w.journal.texts()[0]; !strings.Contains(text, "not available in this build") {
				t.Errorf("said %q", text)
			}
		})
	}
	if text := planText(msgTask(`say "secrets": [1]`)); holdsSecrets(text) {
		t.Errorf("no secrets in %s", text)
	}
}

func FuzzPlan(f *testing.F) {
	f.Add(planText(execTask("ls"), toolTask("look", "a"), msgTask("tell")), false)
	f.Add(planText(answerTask("yes")), true)
	f.Add("```\n{\"goal\":1}\n```", true)
	f.Add(`{"goal":"g","secrets":null,"tasks":[{"type":"msg","detail":"\u0000x"}]}`, true)
	w := newWorld(f)
	r := newRunFor(w)
	f.Fuzz(func(t *testing.T, answer string, lenient bool) {
		r.cfg.Lenient = lenient
		plan, faults := parsePlan(answer, r.cfg.MaxPlanTasks, lenient)
		if len(faults) == 0 {
			faults = r.planner.validate(plan)
		}
		if len(faults) > 0 {
			return
		}
		last := plan.Tasks[len(plan.Tasks)-1]
		if plan.Goal == "" || plan.Secrets != nil || len(plan.Tasks) > r.cfg.MaxPlanTasks || last.Type != TaskMsg {
			t.Fatalf("accepted %+v", plan)
		}
		for i, task := range plan.Tasks {
			acts := task.Type != TaskMsg
			if task.Detail == "" || acts != (task.Expect != nil) || (task.Tool != nil) != (task.Type == TaskTool) ||
				(task.Args != nil) != (task.Type == TaskTool) || task.Answer != nil && (acts || i < len(plan.Tasks)-1) ||
				task.Choices != nil && acts || task.Answer != nil && slices.ContainsFunc(plan.Tasks, func(t Task) bool { return t.Type != TaskMsg }) {
				t.Fatalf("accepted task %d: %+v", i+1, task)
			}
			if strings.ContainsRune(task.Detail, 0) {
				t.Fatalf("a NUL in %q", task.Detail)
			}
		}
	})
}

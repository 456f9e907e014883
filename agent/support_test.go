package agent

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/agent/llm"
	"switchboard/agent/tools"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// errKilled stands for a process that is gone: nothing may happen after it.
var errKilled = errors.New("killed")

// memJournal keeps one turn's rows in memory and holds the agent to the rules of
// a real one: states move only as docs/architecture.md says, keys are unique, the end is last.
type memJournal struct {
	parked  string // the outcome with which it waits
	mu      sync.Mutex
	context State
	calls   []Call
	plans   []PlanRow
	said    []Say
	reviews int
	end     *End
	steps   []Step
	fault   func(n int, apply func()) error // called instead of applying commit n, from 0
	waiting []Incoming                      // sent and not merged yet
	added   []Added
	asked   int                // how often Absorb was called
	says    func(Ask) Approval // nil: nobody has said anything
	asks    []Ask
	waits   []End // with which the turn was put off
	used    []Use
	reserve func(step string, q llm.Quote) (bool, error) // nil: there are no limits
	ordered bool                                         // plans have no model's answer
	// what Stream was given
	streamed []string
}

// send queues a message that may be merged into the turn, once.
func (j *memJournal) send(m Incoming) {
	j.mu.Lock()
	defer j.mu.Unlock()
	known := slices.ContainsFunc(j.added, func(a Added) bool { return a.ID == m.ID }) ||
		slices.ContainsFunc(j.waiting, func(w Incoming) bool { return w.ID == m.ID })
	if !known {
		j.waiting = append(j.waiting, m)
	}
}

// Reserve implements Journal.
func (j *memJournal) Reserve(_ context.Context, step, _ string, q llm.Quote) (bool, error) {
	if j.reserve == nil {
		return false, nil
	}
	return j.reserve(step, q)
}

func (j *memJournal) Stream(text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.streamed = append(j.streamed, text)
	if j.end != nil {
		panic("journal: streamed after the end")
	}
}

// Edited implements Journal.
func (j *memJournal) Edited() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.ContainsFunc(j.waiting, func(m Incoming) bool { return m.Replaces != 0 })
}

// Absorb counts as a commit when there is something to merge.
// Approval implements Journal.
func (j *memJournal) Approval(_ context.Context, ask Ask) (Approval, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.says == nil {
		return Approval{}, nil
	}
	return j.says(ask), nil
}

func (j *memJournal) Absorb(ctx context.Context, from int) ([]Incoming, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.asked++
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(j.waiting) == 0 {
		return nil, nil
	}
	switch {
	case j.end != nil:
		return nil, errors.New("journal: absorbed after the end")
	case from < len(j.plans):
		return nil, fmt.Errorf("journal: to be heeded from attempt %d, which is made already", from)
	case len(j.added) > 0 && from < j.added[len(j.added)-1].From:
		return nil, fmt.Errorf("journal: to be heeded from attempt %d, after one from %d", from, j.added[len(j.added)-1].From)
	}
	messages, n := j.waiting, len(j.steps)
	j.steps = append(j.steps, Step{})
	apply := func() {
		for _, m := range messages {
			j.added = append(j.added, Added{Incoming: m, From: from})
		}
		j.waiting = nil
	}
	if j.fault != nil {
		return messages, j.fault(n, apply)
	}
	apply()
	return messages, nil
}

func (j *memJournal) Resume(ctx context.Context) (*State, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	state := j.context
	state.Calls, state.Said, state.Added = slices.Clone(j.calls), slices.Clone(j.said), slices.Clone(j.added)
	for i := range state.Calls {
		state.Calls[i].Exchange = llm.Exchange{}
	}
	for _, plan := range j.plans {
		state.Plans = append(state.Plans, clonePlan(&plan))
	}
	return &state, nil
}

func (j *memJournal) Commit(ctx context.Context, step Step) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := j.check(step); err != nil {
		return err
	}
	n := len(j.steps)
	j.steps = append(j.steps, step)
	if j.fault != nil {
		return j.fault(n, func() { j.apply(step) })
	}
	j.apply(step)
	return nil
}

// check says what a real journal would refuse.
func (j *memJournal) check(step Step) error {
	if j.end != nil {
		return errors.New("journal: the turn has ended")
	}
	for i, call := range step.Calls {
		same := func(c Call) bool { return c.Step == call.Step }
		if slices.ContainsFunc(j.calls, func(c Call) bool { return same(c) && c.Error == "" }) || slices.ContainsFunc(step.Calls[:i], same) {
			return fmt.Errorf("journal: call %s twice", call.Step)
		}
	}
	// Nothing follows from an answer that is not committed, or is with it.
	answered := func(asked string) bool {
		return slices.ContainsFunc(slices.Concat(j.calls, step.Calls), func(c Call) bool {
			return strings.HasPrefix(c.Step, asked) && c.Error == "" && c.Refused == ""
		})
	}
	if step.Plan != nil && !j.ordered && !answered(fmt.Sprintf("plan.%d.", step.Plan.Attempt)) {
		return fmt.Errorf("journal: plan %d without its answer", step.Plan.Attempt)
	}
	plans := slices.Clone(j.plans)
	if step.Plan != nil {
		if step.Plan.Attempt != len(plans) {
			return fmt.Errorf("journal: attempt %d after %d", step.Plan.Attempt, len(plans))
		}
		for _, task := range step.Plan.Tasks {
			if task.State != TaskPending {
				return fmt.Errorf("journal: a new task is %s", task.State)
			}
		}
		plans = append(plans, *step.Plan)
	}
	for i, change := range step.Tasks {
		if slices.ContainsFunc(step.Tasks[:i], func(c TaskChange) bool {
			return c.Attempt == change.Attempt && c.Position == change.Position
		}) {
			return fmt.Errorf("journal: task %d.%d changes twice in a step", change.Attempt, change.Position)
		}
		task := plans[change.Attempt].Tasks[change.Position]
		if task.Type != change.Type {
			return fmt.Errorf("journal: task %d.%d is no %s", change.Attempt, change.Position, change.Type)
		}
		if !slices.Contains(moves[task.State], change.State) {
			return fmt.Errorf("journal: task %d.%d from %s to %s", change.Attempt, change.Position, task.State, change.State)
		}
	}
	if step.Review != nil && plans[step.Review.Attempt].Tasks[step.Review.Position].Review != nil {
		return errors.New("journal: a task is reviewed twice")
	}
	return nil
}

var moves = map[TaskState][]TaskState{
	TaskPending: {TaskRunning, TaskDone, TaskFailed, TaskCancelled},
	TaskRunning: {TaskDone, TaskFailed, TaskInterrupted, TaskCancelled},
}

func (j *memJournal) apply(step Step) {
	for _, call := range step.Calls {
		call.At = time.Now()
		if i := slices.IndexFunc(j.calls, func(c Call) bool { return c.Step == call.Step }); i >= 0 {
			call.At = j.calls[i].At
			j.calls = slices.Delete(j.calls, i, i+1)
		}
		j.calls = append(j.calls, call)
	}
	if step.Plan != nil {
		j.cancelPending()
		j.plans = append(j.plans, clonePlan(step.Plan))
	}
	for _, change := range step.Tasks {
		task := &j.plans[change.Attempt].Tasks[change.Position]
		task.State, task.Result = change.State, change.Result
		if change.Use != nil {
			j.used = append(j.used, *change.Use)
		}
	}
	if step.Review != nil {
		j.reviews++
		j.plans[step.Review.Attempt].Tasks[step.Review.Position].Review = step.Review
	}
	j.said = append(j.said, step.Say...)
	if step.Ask != nil {
		j.asks = append(j.asks, *step.Ask)
	} else if step.End != nil && step.End.State == "queued" {
		j.waits = append(j.waits, *step.End)
	} else if step.End != nil && step.End.State == "waiting" {
		j.parked = step.End.Outcome
	} else if step.End != nil {
		j.cancelPending()
		j.end = step.End
	}
}

func (j *memJournal) cancelPending() {
	for _, plan := range j.plans {
		for i := range plan.Tasks {
			if plan.Tasks[i].State == TaskPending {
				plan.Tasks[i].State = TaskCancelled
			}
		}
	}
}

// texts are the messages the person got.
func (j *memJournal) texts() []string {
	var texts []string
	for _, say := range j.said {
		texts = append(texts, say.Text)
	}
	return texts
}

// world is a scripted surrounding: models, shell and gate, and what they saw.
type world struct {
	t       testing.TB
	cfg     Config
	turn    Turn
	journal *memJournal
	opts    Options
	extra   []tools.Tool

	mu      sync.Mutex
	answer  func(ctx context.Context, model string, req llm.Request) (llm.Response, error)
	exec    func(ctx context.Context, cmd tools.Command) tools.Result
	decide  func(q tools.Question) tools.Decision
	confirm func(ctx context.Context, q tools.Question, d tools.Decision) tools.Decision
	stop    context.CancelCauseFunc // set by restarted
	asked   []llm.Request
	models  []string
	ran     []string
	gated   []tools.Question
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return &world{
		t: t, cfg: DefaultConfig(), journal: &memJournal{},
		opts: Options{Now: func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }},
		turn: Turn{
			ID:        7,
			Session:   Session{ID: 3, Key: "console:local", Mode: "act", TimeZone: "Europe/Rome"},
			Person:    Person{Name: "marco", Role: "admin"},
			Place:     Place{Channel: "console", Direct: true, Rich: true},
			Message:   Incoming{ID: 11, Text: "how much is it?", Author: "marco"},
			Workspace: t.TempDir(),
			StartedAt: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		},
	}
}

func (w *world) Complete(ctx context.Context, model string, req llm.Request) (llm.Response, error) {
	w.mu.Lock()
	w.asked = append(w.asked, req)
	w.models = append(w.models, model)
	w.mu.Unlock()
	resp, err := w.answer(ctx, model, req)
	if resp.Exchange.Request == nil {
		body, _ := json.Marshal(map[string]string{"system": req.System, "user": req.User})
		answer, _ := json.Marshal(resp.Text)
		resp.Exchange = llm.Exchange{Provider: "test", Model: model, Request: body, Response: answer}
	}
	return resp, err
}

func (w *world) Run(ctx context.Context, cmd tools.Command) tools.Result {
	w.mu.Lock()
	w.ran = append(w.ran, cmd.Line)
	w.mu.Unlock()
	if w.exec != nil {
		return w.exec(ctx, cmd)
	}
	return tools.Result{End: tools.EndOK, Output: "output of " + cmd.Line}
}

func (w *world) Decide(q tools.Question) tools.Decision {
	w.mu.Lock()
	w.gated = append(w.gated, q)
	w.mu.Unlock()
	if w.decide != nil {
		return w.decide(q)
	}
	return tools.Decision{Verdict: tools.Allow, Rule: "test"}
}

func (w *world) Confirm(ctx context.Context, q tools.Question, d tools.Decision) tools.Decision {
	if w.confirm != nil {
		return w.confirm(ctx, q, d)
	}
	return d
}

// tool makes a tool that counts its uses in w.ran.
func (w *world) tool(name string, effect tools.Effect, taints bool) tools.Tool {
	return tools.Tool{
		Name: name, Summary: "Does " + name + ".", Page: "Give it a word.", Effect: effect, Taints: taints, Sends: map[bool]string{true: "word"}[taints],
		Schema: json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}},"required":["word"],"additionalProperties":false}`),
		Run: func(_ context.Context, call tools.Call) tools.Result {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.ran = append(w.ran, name+string(call.Args))
			return tools.Result{End: tools.EndOK, Output: "output of " + name}
		},
	}
}

func (w *world) agent() *Agent {
	w.t.Helper()
	registry, err := tools.NewRegistry(append([]tools.Tool{
		w.tool("look", tools.EffectRead, false), w.tool("fetch", tools.EffectRead, true),
		w.tool("post", tools.EffectOutside, false),
	}, w.extra...)...)
	if err != nil {
		w.t.Fatal(err)
	}
	a, err := New(w.cfg, w, registry, w, w, slog.New(slog.DiscardHandler), w.opts)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// run runs the turn once and wants it to end, or to ask.
func (w *world) run() {
	w.t.Helper()
	if err := w.agent().Run(context.Background(), w.turn, w.journal); err != nil {
		w.t.Fatalf("Run: %v", err)
	}
	if w.journal.end == nil && len(w.journal.asks) == 0 && w.journal.parked == "" {
		w.t.Fatal("the turn has not ended")
	}
}

// script answers each role with its next line; the last one is repeated.
func (w *world) script(lines map[string][]string) {
	var mu sync.Mutex
	next := map[string]int{}
	w.answer = func(_ context.Context, _ string, req llm.Request) (llm.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		all := lines[req.Role]
		if len(all) == 0 {
			return llm.Response{}, fmt.Errorf("%w: no script for %s", llm.ErrUnavailable, req.Role)
		}
		i := min(next[req.Role], len(all)-1)
		next[req.Role]++
		return llm.Response{Text: all[i], Finish: "stop", Usage: llm.Usage{In: 10, Out: 5}}, nil
	}
}

// requests are those of one role.
func (w *world) requests(role string) []llm.Request {
	var all []llm.Request
	for _, req := range w.asked {
		if req.Role == role {
			all = append(all, req)
		}
	}
	return all
}

func ptr(s string) *string { return &s }

func planText(tasks ...Task) string {
	return marshal(Plan{Goal: "reach it", Tasks: append([]Task{}, tasks...)})
}

func marshal(plan Plan) string {
	body, err := json.Marshal(plan)
	if err != nil {
		panic(err)
	}
	return string(body)
}

func execTask(line string) Task {
	return Task{Type: TaskExec, Detail: line, Expect: ptr("it worked")}
}

func toolTask(name, word string) Task {
	return Task{
		Type: TaskTool, Detail: "use " + name, Tool: &name, Args: ptr(fmt.Sprintf(`{"word":%q}`, word)),
		Expect: ptr("a word"),
	}
}

func msgTask(detail string) Task    { return Task{Type: TaskMsg, Detail: detail} }
func answerTask(answer string) Task { return Task{Type: TaskMsg, Detail: "answer", Answer: &answer} }

func okText() string { return `{"status":"ok","reason":null,"learn":null}` }
func replanText(reason string) string {
	body, _ := json.Marshal(reason)
	return `{"status":"replan","reason":` + string(body) + `,"learn":null}`
}

// wantTexts compares what the person got.
func (w *world) wantTexts(want ...string) {
	w.t.Helper()
	if got := w.journal.texts(); !slices.Equal(got, want) {
		w.t.Errorf("said %q\nwant %q", got, want)
	}
}

func (w *world) wantEnd(state, outcome string) {
	w.t.Helper()
	if got := *w.journal.end; got != (End{State: state, Outcome: outcome}) {
		w.t.Errorf("ended %+v, want %s/%s; said %q", got, state, outcome, w.journal.texts())
	}
}

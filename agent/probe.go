package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"switchboard/agent/llm"
	"switchboard/agent/tools"
)

// A Probe is what a model showed when it was tried.
type Probe struct {
	Took    time.Duration // until its first answer
	Claimed int64         // tokens that it says it used, where it cannot have used as many; else 0
	Prose   bool          // it answered in words and not with a plan, so that it can talk and use no tools
	Loose   bool          // its plan was not quite in the form that was asked for, and was put right
	Fault   string        // why it gave no plan, also when it was told so; empty: it gave one
	Lenient bool          // it would have been one with Config.Lenient
	Lost    int           // tokens of a prompt whose beginning it did not know; 0: it knew it
}

const (
	// tryTimeout bounds each question of a probe: a local model is loaded for the first.
	tryTimeout = time.Minute
	// longPrompt is how long the prompt is, in tokens, of which the beginning has to come back, where the
	// model is said to read so much: longer than what Ollama reads by default.
	longPrompt = 6000
)

// TryModel asks a model for a plan, as a message would, and for a number that stands at the beginning of a long
// prompt. It makes two or three calls, of a minute at most each. An error is one of package llm; the probe
// is then what was seen before.
func TryModel(ctx context.Context, cfg Config, models Models, model string, opts Options) (t Probe, err error) {
	roles, err := loadRoles(opts.DataDir)
	if err != nil { // which is somebody else's finding
		roles, _ = loadRoles("")
	}
	toolbox, err := tools.NewRegistry(tools.Tool{ // with which nothing is done: no plan is run
		Name: "schedule.add", Summary: "Make a reminder.", Page: "Make a reminder.", Effect: tools.EffectWrite,
		Schema: json.RawMessage(`{"type": "object", "properties": {"when": {"type": "string"}, "text": {"type": "string"}}, "required": ["when", "text"], "additionalProperties": false}`),
		Run:    func(context.Context, tools.Call) tools.Result { return tools.Result{} },
	})
	if err != nil {
		return t, err
	}
	opts.Now = time.Now
	a := &Agent{cfg: cfg, models: models, toolbox: toolbox, gate: permit{}, log: slog.New(slog.DiscardHandler), opts: opts, roles: roles, systems: &systems{}}
	p := newRun(a, Turn{
		Message: Incoming{Author: "Ann", Text: "remind me tomorrow at 9 to call Bob"},
		Person:  Person{Name: "Ann", Role: "user"},
		Place:   Place{Channel: "console", Direct: true},
	}, nil, &State{}).planner
	if err = p.tryPlan(ctx, model, &t); err == nil && t.Fault == "" {
		err = p.tryLength(ctx, model, &t)
	}
	return t, err
}

// permit is a gate that lets everything through.
type permit struct{}

func (permit) Decide(tools.Question) tools.Decision { return tools.Decision{Verdict: tools.Allow} }
func (permit) Confirm(_ context.Context, _ tools.Question, d tools.Decision) tools.Decision {
	return d
}

// tryPlan asks for a plan, and once more where it had faults.
func (p *planner) tryPlan(ctx context.Context, model string, t *Probe) error {
	var retry planRetry
	for try := range 2 {
		began := time.Now()
		system, user := p.prompts.plannerPrompt(0, retry, p.cfg.promptSize(p.length(ctx, model), &PlanSchema))
		resp, err := p.models.Complete(ctx, model, llm.Request{Role: rolePlanner, Schema: &PlanSchema, System: system, User: user, Timeout: tryTimeout})
		if try == 0 {
			t.Took, t.Claimed = time.Since(began), resp.Usage.Claimed
		}
		if err != nil && !gaveAnswer(resp, err) {
			return err
		}
		call := Call{Answer: tidy(resp.Text), Finish: resp.Finish}
		_, strict := parsePlan(call.Answer, p.cfg.MaxPlanTasks, false)
		_, lenient := parsePlan(call.Answer, p.cfg.MaxPlanTasks, true)
		_, faults := p.readPlan(call)
		t.Prose, t.Loose, t.Lenient = p.isProse(call), resp.Repaired || len(strict) > 0, len(lenient) == 0
		if len(faults) == 0 {
			t.Fault = ""
			return nil
		}
		t.Fault = fmt.Sprintf("%s (%s)", clip(oneLine(call.Answer), 60), faults[0])
		if err != nil { // such as one that was cut off
			t.Fault = strings.TrimPrefix(err.Error(), "the model answers, but ")
		}
		retry = planRetry{answer: call.Answer, faults: faults}
	}
	return nil
}

// tryLength asks for a number at the beginning of a prompt that is as long as prompts may be, or longPrompt.
func (p *planner) tryLength(ctx context.Context, model string, t *Probe) error {
	size := longPrompt
	if n := p.cfg.promptSize(p.length(ctx, model), nil); n > 0 {
		size = min(size, n)
	}
	number := fmt.Sprint(100_000 + rand.N(900_000))
	system := fmt.Sprintf("The number is %s. A long list follows, which says nothing, and then a question.\n", number)
	const line, question = "- The tram to the harbour leaves on time.\n", "Which number was told before the list? Answer with that number alone."
	list := strings.Repeat(line, max(0, size-llm.Tokens(system+question))/llm.Tokens(line))
	resp, err := p.models.Complete(ctx, model, llm.Request{Role: roleWorker, System: system, User: list + question, Timeout: tryTimeout})
	switch {
	case errors.Is(err, llm.ErrContextTooLong), (err == nil || gaveAnswer(resp, err)) && !strings.Contains(resp.Text, number):
		t.Lost = size
	case err != nil && !gaveAnswer(resp, err):
		return fmt.Errorf("asked with a prompt of %d tokens: %w", size, err)
	}
	return nil
}

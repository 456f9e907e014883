package routertest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
)

// Asks is an agent that asks one question with choices, and answers anything else.
func Asks(text string, choices ...string) Acting {
	return func(p Play) error {
		say := agent.Say{Text: "re: " + p.Turn.Message.Text, Final: true}
		outcome := "answered"
		if p.Turn.Message.Text == "ask" {
			say, outcome = agent.Say{Text: text, Choices: choices}, "asked"
		}
		return p.Commit(p.Ctx, agent.Step{Say: []agent.Say{say}, End: &agent.End{State: "done", Outcome: outcome}})
	}
}

// A Listener keeps what each turn is told of the conversation so far, and answers.
type Listener struct {
	mu    sync.Mutex
	lines []string
	Taint []string
}

// Run implements turns.Agent.
func (l *Listener) Run(ctx context.Context, turn agent.Turn, j agent.Journal) error {
	state, err := j.Resume(ctx)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.lines, l.Taint = nil, nil
	for _, line := range state.Recent {
		l.lines = append(l.lines, line.Text)
		l.Taint = append(l.Taint, string(line.Taint))
	}
	l.mu.Unlock()
	return NewPlay(ctx, turn, j).Answer("re: " + turn.Message.Text)
}

// Heard is all that the newest turn was told, as one line.
func (l *Listener) Heard() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "|")
}

// An Acting is an agent that does what the test writes.
type Acting func(p Play) error

// Run implements turns.Agent.
func (a Acting) Run(ctx context.Context, turn agent.Turn, j agent.Journal) error {
	return a(NewPlay(ctx, turn, j))
}

// A Play is one turn and its journal, with short ways to write.
type Play struct {
	agent.Journal
	Ctx  context.Context
	Turn agent.Turn
}

// NewPlay is the play of one turn.
func NewPlay(ctx context.Context, turn agent.Turn, j agent.Journal) Play {
	return Play{j, ctx, turn}
}

// Plan writes a plan with one command a step and a message.
func (p Play) Plan(attempt int, goal string, steps ...string) error {
	plan := agent.PlanRow{Attempt: attempt, Goal: goal}
	for i, step := range steps {
		plan.Tasks = append(plan.Tasks, agent.TaskRow{
			Task: agent.Task{Type: agent.TaskExec, Detail: step}, Position: i, State: agent.TaskPending,
		})
	}
	plan.Tasks = append(plan.Tasks, agent.TaskRow{
		Task: agent.Task{Type: agent.TaskMsg, Detail: "say it"}, Position: len(steps), State: agent.TaskPending,
	})
	return p.Commit(p.Ctx, agent.Step{Plan: &plan})
}

// State writes how far a step is.
func (p Play) State(attempt, position int, state agent.TaskState) error {
	change := agent.TaskChange{Attempt: attempt, Position: position, Type: agent.TaskExec, State: state}
	if state != agent.TaskRunning {
		change.Result = &tools.Result{End: tools.EndOK, Output: "secret output"}
	}
	return p.Commit(p.Ctx, agent.Step{Tasks: []agent.TaskChange{change}})
}

// Work runs a step for so long.
func (p Play) Work(attempt, position int, d time.Duration) error {
	if err := p.State(attempt, position, agent.TaskRunning); err != nil {
		return err
	}
	p.Pause(d)
	if p.Ctx.Err() != nil {
		return agent.ErrReleased
	}
	return p.State(attempt, position, agent.TaskDone)
}

// Say writes a notice.
func (p Play) Say(text string) error {
	return p.Commit(p.Ctx, agent.Step{Say: []agent.Say{{Position: -1, Notice: true, Text: text}}})
}

// Answer ends the turn with an answer.
func (p Play) Answer(text string) error {
	return p.Commit(p.Ctx, agent.Step{
		Say: []agent.Say{{Text: text, Final: true}}, End: &agent.End{State: "done", Outcome: "answered"},
	})
}

// Cancelled ends the turn as cancelled.
func (p Play) Cancelled() error {
	return p.Commit(p.Ctx, agent.Step{
		Say: []agent.Say{{Position: -1, Notice: true, Text: "Cancelled."}},
		End: &agent.End{State: "cancelled", Outcome: "cancelled"},
	})
}

// Pause waits so long, or until the turn is stopped.
func (p Play) Pause(d time.Duration) {
	select {
	case <-p.Ctx.Done():
	case <-time.After(d):
	}
}

// Write streams a text word by word, so long after each other, and returns it.
func (p Play) Write(text string, each time.Duration) string {
	var soFar string
	for _, word := range strings.SplitAfter(text, " ") {
		soFar += word
		p.Stream(soFar)
		p.Pause(each)
	}
	return soFar
}

// A Brain answers turns in place of the agent: it says what think returns.
type Brain struct {
	Think func(ctx context.Context, turn agent.Turn) (text string, err error)
	Step  func(agent.Journal) error // nil: no step before the last

	mu   sync.Mutex
	runs map[string]int // by the message's text
}

// Run implements turns.Agent.
func (b *Brain) Run(ctx context.Context, turn agent.Turn, j agent.Journal) error {
	b.mu.Lock()
	if b.runs == nil {
		b.runs = map[string]int{}
	}
	b.runs[turn.Message.Text]++
	b.mu.Unlock()
	state, err := j.Resume(ctx)
	if err != nil {
		return err
	}
	if len(state.Said) > 0 {
		return errors.New("said already, and run again")
	}
	if b.Step != nil {
		if err := b.Step(j); err != nil {
			return err
		}
	}
	text, err := "re: "+turn.Message.Text, error(nil)
	if b.Think != nil {
		text, err = b.Think(ctx, turn)
	}
	switch {
	case errors.Is(context.Cause(ctx), agent.ErrCancelled):
		return NewPlay(ctx, turn, j).Cancelled()
	case ctx.Err() != nil:
		return agent.ErrReleased
	case err != nil:
		return err
	}
	return NewPlay(ctx, turn, j).Answer(text)
}

// Held makes the brain hold turns back until release is called: those with these
// texts, or all.
func (b *Brain) Held(texts ...string) (release func()) {
	released := make(chan struct{})
	b.Think = func(ctx context.Context, turn agent.Turn) (string, error) {
		if len(texts) == 0 || slices.Contains(texts, turn.Message.Text) {
			select {
			case <-released:
			case <-ctx.Done():
			}
		}
		return "re: " + turn.Message.Text, nil
	}
	return sync.OnceFunc(func() { close(released) })
}

// Ran is how often a turn with this text was run.
func (b *Brain) Ran(text string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.runs[text]
}

package metrics

import (
	"context"
	"time"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/agent/tools"
	"switchboard/router/turns"
)

// phaseOf is the phase in which a role's model is asked; of other roles nobody waits.
var phaseOf = map[string]string{"planner": phasePlan, "reviewer": phaseReview, "worker": phaseWrite}

// models counts what models use.
type models struct {
	agent.Models
	*Metrics
	known func(model string) bool
}

// Models are models that are counted. A name that known does not know is "other".
func (m *Metrics) Models(of agent.Models, known func(model string) bool) agent.Models {
	return models{of, m, known}
}

// Complete implements agent.Models.
func (m models) Complete(ctx context.Context, model string, req llm.Request) (llm.Response, error) {
	began := time.Now()
	response, err := m.Models.Complete(ctx, model, req)
	if phase := phaseOf[req.Role]; phase != "" && err == nil {
		m.observe(phase, began)
	}
	if !m.known(model) {
		model = other
	}
	u := response.Usage
	for kind, n := range map[string]int64{"prompt": u.In - u.Cached, "cached": u.Cached, "output": u.Out} {
		m.tokens.WithLabelValues(model, req.Role, kind).Add(float64(max(n, 0)))
	}
	m.cost.WithLabelValues(model).Add(max(u.Cost, 0))
	return response, err
}

// toolbox counts the uses of tools.
type toolbox struct {
	agent.Toolbox
	*Metrics
}

// Tools are tools that are counted.
func (m *Metrics) Tools(of agent.Toolbox) agent.Toolbox { return toolbox{of, m} }

// Run implements agent.Toolbox.
func (m toolbox) Run(ctx context.Context, name string, call tools.Call) tools.Result {
	began := time.Now()
	result := m.Toolbox.Run(ctx, name, call)
	if _, known := m.Get(name); !known {
		name = other
	}
	m.used(name, began, result)
	return result
}

// shell counts commands.
type shell struct {
	agent.Shell
	*Metrics
}

// Shell is a shell whose commands are counted.
func (m *Metrics) Shell(of agent.Shell) agent.Shell { return shell{of, m} }

// Run implements agent.Shell.
func (m shell) Run(ctx context.Context, cmd tools.Command) tools.Result {
	began := time.Now()
	result := m.Shell.Run(ctx, cmd)
	m.used(tools.ExecName, began, result)
	return result
}

// used counts one use of a tool or command.
func (m *Metrics) used(tool string, began time.Time, result tools.Result) {
	m.tools.WithLabelValues(tool, string(result.End)).Inc()
	m.seconds.WithLabelValues(tool).Observe(time.Since(began).Seconds())
	m.observe(phaseAct, began)
}

// worker counts turns.
type worker struct {
	turns.Agent
	*Metrics
}

// Agent is an agent whose turns are counted.
func (m *Metrics) Agent(of turns.Agent) turns.Agent { return worker{of, m} }

// Run implements turns.Agent.
func (m worker) Run(ctx context.Context, turn agent.Turn, j agent.Journal) error {
	return m.Agent.Run(ctx, turn, &journal{j, m.Metrics, &turn})
}

// A journal counts what a turn commits.
type journal struct {
	agent.Journal
	metrics *Metrics
	turn    *agent.Turn
}

// Resume implements agent.Journal.
func (j *journal) Resume(ctx context.Context) (*agent.State, error) {
	state, err := j.Journal.Resume(ctx)
	if err == nil && len(state.Calls)+len(state.Plans) == 0 { // it begins
		j.metrics.observe(phaseWait, j.turn.Message.At)
	}
	return state, err
}

// Commit implements agent.Journal.
func (j *journal) Commit(ctx context.Context, step agent.Step) error {
	if err := j.Journal.Commit(ctx, step); err != nil {
		return err
	}
	j.metrics.said(j.turn.Place.Channel, len(step.Say))
	for _, t := range step.Tasks {
		if t.Result != nil && t.Result.End == tools.EndRefused {
			j.metrics.refused.WithLabelValues(stageTool).Inc()
		}
	}
	if step.End != nil && !turns.TurnState(step.End.State).Open() {
		j.metrics.observe(phaseTotal, j.turn.Message.At)
	}
	return nil
}

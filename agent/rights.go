package agent

import (
	"context"
	"encoding/json"

	"switchboard/agent/tools"
)

// The rights of a turn are the toolbox under the gate, and under what limits the turn itself.
type rights struct {
	*record
	gate    Gate
	toolbox Toolbox
}

// The rules by which the terms of a turn refuse what the gate would let it do.
const (
	ruleNoTools     = "terms.no_tools"
	ruleNoWeb       = "terms.no_web"
	ruleNoApprovals = "terms.no_approvals"
)

// decide asks the policy gate about a tool, or a command, for the turn as it is now. What
// is neither allowed nor asked for is refused.
func (r *rights) decide(q tools.Question) tools.Decision {
	q = r.asked(q)
	if q.Sends != "" || len(q.Keeps) > 0 {
		q.Words = r.ownWords()
	}
	d := r.narrowed(q, r.gate.Decide(q))
	if d.Verdict != tools.Allow && d.Verdict != tools.Ask {
		d.Verdict = tools.Refuse
	}
	return d
}

// asked is a question with who asks it, and where.
func (r *rights) asked(q tools.Question) tools.Question {
	place := &r.turn.Place
	q.Person, q.Channel, q.Group, q.Direct, q.Mode = r.turn.Person.Name, place.Channel, place.Group, place.Direct, r.turn.Session.Mode
	q.Taint = r.taintOf(q)
	return q
}

// confirm has the gate confirm a decision as the tool is about to run; a refusal stands.
func (r *rights) confirm(ctx context.Context, q tools.Question, d tools.Decision) tools.Decision {
	if d.Verdict == tools.Refuse {
		return d
	}
	return r.gate.Confirm(ctx, r.asked(q), d)
}

// narrowed is a decision of the gate under the turn's terms. What asks stays so, as it may be
// granted: see permitted.
func (r *rights) narrowed(q tools.Question, d tools.Decision) tools.Decision {
	limits := &r.turn.Limits
	switch {
	case q.Tool == "" || d.Verdict == tools.Refuse:
	case limits.NoTools:
		return tools.Decision{Verdict: tools.Refuse, Rule: ruleNoTools, Reason: "this turn has no tools", Role: d.Role}
	case limits.NoWeb && r.reachesOut(q):
		return tools.Decision{Verdict: tools.Refuse, Rule: ruleNoWeb, Reason: q.Tool + " reaches other machines, which this turn may not", Role: d.Role}
	}
	return d
}

// reachesOut says that a tool, or a command that is not confined, can reach other machines.
func (r *rights) reachesOut(q tools.Question) bool {
	if q.Tool == tools.ExecName {
		return q.Effect == tools.EffectOutside
	}
	tool, _ := r.toolbox.Get(q.Tool)
	return tool.Sends != ""
}

// taintOf is the taint that counts for a tool: the turn's, and for an unconfined command,
// which may run any file there, the workspace's.
func (r *rights) taintOf(q tools.Question) tools.Taint {
	if q.Tool == tools.ExecName && q.Effect == tools.EffectOutside && r.turn.Workspace != "" {
		return r.taint.Join(tools.WorkspaceTaint(r.turn.Workspace))
	}
	return r.taint
}

// execEffect is what a command may change: the workspace, or with the confinement
// lifted anything.
func (r *rights) execEffect() tools.Effect {
	if r.turn.Person.Role == "admin" && (r.cfg.AdminUnconfined || r.cfg.Sandbox == "off") {
		return tools.EffectOutside
	}
	return tools.EffectWrite
}

// offered is what the gate lets the turn's person use now: whether commands, with what
// effect, and which tools.
func (r *rights) offered() (exec bool, effect tools.Effect, offered []tools.Tool) {
	effect = r.execEffect()
	all := r.toolbox.All()
	offered = make([]tools.Tool, 0, len(all))
	for _, tool := range all {
		if r.mayUse(tool.Name, tool.Effect) {
			offered = append(offered, tool)
		}
	}
	return r.mayUse(tools.ExecName, effect), effect, offered
}

func (r *rights) mayUse(tool string, effect tools.Effect) bool {
	return r.decide(tools.Question{Tool: tool, Effect: effect}).Verdict != tools.Refuse
}

// harmless says that running the task once more changes nothing.
func (r *rights) harmless(task Task) bool {
	if task.Type != TaskTool {
		return false
	}
	tool, ok := r.toolbox.Get(deref(task.Tool))
	return ok && tool.Effect == tools.EffectRead
}

// acted says that a command or a tool was begun which may have changed something, however it ended.
func (r *rights) acted() bool {
	for _, t := range tasksOf(r.Plans) {
		if t.Type != TaskMsg && t.Result != nil && t.Result.End != tools.EndRefused && !r.harmless(t.Task) {
			return true
		}
	}
	return false
}

// Usable lists what the gate lets q.Person use in q.Channel and q.Mode, with nothing
// from elsewhere read: commands first, then the tools in their order.
func (a *Agent) Usable(q tools.Question) (names []string) {
	r := &rights{&record{cfg: a.cfg, turn: Turn{
		Person: Person{Name: q.Person, Role: "admin"}, // what commands may change matters to no rule here
		Place:  Place{Channel: q.Channel, Direct: q.Direct}, Session: Session{Mode: q.Mode},
	}}, a.gate, a.toolbox}
	exec, _, offered := r.offered()
	if exec {
		names = append(names, tools.ExecName)
	}
	for _, tool := range offered {
		names = append(names, tool.Name)
	}
	return names
}

// Tools lists all tools, commands first, as a person may name them.
func (a *Agent) Tools() []tools.Tool {
	exec := tools.Tool{Name: tools.ExecName, Summary: a.Summary(tools.ExecName), Schema: tools.ExecSchema, Effect: tools.EffectWrite}
	return append([]tools.Tool{exec}, a.toolbox.All()...)
}

// Typed reads the arguments that a person typed for a tool, as tools.Registry does.
func (a *Agent) Typed(tool string, args json.RawMessage) (complete json.RawMessage, takes string, fault error) {
	return a.toolbox.Typed(tool, args)
}

// Summary says in a line what a tool does.
func (a *Agent) Summary(name string) string {
	if name == tools.ExecName {
		return "Run a command in the session's own folder."
	}
	tool, _ := a.toolbox.Get(name)
	return tool.Summary
}

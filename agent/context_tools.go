package agent

import (
	"bytes"
	"encoding/json"
	"strings"

	"switchboard/agent/tools"
)

func (r *run) plannerSystem() string {
	exec, effect, offered := r.offered()
	return r.systems.of(exec, effect, offered, func() string {
		var p prompt
		p.add(r.roles[rolePlanner])
		p.section("Permitted tools")
		if exec {
			p.linef("- exec: a task of that type; it may take %s%s", r.cfg.ExecTimeout, word(effect == tools.EffectWrite, " and write to the workspace only", ""))
		}
		for _, tool := range offered {
			p.linef("- %s", r.toolbox.Usage(tool.Name))
		}
		if !exec && len(offered) == 0 {
			p.linef("None here. Plan with msg tasks only.")
		}
		return p.String()
	})
}

// offered is what the gate lets the turn's person use now: whether commands, with what
// effect, and which tools.
func (r *run) offered() (exec bool, effect tools.Effect, offered []tools.Tool) {
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

func (r *run) mayUse(tool string, effect tools.Effect) bool {
	return r.decide(tools.Question{Tool: tool, Effect: effect}).Verdict != tools.Refuse
}

// Usable lists what the gate lets q.Person use in q.Channel and q.Mode, with nothing
// from elsewhere read: commands first, then the tools in their order.
func (a *Agent) Usable(q tools.Question) (names []string) {
	r := &run{Agent: a, turn: Turn{
		Person: Person{Name: q.Person, Role: "admin"}, // what commands may change matters to no rule here
		Place:  Place{Channel: q.Channel, Direct: q.Direct}, Session: Session{Mode: q.Mode},
	}}
	exec, _, offered := r.offered()
	if exec {
		names = append(names, tools.ExecName)
	}
	for _, tool := range offered {
		names = append(names, tool.Name)
	}
	return names
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

func compact(schema json.RawMessage) string {
	var out bytes.Buffer
	if json.Compact(&out, schema) != nil {
		return string(schema)
	}
	return out.String()
}

// pages shows the pages of tools that this message may need: something of the kind was said, or a plan got
// one wrong.
func (r *run) pages(p *prompt, attempt int, retry planRetry, cut cut) {
	said := r.saidLately(attempt, cut.lines)
	wrong := map[string]bool{}
	if attempt > 0 {
		for _, task := range r.planRow(attempt - 1).Tasks {
			if task.Result != nil && task.Result.End != tools.EndOK {
				wrong[deref(task.Tool)] = true
			}
		}
	}
	first := true
	for _, tool := range r.toolbox.All() {
		planned := len(retry.faults) > 0 && strings.Contains(retry.answer, `"`+tool.Name+`"`)
		needed := planned || wrong[tool.Name] || tool.Words != nil && tool.Words(said)
		if !needed || !r.mayUse(tool.Name, tool.Effect) {
			continue
		}
		if first {
			p.section("How to use tools")
		}
		first = false
		p.add(strings.TrimSpace(tool.Page) + "\nArguments: " + compact(tool.Schema) + "\n\n")
	}
}

// lately is how many lines of the conversation say what the new message is about.
const lately = 4

// saidLately is what the new message is about, with as many lines before it as the prompt shows.
func (r *run) saidLately(attempt, lines int) string {
	var said strings.Builder
	for _, line := range r.state.Recent[len(r.state.Recent)-min(lines, lately, len(r.state.Recent)):] {
		said.WriteString(line.Text + "\n")
	}
	for _, m := range r.messages(attempt) {
		said.WriteString(m.Text + "\n")
		for _, passed := range m.Passed {
			said.WriteString(passed.Text + "\n")
		}
	}
	return said.String()
}

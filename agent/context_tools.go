package agent

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"switchboard/agent/tools"
)

func (ps *prompts) plannerSystem() string {
	exec, effect, offered := ps.rights.offered()
	return ps.systems.of(exec, effect, offered, func() string {
		var p prompt
		p.add(ps.roles[rolePlanner])
		p.section("Permitted tools")
		if exec {
			p.linef("- exec: a task of that type; it may take %s%s", ps.cfg.ExecTimeout, word(effect == tools.EffectWrite, " and write to the workspace only", ""))
		}
		for _, tool := range offered {
			p.linef("- %s", ps.rights.toolbox.Usage(tool.Name))
		}
		if !exec && len(offered) == 0 {
			p.linef("None here. Plan with msg tasks only.")
		}
		return p.String()
	})
}

// maxSystems bounds how many are kept, of some 7 KB each.
const maxSystems = 64

// systems keeps the stable part of the planner's prompt for each set of tools that
// was offered: making it takes longer than all the rest of a prompt.
type systems struct {
	mu   sync.Mutex
	made []system
}

type system struct {
	exec    bool
	effect  tools.Effect // of exec
	offered []tools.Tool
	text    string
}

// of returns what render made of these tools before, or makes it. The tools are nearly
// always the very same values, and to compare those costs nothing.
func (s *systems) of(exec bool, effect tools.Effect, offered []tools.Tool, render func() string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.made {
		m := &s.made[i]
		if m.exec == exec && (!exec || m.effect == effect) && slices.EqualFunc(m.offered, offered, reads) {
			return m.text
		}
	}
	if len(s.made) == maxSystems {
		s.made = nil
	}
	text := render()
	s.made = append(s.made, system{exec, effect, slices.Clone(offered), text})
	return text
}

// reads says that two tools read the same to the planner.
func reads(a, b tools.Tool) bool {
	return a.Name == b.Name && a.Summary == b.Summary && a.Note == b.Note && bytes.Equal(a.Schema, b.Schema)
}

// pages shows the pages of tools that this message may need: something of the kind was said, or a plan got
// one wrong.
func (ps *prompts) pages(p *prompt, attempt int, retry planRetry, cut cut) {
	said := ps.saidLately(attempt, cut.lines)
	wrong := map[string]bool{}
	if attempt > 0 {
		for _, task := range ps.planRow(attempt - 1).Tasks {
			if task.Result != nil && task.Result.End != tools.EndOK {
				wrong[deref(task.Tool)] = true
			}
		}
	}
	title := "\n## How to use tools\n"
	for _, tool := range ps.rights.toolbox.All() {
		planned := len(retry.faults) > 0 && strings.Contains(retry.answer, `"`+tool.Name+`"`)
		needed := planned || wrong[tool.Name] || tool.Words != nil && tool.Words(said)
		if !needed || !ps.rights.mayUse(tool.Name, tool.Effect) {
			continue
		}
		p.add(title + strings.TrimSpace(tool.Page) + "\nArguments: " + compact(tool.Schema) + "\n\n")
		title = ""
	}
}

// lately is how many lines of the conversation say what the new message is about.
const lately = 4

// saidLately is what the new message is about, with as many lines before it as the prompt shows.
func (ps *prompts) saidLately(attempt, lines int) string {
	var said strings.Builder
	for _, line := range ps.Recent[len(ps.Recent)-min(lines, lately, len(ps.Recent)):] {
		said.WriteString(line.Text + "\n")
	}
	for _, m := range ps.messages(attempt) {
		said.WriteString(m.Text + "\n")
		for _, passed := range m.Passed {
			said.WriteString(passed.Text + "\n")
		}
	}
	return said.String()
}

package agent

import (
	"bytes"
	"slices"
	"sync"

	"switchboard/agent/tools"
)

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

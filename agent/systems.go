package agent

import (
	"strings"
	"sync"

	"switchboard/agent/tools"
)

// maxSystems bounds how many are kept, of some 20 KB each.
const maxSystems = 64

// systems keeps the stable part of the planner's prompt for each set of tools that
// was offered: making it takes longer than all the rest of a prompt.
type systems struct {
	mu   sync.Mutex
	made map[string]string
}

// of returns what render made of these tools before, or makes it.
func (s *systems) of(exec bool, effect tools.Effect, offered []tools.Tool, render func() string) string {
	var key strings.Builder
	if exec {
		key.WriteString(string(effect))
	}
	for _, tool := range offered {
		for _, text := range []string{tool.Name, string(tool.Effect), tool.Summary, tool.Page, string(tool.Schema)} {
			key.WriteByte(0)
			key.WriteString(text)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if text, ok := s.made[key.String()]; ok {
		return text
	}
	if s.made == nil || len(s.made) == maxSystems {
		s.made = map[string]string{}
	}
	text := render()
	s.made[key.String()] = text
	return text
}

package llmtest

import (
	"fmt"
	"slices"
	"strings"
)

// sections are the headings that may stand in the user part of a prompt, for the
// roles that see a fixed few: the worker never the conversation, the reviewer
// neither facts nor history. The planner may see everything.
var sections = map[string][]string{
	"worker":   {"Summary so far", "Outputs of earlier tasks", "Rules", "Preferences", "Known facts", "Said and found before", "Task"},
	"reviewer": {"Goal", "The person's request", "Task", "Expected", "Output", "Rules", "Faults in your last verdict"},

	"look":        {"Messages", "Your last answer", "Faults in your last answer"},
	"curate":      {"Known already", "Open questions", "Asked before", "Summary so far", "Learnings", "Your last answer", "Faults in your last answer"},
	"summary":     {"Summary so far", "Messages", "Your last answer", "Faults in your last answer"},
	"consolidate": {"Facts", "Your last answer", "Faults in your last answer"},
	"paraphrase":  {"Messages", "Your last answer", "Faults in your last answer"},
}

// slice says which section its role must not see.
func slice(req Request) error {
	allowed, fixed := sections[req.Role]
	for line, fenced := range lines(req.User) {
		title, ok := strings.CutPrefix(line, "## ")
		if ok && fixed && !fenced && !slices.Contains(allowed, strings.TrimSpace(title)) {
			return fmt.Errorf("the %s must not see the section %q", req.Role, title)
		}
	}
	return nil
}

// AnySlice lifts the check of sections: for prompts that are not the agent's.
func (s *Server) AnySlice() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.anySlice = true
}

// Inspect adds a check: an error is a fault of the request, answered with 400.
func (s *Server) Inspect(check func(Request) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checks = append(slices.Clone(s.checks), check)
}

// Forbid makes it a fault when a request of role (planner, reviewer, worker;
// empty: any) holds one of the markers: texts that this role must not see.
func (s *Server) Forbid(role string, markers ...string) {
	s.Inspect(func(req Request) error {
		for _, marker := range markers {
			if (role == "" || req.Role == role) && req.Has(marker) {
				return fmt.Errorf("the %s must not see %q", req.Role, marker)
			}
		}
		return nil
	})
}

// Require makes it a fault when a request of role lacks one of the markers.
func (s *Server) Require(role string, markers ...string) {
	s.Inspect(func(req Request) error {
		for _, marker := range markers {
			if (role == "" || req.Role == role) && !req.Has(marker) {
				return fmt.Errorf("the %s must see %q", req.Role, marker)
			}
		}
		return nil
	})
}

// Fenced makes it a fault when marker stands in a prompt outside of a fence.
func (s *Server) Fenced(marker string) {
	s.Inspect(func(req Request) error {
		for _, text := range []string{req.System, req.User} {
			for line, fenced := range lines(text) {
				if !fenced && strings.Contains(line, marker) {
					return fmt.Errorf("the %s sees %q outside of a fence", req.Role, marker)
				}
			}
		}
		return nil
	})
}

package llmtest

import (
	"fmt"
	"slices"
	"strings"
)

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

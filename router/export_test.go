package router

import "time"

// CompareLeasesEvery makes the looks at the leases more frequent, before any test runs.
func CompareLeasesEvery(d time.Duration) { heldEvery = d }

// Shows counts what a channel's holder knows of drafts; 0: it holds none.
func Shows(r *Router, channel string) int {
	s := r.Lines.line(channel).holding()
	if s == nil {
		return 0
	}
	s.shows.mu.Lock()
	defer s.shows.mu.Unlock()
	return len(s.shows.list)
}

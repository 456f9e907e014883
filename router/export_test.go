package router

import "time"

// CompareLeasesEvery makes the looks at the leases more frequent, before any test runs.
func CompareLeasesEvery(d time.Duration) { heldEvery = d }

// Shows counts the drafts that a channel's presenter knows.
func Shows(r *Router, channel string) int {
	p := r.Lines.line(channel).presenter
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.drafts)
}

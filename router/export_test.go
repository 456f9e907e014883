package router

import "time"

// CompareLeasesEvery makes the looks at the leases more frequent, before any test runs.
func CompareLeasesEvery(d time.Duration) { heldEvery = d }

// Shows counts the drafts that a channel's presenter knows.
func Shows(r *Router, channel string) int { return r.Lines.Line(channel).Presented() }

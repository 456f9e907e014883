package router

import (
	"time"

	"switchboard/router/turns"
)

// CompareLeasesEvery makes the looks at the leases more frequent, before any test runs.
func CompareLeasesEvery(d time.Duration) { turns.HeldEvery = d }

// Shows counts the drafts that a channel's presenter knows.
func Shows(r *Router, channel string) int { return r.Lines.Connection(channel).Presented() }

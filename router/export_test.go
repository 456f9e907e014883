package router

import "time"

// CompareLeasesEvery makes the looks at the leases more frequent, before any test runs.
func CompareLeasesEvery(d time.Duration) { heldEvery = d }

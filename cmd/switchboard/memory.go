package main

import (
	"os"
	"runtime/debug"
)

// gcPercent is how much the heap may grow before it is collected. Ours is a few
// megabytes, most of which lives for one turn; collecting it at every doubling takes
// a twelfth of the CPU under load. An idle program holds no more for it.
const gcPercent = 300

// tuneMemory leaves alone what the operator set.
func tuneMemory() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

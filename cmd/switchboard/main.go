// Command switchboard is one assistant for many channels; see README.md.
//
// This package is the only place that knows everyone: it reads the settings,
// wires the parts together, and has one file a subcommand.
package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"switchboard/agent/tools/sandbox"
)

func main() {
	sandbox.RunHelper()                                           // does not return where this process is a command's keeper
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" { // else the operator says
		collectSeldom()
	}
	os.Exit(run(os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}, os.Environ()))
}

const (
	// gcPercent is how much the heap may grow before it is collected. Ours is a few
	// megabytes, most of which lives for one turn; collecting it at every doubling takes
	// a twelfth of the CPU under load. An idle program holds no more for it.
	gcPercent = 300
	// gcRoom is how many bytes it may grow by, unless that is less than half of it: else a thousand readers cost three
	// times what they hold.
	gcRoom = 32 << 20
)

// collectSeldom has the heap collected seldom while it is small. Where the operator says when, it is not called.
func collectSeldom() {
	last := gcPercent
	debug.SetGCPercent(last)
	afterEach(func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
		metrics.Read(live)
		if now := percentFor(live[0].Value.Uint64() + live[1].Value.Uint64()); now != last { // setting it stops the world
			last = now
			debug.SetGCPercent(now)
		}
	})
}

// percentFor is how much a heap of so many bytes may grow, in percent.
func percentFor(bytes uint64) int {
	return max(50, min(gcPercent, int(gcRoom*100/max(bytes, 1))))
}

// afterEach has do called after each collection.
func afterEach(do func()) {
	type mark struct{ self *mark } // with a pointer it is no part of a block of small things
	runtime.AddCleanup(&mark{}, func(struct{}) {
		do()
		afterEach(do)
	}, struct{}{})
}

// Command switchboard is one assistant for many channels; see README.md.
//
// This package is the only place that knows everyone: it reads the settings,
// wires the parts together, and has one file a subcommand.
package main

import (
	"os"

	"switchboard/agent/tools/sandbox"
)

func main() {
	sandbox.RunHelper()                                           // does not return where this process is a command's keeper
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" { // else the operator says
		collectSeldom()
	}
	os.Exit(run(os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}, os.Environ()))
}

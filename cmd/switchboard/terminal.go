package main

import (
	"os"

	"golang.org/x/term"

	"switchboard/channels/console"
)

// onTerminal says whether a person sits in front of this command. The terminal of a job
// in the background is for others.
func (a *app) onTerminal() bool {
	return isTerminal(a.in) && isTerminal(a.out) && console.InForeground(a.in)
}

// isFed says that somebody else's output or a file is the input: neither a terminal
// nor a device such as /dev/null.
func isFed(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

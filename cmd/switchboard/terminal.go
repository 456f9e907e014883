package main

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"switchboard/channels/console"
)

// onTerminal says whether a person sits in front of this command. The terminal of a job
// in the background is for others.
func (a *app) onTerminal() bool {
	return isTerminal(a.in) && isTerminal(a.out) && console.InForeground(a.in)
}

// staysUnstopped keeps a shell from stopping this process, and the engine in it, because
// it touches the terminal as a job in the background: a read fails then, and the log is
// written in spite of "stty tostop".
func staysUnstopped() { signal.Ignore(syscall.SIGTTIN, syscall.SIGTTOU) }

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

//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// staysUnstopped keeps a shell from stopping this process, and the engine in it, because
// it touches the terminal as a job in the background: a read fails then, and the log is
// written in spite of "stty tostop".
func staysUnstopped() { signal.Ignore(syscall.SIGTTIN, syscall.SIGTTOU) }

//go:build scripted

package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
)

// extraKinds lets tests of the real binary play the platform.
var extraKinds = channels.Kinds{
	scripted.Kind,
}

// On SIGUSR1 the program of the tests says how many goroutines it has.
func init() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	go func() {
		for range asked {
			fmt.Fprintf(os.Stderr, "goroutines: %d\n", runtime.NumGoroutine())
		}
	}()
}

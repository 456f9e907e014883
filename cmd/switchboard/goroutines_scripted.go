//go:build scripted

package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

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

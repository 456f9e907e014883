package sandbox

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	RunHelper()
	actInstead()
	// Commands must not see this.
	os.Setenv(secretEnv, secretValue)
	// Package os/signal keeps one goroutine, which a fuzz run starts.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	signal.Stop(signals)
	remove := fastHelper()
	before := runtime.NumGoroutine()
	code := m.Run()
	remove()
	if code == 0 {
		code = leaked(before)
	}
	os.Exit(code)
}

// leaked fails the run when goroutines are left after it.
func leaked(before int) int {
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return 0
		}
		time.Sleep(10 * time.Millisecond)
	}
	buf := make([]byte, 1<<20)
	fmt.Printf("goroutines are left:\n%s\n", buf[:runtime.Stack(buf, true)])
	return 1
}

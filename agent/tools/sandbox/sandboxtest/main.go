// Package sandboxtest runs tests whose commands are confined.
package sandboxtest

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"testing"
	"time"
)

const (
	secretEnv = "SWITCHBOARD_TEST_SECRET"
	// Secret is in the environment of the tests, and commands must not see it.
	Secret = "not-for-commands-7391"
	// EngineEnv makes a test process play an engine that runs one command.
	EngineEnv = "SWITCHBOARD_TEST_ENGINE"
)

// Main runs a package's tests and ends the process, with a failure when goroutines are
// left. With the race detector on, it sets helper to one without.
func Main(m *testing.M, helper *string) {
	os.Setenv(secretEnv, Secret)
	// Package os/signal keeps one goroutine, which a fuzz run starts.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	signal.Stop(signals)
	remove := fastHelper(helper)
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

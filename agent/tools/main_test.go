package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"testing"
	"time"

	"switchboard/agent/tools/sandbox"
)

const (
	secretEnv   = "SWITCHBOARD_TEST_SECRET"
	secretValue = "not-for-commands-7391"
	// engineEnv makes a test process play an engine.
	engineEnv = "SWITCHBOARD_TEST_ENGINE"
)

// helperPath is the helper of commands; empty: this program.
var helperPath string

func TestMain(m *testing.M) {
	sandbox.RunHelper()
	if text := os.Getenv(engineEnv); text != "" { // an engine that runs one command
		var cmd Command
		if err := json.Unmarshal([]byte(text), &cmd); err != nil {
			panic(err)
		}
		NewExec(ExecConfig{}).Run(context.Background(), cmd)
		os.Exit(0)
	}
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

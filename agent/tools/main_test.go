package tools

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"switchboard/agent/tools/sandbox"
	"switchboard/agent/tools/sandbox/sandboxtest"
)

// helperPath is the helper of commands; empty: this program.
var helperPath string

func TestMain(m *testing.M) {
	sandbox.RunHelper()
	if text := os.Getenv(sandboxtest.EngineEnv); text != "" { // an engine that runs one command
		var cmd Command
		if err := json.Unmarshal([]byte(text), &cmd); err != nil {
			panic(err)
		}
		NewExec(ExecConfig{}).Run(context.Background(), cmd)
		os.Exit(0)
	}
	sandboxtest.Main(m, &helperPath)
}

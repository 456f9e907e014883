package sandbox

import (
	"testing"

	"switchboard/agent/tools/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	RunHelper()
	actInstead()
	sandboxtest.Main(m, &ownProgram)
}

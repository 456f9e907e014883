//go:build race

package sandboxtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// fastHelper lets the commands of tests have a helper without the race detector: what runs
// side by side is in the program that asks for them.
func fastHelper(path *string) (remove func()) {
	dir, err := os.MkdirTemp("", "helper-")
	if err == nil {
		*path = filepath.Join(dir, "helper")
		build := exec.Command("go", "build", "-o", *path, "switchboard/agent/tools/sandbox/testdata/helper")
		build.Stderr = os.Stderr
		err = build.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the tests' helper:", err)
		os.Exit(1)
	}
	return func() { _ = os.RemoveAll(dir) }
}

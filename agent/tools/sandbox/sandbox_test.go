package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"switchboard/agent/tools/workspace"
)

// newWorkspace returns a folder without symbolic links in its path.
func newWorkspace(t *testing.T) string {
	t.Helper()
	above, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(above)
	if err == nil {
		err = root.Mkdir("workspace", 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // commands close folders
		if err := workspace.Discard(root, "workspace"); err != nil {
			t.Error(err)
		}
		root.Close()
	})
	return filepath.Join(above, "workspace")
}

// A result is all that a command brought.
type result struct {
	Outcome
	Output string
	Err    error
}

func (r result) ok() bool { return r.Err == nil && r.Kind == "exit_status" && r.Status == 0 }

func run(ctx context.Context, s *Sandbox, cmd Command) result {
	var out strings.Builder
	o, err := s.Run(ctx, cmd, &out)
	return result{o, out.String(), err}
}

// needSandbox skips loudly where commands cannot be confined, except in CI.
func needSandbox(t *testing.T) {
	t.Helper()
	if res := run(t.Context(), New(Config{}), Command{Line: ":", Workspace: newWorkspace(t)}); !res.ok() {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the sandbox must work in CI: %+v", res)
		}
		t.Skipf("SANDBOX TESTS ARE SKIPPED: %+v", res)
	}
}

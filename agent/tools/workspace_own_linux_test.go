package tools

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// What a command leaves in our way, or closes, never breaks its session.
func TestOursIsMadeAnew(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	for _, line := range []string{
		"rm -rf .switchboard; mkdir -p .switchboard/outputs.json/x; echo x > .switchboard/outputs.json/x/y",
		"mkdir -p .switchboard/a/b; chmod 0 .switchboard/a/b .switchboard/a .switchboard",
		"mkdir -p .switchboard; echo x > .switchboard/outputs.json; chmod 0 .switchboard/outputs.json",
		"rm -rf .switchboard; ln -s /etc .switchboard", "rm -rf .switchboard; echo x > .switchboard",
		"mkdir -p .switchboard; ln -sf /etc/passwd .switchboard/outputs.json",
		"chmod 0 .", "mkdir closed; chmod 0 closed .switchboard . ",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			workspace, call := builtin(t, BuiltinConfig{})
			e := shell(ExecConfig{})
			e.Run(t.Context(), Command{Line: line, Workspace: workspace})
			if err := PutHidden(workspace, "outputs.json", []byte("ours")); err != nil {
				t.Error(err)
			}
			if got := call("workspace.write", write("note", "x", "create")); got.End != EndOK {
				t.Errorf("write: %+v", got)
			}
			res := e.Run(t.Context(), Command{Line: `cat .switchboard/outputs.json; echo more >> note; echo y > "$TMPDIR/y" && cat note`, Workspace: workspace})
			if res.End != EndOK || res.Output != "oursxmore\n" {
				t.Errorf("the next command: %+v", res)
			}
			if got := call("workspace.list", `{"path":null,"depth":null}`); got.End != EndOK {
				t.Errorf("list: %+v", got)
			}
		})
	}
}

// A session's folder goes whole, closed folders and what is noted beside it too.
func TestRemovedWorkspaceLeavesNothing(t *testing.T) {
	t.Parallel()
	above := t.TempDir()
	workspace := filepath.Join(above, "7")
	if err := os.MkdirAll(filepath.Join(workspace, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Keep(t.Context(), workspace, "a/note", "x", "web"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(workspace, "a"), 0); err != nil {
		t.Fatal(err)
	}
	for range 2 { // nothing there is no error
		if err := RemoveWorkspace(workspace); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(above); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestUnprivileged runs the tests of commands once more as nobody.
func TestUnprivileged(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("the tests run unprivileged already")
	}
	const nobody = 65534
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^(TestExec|TestOnly|TestOurs|TestWorkspaceLimit)", "-test.timeout=6m")
	cmd.Env = []string{"CI=" + os.Getenv("CI"), "PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "TMPDIR=" + os.TempDir()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}

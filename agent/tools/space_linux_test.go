package tools

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"switchboard/agent/tools/sandbox"
	"switchboard/agent/tools/workspace"

	"golang.org/x/sys/unix"
)

// What is set aside behind the end of a file counts.
func TestWorkspaceLimitCountsWhatIsSetAside(t *testing.T) {
	t.Parallel()
	space := &workspace.Space{Bytes: 20 << 20}
	dir, call := builtin(t, BuiltinConfig{Space: space})
	f, err := os.Create(filepath.Join(dir, "empty"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, 30<<20); err != nil {
		t.Skip("this file system sets nothing aside:", err)
	}
	if got := call("workspace.write", write("note", "x", "create")); got.Code != "workspace_full" {
		t.Errorf("write: %+v", got)
	}
}

// A workspace that is over its limit takes nothing more until something is removed.
func TestWorkspaceLimitIsLeftByRemoving(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	space := &workspace.Space{Bytes: 100_000, Files: 50}
	dir, call := builtin(t, BuiltinConfig{Space: space})
	e := shell(ExecConfig{Config: sandbox.Config{Space: space}})
	if err := os.MkdirAll(filepath.Join(dir, "d", "closed"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"d/big", "d/closed/big"} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 150_000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "d", "closed"), 0); err != nil {
		t.Fatal(err)
	}
	if res := e.Run(t.Context(), Command{Line: "touch ran", Workspace: dir}); res.End != EndRefused || res.Code != "workspace_full" {
		t.Errorf("a command: %+v", res)
	}
	if got := call("workspace.write", write("note", "x", "create")); got.Code != "workspace_full" {
		t.Errorf("write: %+v", got)
	}
	if got := call("workspace.list", `{"path":null,"depth":null}`); got.End != EndOK {
		t.Errorf("list: %+v", got)
	}
	if got := call("workspace.remove", `{"path":"d"}`); got.End != EndOK {
		t.Errorf("remove: %+v", got)
	}
	if res := e.Run(t.Context(), Command{Line: "ls -A | grep -v switchboard; echo ran", Workspace: dir}); res.Output != "ran\n" {
		t.Errorf("a command afterwards: %+v", res)
	}
	for path, code := range map[string]string{"d": "not_found", ".": "bad_path", ".switchboard": "bad_path", "../x": "outside_workspace"} {
		if got := call("workspace.remove", `{"path":"`+path+`"}`); got.Code != code {
			t.Errorf("remove %s: %+v", path, got)
		}
	}
}

func TestWorkspaceLimitOfTheDiskRefusesCommands(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	told := 0
	space := &workspace.Space{
		DiskLow: func(context.Context, string) { told++ },
		Disk:    func(string) (int64, int64) { return 400_000_000, 100_000_000_000 },
	}
	dir, call := builtin(t, BuiltinConfig{Space: space})
	e := shell(ExecConfig{Config: sandbox.Config{Space: space}})
	for range 2 {
		if res := e.Run(t.Context(), Command{Line: "touch ran", Workspace: dir}); res.End != EndRefused || res.Code != "disk_low" || !strings.Contains(res.Output, "nearly full") {
			t.Errorf("a command: %+v", res)
		}
		if got := call("workspace.write", write("note", "x", "create")); got.Code != "disk_low" {
			t.Errorf("write: %+v", got)
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
	space.Disk = func(string) (int64, int64) { return 400_000_000, 1_000_000_000 }
	if res := e.Run(t.Context(), Command{Line: "echo ran", Workspace: dir}); res.End != EndOK {
		t.Errorf("2 %% of a small disk are free: %+v", res)
	}
}

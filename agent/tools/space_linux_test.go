package tools

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// promise: L.workspace-is-bounded
func TestWorkspaceLimitEndsCommands(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	space := &Space{Bytes: 20 << 20, Files: 500}
	for name, line := range map[string]string{
		"many files of some size": `i=0; while [ $i -lt 60 ]; do head -c 2000000 /dev/zero > f$i; i=$((i+1)); sleep 0.05; done; sleep 30`,
		"many files":              `i=0; while [ $i -lt 3000 ]; do : > f$i; i=$((i+1)); done; sleep 30`,
		"in a closed folder":      `mkdir d; for i in 1 2; do head -c 15000000 /dev/zero > d/$i; done; chmod 0 d; sleep 30`,
		"without a name":          `exec 3> a 4> b; rm a b; head -c 15000000 /dev/zero >&3; head -c 15000000 /dev/zero >&4; sleep 30`,
		"deep":                    `mkdir -p $(printf 'd/%.0s' $(seq 1100)); sleep 30`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := NewExec(ExecConfig{Space: space, Timeout: 25 * time.Second}).Run(t.Context(), Command{Line: line, Workspace: newWorkspace(t)})
			if res.End != EndError || res.Code != "workspace_full" || !strings.Contains(res.Hint, "workspace.remove") {
				t.Errorf("got %+v", res)
			}
		})
	}
	t.Run("one file", func(t *testing.T) {
		t.Parallel()
		workspace := newWorkspace(t)
		NewExec(ExecConfig{Space: space}).Run(t.Context(), Command{Line: "head -c 5000000 /dev/zero > a; head -c 100000000 /dev/zero > b", Workspace: workspace})
		if info, err := os.Stat(workspace + "/b"); err != nil || info.Size() > 20<<20 {
			t.Errorf("%v, %v: the kernel did not stop it", info, err)
		}
	})
}

// What is set aside behind the end of a file counts.
//
// promise: L.workspace-is-bounded
func TestWorkspaceLimitCountsWhatIsSetAside(t *testing.T) {
	t.Parallel()
	space := &Space{Bytes: 20 << 20}
	workspace, call := builtin(t, BuiltinConfig{Space: space})
	f, err := os.Create(filepath.Join(workspace, "empty"))
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

// A command may swap a folder and a pipe while the workspace is looked through.
//
// promise: L.workspace-is-bounded
func TestOpenFolderWaitsForNoPipe(t *testing.T) {
	t.Parallel()
	workspace := newWorkspace(t)
	root, err := os.OpenRoot(workspace)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := unix.Mkfifo(filepath.Join(workspace, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := root.Symlink("/etc", "out"); err != nil {
		t.Fatal(err)
	}
	w := walker{ctx: t.Context(), left: 10, depth: 10}
	for _, name := range []string{"pipe", "out"} {
		if below, err := openFolder(root, name); err == nil {
			below.Close()
			t.Errorf("%s was opened as a folder", name)
		}
		if err := w.enter(root, name, name, 1); err != nil {
			t.Errorf("%s ends the walk: %v", name, err)
		}
	}
}

// Removing takes few open files, however deep a command's folders are.
//
// promise: L.workspace-is-bounded
func TestDeepFoldersAreRemoved(t *testing.T) {
	t.Parallel()
	workspace, call := builtin(t, BuiltinConfig{})
	deep, chain := filepath.Join(workspace, "deep"), strings.Repeat("/d", 700)
	for _, dir := range []string{deep, deep + "/second"} {
		if err := os.MkdirAll(dir+chain, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(deep+"/second", deep+chain+"/e"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(deep+strings.Repeat("/d", 100), 0); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if moved, err := flatten(root, "deep"); err != nil || len(moved) != 1 {
		t.Errorf("%d folders were moved, %v", len(moved), err)
	} else if _, err := root.Lstat("deep" + strings.Repeat("/d", maxDepth)); err == nil {
		t.Error("it is as deep as before")
	} else if err := root.Rename(moved[0], "rest"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"deep", "rest"} {
		if got := call("workspace.remove", `{"path":"`+name+`"}`); got.End != EndOK {
			t.Errorf("remove %s: %.300q", name, got.Output)
		}
	}
	if left, err := os.ReadDir(workspace); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A workspace that is over its limit takes nothing more until something is removed.
//
// promise: L.workspace-is-bounded
func TestWorkspaceLimitIsLeftByRemoving(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	space := &Space{Bytes: 100_000, Files: 50}
	workspace, call := builtin(t, BuiltinConfig{Space: space})
	e := NewExec(ExecConfig{Space: space})
	if err := os.MkdirAll(filepath.Join(workspace, "d", "closed"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"d/big", "d/closed/big"} {
		if err := os.WriteFile(filepath.Join(workspace, name), make([]byte, 150_000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(workspace, "d", "closed"), 0); err != nil {
		t.Fatal(err)
	}
	if res := e.Run(t.Context(), Command{Line: "touch ran", Workspace: workspace}); res.End != EndRefused || res.Code != "workspace_full" {
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
	if res := e.Run(t.Context(), Command{Line: "ls -A | grep -v switchboard; echo ran", Workspace: workspace}); res.Output != "ran\n" {
		t.Errorf("a command afterwards: %+v", res)
	}
	for path, code := range map[string]string{"d": "not_found", ".": "bad_path", ".switchboard": "bad_path", "../x": "outside_workspace"} {
		if got := call("workspace.remove", `{"path":"`+path+`"}`); got.Code != code {
			t.Errorf("remove %s: %+v", path, got)
		}
	}
}

// promise: L.workspace-is-bounded
func TestWorkspaceLimitOfTheDisk(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	told := 0
	space := &Space{
		DiskLow: func(context.Context, string) { told++ },
		disk:    func(string) (int64, int64) { return 400_000_000, 100_000_000_000 },
	}
	workspace, call := builtin(t, BuiltinConfig{Space: space})
	e := NewExec(ExecConfig{Space: space})
	for range 2 {
		if res := e.Run(t.Context(), Command{Line: "touch ran", Workspace: workspace}); res.End != EndRefused || res.Code != "disk_low" || !strings.Contains(res.Output, "nearly full") {
			t.Errorf("a command: %+v", res)
		}
		if got := call("workspace.write", write("note", "x", "create")); got.Code != "disk_low" {
			t.Errorf("write: %+v", got)
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
	space.disk = func(string) (int64, int64) { return 400_000_000, 1_000_000_000 }
	if res := e.Run(t.Context(), Command{Line: "echo ran", Workspace: workspace}); res.End != EndOK {
		t.Errorf("2 %% of a small disk are free: %+v", res)
	}
}

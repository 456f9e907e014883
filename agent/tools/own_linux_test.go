package tools

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a command leaves in our way, or closes, never breaks its session.
//
// promise: L.ours-is-made-anew
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
			e := NewExec(ExecConfig{})
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
func TestRemoveWorkspace(t *testing.T) {
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

// promise: L.no-set-uid
func TestExecLeavesNoSetUIDFile(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	workspace := newWorkspace(t)
	copyFile(t, "/proc/self/exe", workspace+"/probe")
	res := NewExec(ExecConfig{}).Run(t.Context(), Command{
		Workspace: workspace, Env: []string{probeEnv + "=modes"},
		Line: "cp /bin/true a; chmod 4755 a; chmod u+s a; chmod g+s a; install -m 6755 /bin/true b; mkdir -m 2755 d; chmod 755 a; ./probe",
	})
	if !strings.HasSuffix(res.Output, "done\n") || strings.Contains(res.Output, "is permitted") || strings.Contains(res.Output, "open or") {
		t.Errorf("got %+v", res)
	}
	found := 0
	err := filepath.WalkDir(workspace, func(path string, d fs.DirEntry, err error) error {
		info, statErr := os.Lstat(path)
		if err != nil || statErr != nil {
			return err
		}
		found++
		if info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		return nil
	})
	if info, statErr := os.Stat(workspace + "/a"); err != nil || statErr != nil || info.Mode().Perm() != 0o755 || found < 4 {
		t.Errorf("%v, %v, %d files: the modes were not tried", err, info, found)
	}
}

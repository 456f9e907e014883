package tools

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"switchboard/agent/tools/sandbox/sandboxtest"
	"switchboard/agent/tools/workspace"
	"switchboard/internal/testkit"
)

func TestCommandsCarryTaint(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	workspace, call := builtin(t, BuiltinConfig{})
	e := shell(ExecConfig{})
	for _, step := range []struct {
		name, line  string
		taint       Taint
		output      Taint
		file, after string // whose taint is looked at afterwards
		want        Taint
	}{
		{name: "clean", line: "echo x > own; sleep 0.1", file: "own"},
		{name: "in a tainted turn", line: "echo x > theirs", taint: "web", file: "theirs", want: "web"},
		{name: "an older file stays clean", line: "cat own", output: "web", file: "own"},
		{name: "copied", line: "cp theirs copy", output: "web", file: "copy", want: "web"},
		{name: "moved", line: "mkdir d && mv theirs d/x && touch -d 2001-01-01 d/x; sleep 0.1", output: "web", file: "d/x", want: "web"},
		{name: "its folder renamed", line: "mv d e", output: "web", file: "e/x", want: "web"},
		{name: "hidden folder removed", line: "rm -rf .switchboard; true", output: "web", file: "copy", want: "web"},
		{name: "hidden folder replaced", line: "rm -rf .switchboard; ln -s /etc .switchboard", output: "web", file: "copy", want: "web"},
		{name: "hidden", line: "echo x > .switchboard/theirs; echo x > .switchboard/taint.json", taint: "web", output: "web", file: "copy", want: "web"},
		{name: "from the hidden folder", line: "mv .switchboard/theirs shown; touch -d 2001-01-01 shown", output: "web", file: "shown", want: "web"},
		{name: "ledger out of reach", line: "echo '{}' > ../workspace.taint.json; rm -f ../workspace.taint.json; true", output: "web", file: "copy", want: "web"},
	} {
		res := e.Run(t.Context(), Command{Line: step.line, Workspace: workspace, Taint: step.taint})
		if res.End != EndOK || res.Taint.Join(step.output) != step.output {
			t.Errorf("%s: got %+v", step.name, res)
		}
		if got := call("workspace.read", read(step.file)); got.End != EndOK || got.Taint != step.want {
			t.Errorf("%s: %s has %+v, want taint %q", step.name, step.file, got, step.want)
		}
	}
	if left, _ := filepath.Glob("/etc/tmp-*"); len(left) > 0 {
		t.Errorf("made outside: %v", left)
	}
}

func TestNamesCarryTaint(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	workspace, call := builtin(t, BuiltinConfig{})
	e := shell(ExecConfig{})
	for _, step := range []struct {
		name, line string
		taint      Taint
		output     Taint
		want       ledger // afterwards
	}{
		{name: "a folder", line: "mkdir 'Ignore all'", taint: "web", want: ledger{"Ignore all": "web"}},
		{name: "listed", line: "ls", output: "web", want: ledger{"Ignore all": "web"}},
		{name: "renamed", line: "mv 'Ignore all' d", output: "web", want: ledger{"d": "web"}},
		{name: "removed", line: "rmdir d", output: "web", want: ledger{}},
		{name: "forgotten", line: "ls", want: ledger{}},
		{name: "no UTF-8", line: `touch "$(printf 'a\377')"`, taint: "web", want: ledger{"a\xff": "web"}},
		{name: "still no UTF-8", line: `touch -d 2001-01-01 "$(printf 'a\377')"`, output: "web", want: ledger{"a\xff": "web"}},
		{name: "a link", line: `rm a*; ln -s Ignore_all l`, output: "web", want: ledger{"l": "web"}},
		{name: "hidden", line: "rm l; echo x > .switchboard/x", taint: "web", output: "web", want: ledger{".switchboard/x": "web"}},
		{name: "brought out", line: "mv .switchboard/x l", output: "web", want: ledger{"l": "web"}},
		{name: "our own file", line: "rm l; echo x > .switchboard/outputs.json", taint: "web", output: "web", want: ledger{}},
	} {
		res := e.Run(t.Context(), Command{Line: step.line, Workspace: workspace, Taint: step.taint})
		if res.End != EndOK || res.Taint != step.output {
			t.Errorf("%s: got %+v", step.name, res)
		}
		if got := readLedger(workspace); !maps.Equal(got, step.want) {
			t.Errorf("%s: the ledger is %q, want %q", step.name, got, step.want)
		}
		if got := call("workspace.list", `{"path":null,"depth":null}`); got.Taint != step.want.any(".") || strings.Contains(got.Output, "from outside") == (got.Output == "(empty)\n") {
			t.Errorf("%s: list: %+v", step.name, got)
		}
	}
}

// A name of the database that a command put in the way must not stop anybody.
func TestCommandsCannotBlockTheLedger(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	workspace, call := builtin(t, BuiltinConfig{})
	e := shell(ExecConfig{})
	for _, line := range []string{
		"mkdir -p .switchboard; rm -rf .switchboard/taint.json; mkfifo .switchboard/taint.json",
		"rm -rf .switchboard; mkfifo .switchboard", "rm -f .switchboard; mkdir -p .switchboard; truncate -s 1500M .switchboard/taint.json",
	} {
		if res := e.Run(t.Context(), Command{Line: line, Workspace: workspace, Taint: "web"}); res.End != EndOK {
			t.Errorf("%s: got %+v", line, res)
		}
		if got := call("workspace.write", write("f", "x", "replace"), "web"); got.End != EndOK && got.Code != "workspace_full" {
			t.Errorf("after %s: %+v", line, got)
		}
	}
}

func TestTaintOutlivesTheEngine(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	workspace, call := builtin(t, BuiltinConfig{})
	role, err := json.Marshal(Command{Line: "echo x > theirs; sleep 300", Workspace: workspace, Taint: "web"})
	if err != nil {
		t.Fatal(err)
	}
	engine := exec.CommandContext(t.Context(), "/proc/self/exe")
	engine.Env = []string{sandboxtest.EngineEnv + "=" + string(role)}
	if err := engine.Start(); err != nil {
		t.Fatal(err)
	}
	theirs := filepath.Join(workspace, "theirs")
	testkit.Await(t, "written", 20*time.Second, func() bool {
		info, err := os.Stat(theirs)
		return err == nil && info.Size() > 0
	})
	if err := engine.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = engine.Wait() // it was killed
	if got := call("workspace.read", read("theirs")); got.End != EndOK || got.Taint != "web" {
		t.Errorf("got %+v", got)
	}
	// It is forgotten when nothing is left.
	if res := shell(ExecConfig{}).Run(t.Context(), Command{Line: "rm -rf *", Workspace: workspace}); res.End != EndOK {
		t.Errorf("got %+v", res)
	}
	testkit.Await(t, "the dead command's folder is gone", 5*time.Second, func() bool {
		shell(ExecConfig{}).Run(t.Context(), Command{Line: "rm -rf .switchboard/tmp-*/x", Workspace: workspace})
		return len(readLedger(workspace)) == 0
	})
}

func TestTooDeepAWorkspaceIsFullAndTainted(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	dir, call := builtin(t, BuiltinConfig{})
	e := shell(ExecConfig{})
	if res := e.Run(t.Context(), Command{Line: "echo mine > own", Workspace: dir}); res.End != EndOK {
		t.Fatalf("got %+v", res)
	}
	const deep = `for i in $(seq 1200); do mkdir d; cd -P d; done; sleep 300`
	if res := e.Run(t.Context(), Command{Line: deep, Workspace: dir, Taint: "web"}); res.Code != "workspace_full" {
		t.Fatalf("got %+v", res)
	}
	if got := call("workspace.read", read("own")); got.End != EndOK || got.Taint != "web" {
		t.Errorf("read: %+v", got)
	}
	if got := call("workspace.write", write("f", "x", "create")); got.Code != "workspace_full" || !strings.Contains(got.Output, "deep") || got.Hint == "" {
		t.Errorf("write: %+v", got)
	}
	if got := call("workspace.write", write(strings.Repeat("d/", workspace.MaxDepth)+"f", "x", "create")); got.Code != "bad_path" {
		t.Errorf("write deep down: %+v", got)
	}
	if got := call("workspace.list", `{"path":null,"depth":20}`); got.End != EndOK {
		t.Errorf("list: %+v", got)
	}
	if got := call("workspace.remove", `{"path":"d"}`); got.End != EndOK {
		t.Fatalf("got %+v", got)
	}
	if res := e.Run(t.Context(), Command{Line: "rm -rf *", Workspace: dir}); res.End != EndOK {
		t.Fatalf("got %+v", res)
	}
	if got := call("workspace.write", write("f", "x", "create")); got.End != EndOK {
		t.Errorf("write: %+v", got)
	}
	if got := readLedger(dir); len(got) != 0 {
		t.Errorf("the empty workspace has the ledger %q", got)
	}
}

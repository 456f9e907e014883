package tools

import (
	"os"
	"path/filepath"
	"testing"
)

// promise: P5.taint-inherits
func TestCommandsCarryTaint(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	workspace, call := builtin(t, BuiltinConfig{})
	e := NewExec(ExecConfig{})
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
		{name: "ledger removed", line: "rm -rf .switchboard; true", output: "web", file: "copy", want: "web"},
		{name: "ledger forged", line: "echo '{}' > .switchboard/taint.json", output: "web", file: "copy", want: "web"},
		{name: "ledger replaced", line: "rm -rf .switchboard; ln -s /etc .switchboard", output: "web", file: "copy", want: "web"},
		{name: "ledger blocked", line: "rm -rf .switchboard/taint.json; mkdir -p .switchboard/taint.json/x", output: "web", file: "copy", want: "web"},
	} {
		res := e.Run(t.Context(), Command{Line: step.line, Workspace: workspace, Taint: step.taint})
		if res.End != EndOK || res.Taint.Join(step.output) != step.output {
			t.Errorf("%s: got %+v", step.name, res)
		}
		if got := call("workspace.read", read(step.file)); got.End != EndOK || got.Taint != step.want {
			t.Errorf("%s: %s has %+v, want taint %q", step.name, step.file, got, step.want)
		}
	}
	if _, err := os.Stat("/etc/taint.json"); err == nil {
		t.Error("the ledger was written outside")
	}
	if left, _ := filepath.Glob("/etc/tmp-*"); len(left) > 0 {
		t.Errorf("made outside: %v", left)
	}
}

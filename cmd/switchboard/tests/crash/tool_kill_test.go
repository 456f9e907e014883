package crash_test

import (
	"path/filepath"
	"strings"
	"testing"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// A tool that somebody calls by name, and the program killed while it waits for a permission, while
// it runs, and before its answer is read: it runs once, and is answered once, with no model.
func TestToolOutlivesKills(t *testing.T) {
	t.Parallel()
	r := programtest.NewRig(t, []string{"u1"}, "[router]\nrate_person = \"off\"\n[policy.exec]\nask = [\"touch *\"]\n")
	r.Up()
	restart := func() {
		t.Helper()
		r.Kill()
		r.Up()
	}
	marks := func() int {
		files, _ := filepath.Glob(filepath.Join(r.Dir, "data", "workspaces", "*", "runs.txt"))
		n := 0
		for _, f := range files {
			n += strings.Count(testkit.Read(t, f), "run\n")
		}
		return n
	}
	r.Platform.Say("cu1", "u1", `/tool exec {"command": "echo run >> runs.txt; sleep 20"}`)
	r.Await("it runs", programtest.Patience, func() bool { return marks() == 1 })
	restart()
	r.Await("it is answered", programtest.Patience, func() bool { return len(r.Shown("u1")) == 1 })
	if got := r.Shown("u1")[0]; !strings.Contains(got, "exec was cut off") || marks() != 1 {
		t.Errorf("it ran %d times, answered %q", marks(), got)
	}
	asked := r.Ask("u1", `/tool exec {"command": "touch x && echo run >> runs.txt"}`)
	restart()
	r.Platform.Say("cu1", "u1", "/approve "+programtest.PairCode.FindString(asked))
	r.Await("it ran", programtest.Patience, func() bool { return marks() == 2 })
	restart()
	r.Await("it is answered", programtest.Patience, func() bool {
		return strings.Contains(strings.Join(r.Shown("u1"), "\n"), "exec is done") || strings.Contains(strings.Join(r.Shown("u1")[1:], "\n"), "cut off")
	})
	for _, turn := range r.Turns() {
		if turn.State != "done" {
			t.Errorf("turn %d is %s", turn.ID, turn.State)
		}
	}
	if n := len(r.Model.Requests()); n != 0 || marks() != 2 {
		t.Errorf("models were asked %d times, it ran %d times", n, marks())
	}
}

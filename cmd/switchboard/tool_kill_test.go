package main_test

import (
	"path/filepath"
	"strings"
	"testing"

	"switchboard/internal/testkit"
)

// A tool that somebody calls by name, and the program killed while it waits for a permission, while
// it runs, and before its answer is read: it runs once, and is answered once, with no model.
func TestToolOutlivesKills(t *testing.T) {
	t.Parallel()
	r := newRig(t, []string{"u1"}, "[router]\nrate_person = \"off\"\n[policy.exec]\nask = [\"touch *\"]\n")
	r.up()
	restart := func() {
		t.Helper()
		r.kill()
		r.up()
	}
	marks := func() int {
		files, _ := filepath.Glob(filepath.Join(r.dir, "data", "workspaces", "*", "runs.txt"))
		n := 0
		for _, f := range files {
			n += strings.Count(testkit.Read(t, f), "run\n")
		}
		return n
	}
	r.platform.Say("cu1", "u1", `/tool exec {"command": "echo run >> runs.txt; sleep 20"}`)
	r.await("it runs", patience, func() bool { return marks() == 1 })
	restart()
	r.await("it is answered", patience, func() bool { return len(r.shown("u1")) == 1 })
	if got := r.shown("u1")[0]; !strings.Contains(got, "exec was cut off") || marks() != 1 {
		t.Errorf("it ran %d times, answered %q", marks(), got)
	}
	asked := r.ask("u1", `/tool exec {"command": "touch x && echo run >> runs.txt"}`)
	restart()
	r.platform.Say("cu1", "u1", "/approve "+pairCode.FindString(asked))
	r.await("it ran", patience, func() bool { return marks() == 2 })
	restart()
	r.await("it is answered", patience, func() bool {
		return strings.Contains(strings.Join(r.shown("u1"), "\n"), "exec is done") || strings.Contains(strings.Join(r.shown("u1")[1:], "\n"), "cut off")
	})
	for _, turn := range r.turns() {
		if turn.State != "done" {
			t.Errorf("turn %d is %s", turn.ID, turn.State)
		}
	}
	if n := len(r.model.Requests()); n != 0 || marks() != 2 {
		t.Errorf("models were asked %d times, it ran %d times", n, marks())
	}
}

package agent

import (
	"fmt"
	"slices"
	"testing"

	"switchboard/agent/tools"
)

// The kept part of a prompt is that of exactly these tools.
func TestSystemPromptIsKeptForTheSameToolsOnly(t *testing.T) {
	t.Parallel()
	var s systems
	made := 0
	of := func(exec bool, effect tools.Effect, offered ...tools.Tool) string {
		return s.of(exec, effect, offered, func() string { made++; return fmt.Sprint(made) })
	}
	read := tools.Tool{Name: "read", Effect: tools.Effect("read"), Summary: "reads", Page: "how", Schema: []byte(`{}`)}
	sets := []func() string{func() string { return of(false, "") }, func() string { return of(true, "a") }, func() string { return of(true, "b") }, func() string { return of(false, "", read) }}
	for _, change := range []func(*tools.Tool){
		func(t *tools.Tool) { t.Name = "write" }, func(t *tools.Tool) { t.Summary = "x" },
		func(t *tools.Tool) { t.Note = "x" }, func(t *tools.Tool) { t.Schema = []byte(`{"a":1}`) },
	} {
		other := read
		change(&other)
		sets = append(sets, func() string { return of(false, "", other) }, func() string { return of(false, "", read, other) })
	}
	var first []string
	for _, set := range sets {
		first = append(first, set())
	}
	if made != len(sets) {
		t.Errorf("%d made for %d sets", made, len(sets))
	}
	read.Schema = slices.Clone(read.Schema) // equal, and another value
	for i, set := range sets {
		if again := set(); again != first[i] {
			t.Errorf("set %d: %s, and before %s", i, again, first[i])
		}
	}
	for i := range 2 * maxSystems {
		of(true, tools.Effect(fmt.Sprint(i)))
	}
	if len(s.made) > maxSystems {
		t.Errorf("%d are kept", len(s.made))
	}
}

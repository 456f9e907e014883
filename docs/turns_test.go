package docs_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"switchboard/router/turns"
)

// Which states a turn has, and what may follow each, stands in turns.TurnStates. Whatever
// repeats it says the same.
func TestStatesOfATurnAreTheTable(t *testing.T) {
	t.Parallel()
	states := slices.Sorted(maps.Keys(turns.TurnStates))
	list := func(text string) (list []turns.TurnState) {
		for _, word := range regexp.MustCompile(`[a-z]+`).FindAllString(text, -1) {
			list = append(list, turns.TurnState(word))
		}
		return slices.Sorted(slices.Values(list))
	}
	found := func(file, pattern string) string {
		t.Helper()
		m := regexp.MustCompile(pattern).FindStringSubmatch(read(t, file))
		if m == nil {
			t.Fatalf("%s has no %s", file, pattern)
		}
		return m[1]
	}
	table := `(?s)CREATE TABLE turns \(.*?`
	const rank = "CASE state WHEN 'running' THEN -1000000000000000000 WHEN 'queued' THEN coalesce(ahead, id) END"
	for _, file := range []string{"store/database/migrations/sqlite/0001_first.sql", "store/database/migrations/postgres/0001_first.sql"} {
		if have := list(found(file, table+`CHECK \(state IN \(([^)]*)\)`)); !slices.Equal(have, states) {
			t.Errorf("%s takes the states %v, not %v", file, have, states)
		}
		if have := found(file, table+`rank +\S+ GENERATED ALWAYS AS \((CASE .*? END)\)`); have != rank {
			t.Errorf("%s orders turns by %s, not by %s", file, have, rank)
		}
	}
	if have := list(found("cmd/switchboard/turn.go", `Only turns in this state.*enum:"([^"]*)"`)); !slices.Equal(have, states) {
		t.Errorf("turn list knows the states %v, not %v", have, states)
	}
	open := slices.DeleteFunc(slices.Clone(states), func(s turns.TurnState) bool { return !s.Open() })
	for _, file := range goFiles(t) {
		if !strings.HasPrefix(file, "store/") {
			continue
		}
		for _, m := range regexp.MustCompile(`state IN \(('queued'[^)]*)\)`).FindAllStringSubmatch(read(t, file), -1) {
			if have := list(m[1]); !isTest(file) && m[1] != "'queued', 'waiting'" && !slices.Equal(have, open) {
				t.Errorf("%s takes %v for the open states, which are %v", file, have, open)
			}
		}
	}

	drawn := map[turns.TurnState][]turns.TurnState{}
	for _, m := range regexp.MustCompile(`(?m)^    (\S+) --> (\S+?)(?::|$)`).FindAllStringSubmatch(
		found("docs/architecture.md", "(?s)\n## A turn\n.*?```mermaid\n(.*?)```"), -1) {
		from, to := turns.TurnState(m[1]), turns.TurnState(m[2])
		if drawn[from] = drawn[from]; from != to && to != "[*]" {
			drawn[from] = append(drawn[from], to)
		}
	}
	if !slices.Equal(drawn["[*]"], []turns.TurnState{turns.TurnQueued}) {
		t.Errorf("a turn is drawn to begin as %v", drawn["[*]"])
	}
	delete(drawn, "[*]")
	for state, next := range turns.TurnStates {
		if have, want := slices.Sorted(slices.Values(drawn[state])), slices.Sorted(slices.Values(next)); !slices.Equal(have, want) {
			t.Errorf("after %s the diagram draws %v, the table has %v", state, have, want)
		}
	}
	if len(drawn) != len(states) || strings.Contains(read(t, "docs/architecture.md"), "(later)\n") {
		t.Errorf("the diagram draws %v", slices.Sorted(maps.Keys(drawn)))
	}
}

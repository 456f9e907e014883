package docs_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"switchboard/docs/promises"
)

// Every live promise is cited by a test and can be broken by a mutation that
// still applies; every citation names a promise. The rest is printed.
func TestEveryPromiseIsCitedAndCanBeBroken(t *testing.T) {
	t.Parallel()
	all, err := promises.Read("promises.md")
	if err != nil {
		t.Fatal(err)
	}
	cited, err := promises.Cited(root)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, p := range all {
		known[p.ID] = true
		if !p.Live() {
			t.Logf("%s, %s: %s", p.State, p.ID, p.Text)
			if len(cited[p.ID]) > 0 {
				t.Errorf("%s is tested (%s); call it live", p.ID, strings.Join(cited[p.ID], ", "))
			}
			continue
		}
		if len(cited[p.ID]) == 0 {
			t.Errorf("%s is live and no test cites it", p.ID)
		}
		if len(p.Mutations) == 0 {
			t.Errorf("%s is live and has no mutation", p.ID)
		}
		for _, m := range p.Mutations {
			if err := m.Check(root); err != nil {
				t.Errorf("%s: %v", p.ID, err)
				continue
			}
			if !names(m.Test, cited[p.ID]) {
				t.Errorf("%s: its mutation runs %q, which is none of the tests that cite it", p.ID, m.Test)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(cited)) {
		if !known[id] {
			t.Errorf("%s is cited by %s and no promise", id, strings.Join(cited[id], ", "))
		}
	}
}

// names reports whether the arguments of go test run one of the citing tests,
// each "FILE FUNCTION".
func names(args string, citing []string) bool {
	fields := strings.Fields(args)
	for i, f := range fields {
		if f != "-run" || i+1 == len(fields) {
			continue
		}
		// The first level alone: what follows a slash names subtests.
		want, _, _ := strings.Cut(strings.Trim(fields[i+1], "'\""), "/")
		for _, place := range citing {
			file, function, _ := strings.Cut(place, " ")
			in := slices.Contains(fields, "./"+filepath.ToSlash(filepath.Dir(file)))
			if in && strings.Contains(function, strings.Trim(want, "^$")) {
				return true
			}
		}
	}
	return false
}

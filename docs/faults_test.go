package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The fault list of the operator's guide names tests that exist.
func TestFaultListNamesTests(t *testing.T) {
	t.Parallel()
	_, list, found := strings.Cut(read(t, "docs/operations.md"), "## What it survives")
	if !found {
		t.Fatal("docs/operations.md has no fault list")
	}
	folder, n := "", 0
	for _, m := range regexp.MustCompile("go test (?:-race )?(\\./\\S+)|'\\^((?:Test|Fuzz)\\w+)\\$'").FindAllStringSubmatch(list, -1) {
		if m[1] != "" {
			folder = m[1]
			continue
		}
		n++
		files, _ := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
		exists := false
		for _, path := range files {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			exists = exists || strings.Contains(string(data), "func "+m[2]+"(") && !strings.HasPrefix(string(data), "//go:build")
		}
		if !exists {
			t.Errorf("%s has no %s", folder, m[2])
		}
	}
	if n < 20 {
		t.Errorf("the list has %d commands", n)
	}
}

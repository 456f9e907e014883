package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The list of faults names tests that exist.
func TestFaultListNamesTests(t *testing.T) {
	t.Parallel()
	list := read(t, "docs/faults.md")
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

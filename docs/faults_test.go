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
	tag, folder, n := "", "", 0
	for _, m := range regexp.MustCompile("go test (?:-race )?(?:-tags (\\w+) )?(\\./\\S+)|'\\^((?:Test|Fuzz)\\w+)\\$'").FindAllStringSubmatch(list, -1) {
		if m[2] != "" {
			tag, folder = m[1], m[2]
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
			built, tagged := strings.CutPrefix(string(data), "//go:build "+tag+"\n")
			exists = exists || strings.Contains(built, "func "+m[3]+"(") && (tagged || !strings.HasPrefix(built, "//go:build"))
		}
		if !exists {
			t.Errorf("%s has no %s", folder, m[3])
		}
	}
	if n < 20 {
		t.Errorf("the list has %d commands", n)
	}
}

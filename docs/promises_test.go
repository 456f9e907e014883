package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each promise of the page has a test that exists and a patch that applies, which `make mutate` wants
// to turn the test red; no patch is left over, and the page stays short.
func TestPromisesHaveTestsAndMutations(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/promises.md")
	rows := regexp.MustCompile(`(?m)^\| (P[\w.-]+) \| .+ \| (\S+) \| (Test\w+) \|$`).FindAllStringSubmatch(page, -1)
	if n := strings.Count(page, "\n| P"); n != len(rows) || n > 40 || strings.Count(page, "\n") > 70 {
		t.Errorf("%d rows, of which %d read as a promise; wanted at most 40, on 70 lines", n, len(rows))
	}
	patches := map[string]bool{}
	files, _ := filepath.Glob("mutations/*")
	for _, file := range files {
		patches[filepath.Base(file)] = true
	}
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	_, noGit := exec.LookPath("git")
	for _, row := range rows {
		id, folder, test := row[1], row[2], row[3]
		tests, _ := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
		exists := false
		for _, file := range tests {
			exists = exists || strings.Contains(read(t, strings.TrimPrefix(file, root)), "\nfunc "+test+"(t *testing.T)")
		}
		if !exists {
			t.Errorf("%s: %s has no %s; write in docs/promises.md where it is now", id, folder, test)
		}
		if !patches[id+".patch"] {
			t.Errorf("%s has no docs/mutations/%[1]s.patch, or stands twice", id)
		}
		delete(patches, id+".patch")
		check := exec.Command("git", "apply", "--check", "docs/mutations/"+id+".patch")
		check.Dir, check.Env = top, append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(top)) // no need of a .git
		if out, err := check.CombinedOutput(); noGit == nil && err != nil {
			t.Errorf("%s: its patch does not apply; make it again for the code as it is now\n%s", id, out)
		}
	}
	for name := range patches {
		t.Errorf("docs/mutations/%s belongs to no promise", name)
	}
	if noGit != nil && os.Getenv("CI") != "" {
		t.Error("patches are not checked: ", noGit)
	} else if noGit != nil {
		t.Skip("patches are not checked: ", noGit)
	}
}

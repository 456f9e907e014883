package docs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// What docs/security.md says is shown by a test, is.
func TestSecurityNamesTestsThatExist(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("security.md")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, file := range goFiles(t) {
		if isTest(file) {
			tests.WriteString(read(t, file))
		}
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z]+)`").FindAllStringSubmatch(string(page), -1)
	for _, m := range named {
		if !strings.Contains(tests.String(), "func "+m[1]+"(") {
			t.Errorf("there is no test %s", m[1])
		}
	}
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "| ") && !strings.Contains(line, "`Test") && !strings.HasPrefix(line, "| threat") {
			t.Errorf("no test stands in %q", line)
		}
	}
	if len(named) < 20 {
		t.Errorf("only %d tests are named", len(named))
	}
}

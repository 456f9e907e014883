package docs_test

import (
	"cmp"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Every rule that may stand in a row is explained to whoever reads it.
func TestRulesAreExplained(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("why.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for file, pattern := range map[string]string{
		"../router/audit/rules.go": `= "([a-z_.]+)"`,
		"../router/policy.go":      `refuse\("([a-z_.]+)"|Rule: "([a-z_.]+)"`,
		"../agent/act.go":          `Rule: "([a-z_.]+)"`,

		"../router/decision/decision.go": `Rule = "([a-z_.]+)"`,

		"../agent/tools/command/judge.go": `= "(policy[a-z_.]+)"`,
	} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(source), -1) {
			rule := cmp.Or(m[1:]...)
			found++
			if rule != "role." && !strings.Contains(string(guide), "`"+rule+"`") {
				t.Errorf("%s: the rule %q is not in docs/why.md", file, rule)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d rules were found; are they written in another way now?", found)
	}
}

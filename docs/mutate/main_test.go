package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"switchboard/docs/promises"
)

func TestMutationsAreCaughtOrReported(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":            "module m\n\ngo 1.26\n",
		"sum.go":            "package m\n\nfunc sum(a, b int) int { return a + b }\n\nfunc unused() int { return 7 }\n",
		"sum_test.go":       "package m\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif sum(2, 3) != 5 {\n\t\tt.Error(\"wrong\")\n\t}\n}\n\nfunc TestRed(t *testing.T) { t.Error(unused()) }\n",
		"docs/promises.md":  "# none\n",
		".git/config":       "not copied\n",
		"data/switchboard":  "not copied\n",
		"switchboard":       "not copied\n",
		"configs/some.toml": "copied\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mutation := func(old, to, test string) promises.Mutation {
		return promises.Mutation{File: "sum.go", Old: old, New: to, Test: ". -run " + test}
	}
	want := map[string]struct {
		mutation promises.Mutation
		result   string
		ok       bool
	}{
		"caught":     {mutation("a + b", "a - b", "^TestSum$"), "caught", true},
		"not caught": {mutation("return 7", "return 8", "^TestSum$"), "NOT CAUGHT", false},
		"compile":    {mutation("a + b", "a + c", "^TestSum$"), "does not compile", false},
		"red":        {mutation("a + b", "a - b", "^TestRed$"), "is red, or absent", false},
		"absent":     {mutation("a + b", "a - b", "^TestNone$"), "is red, or absent", false},
	}
	var jobs []*job
	for id, w := range want {
		jobs = append(jobs, &job{id: id, mutation: w.mutation})
	}
	if err := runAll(t.Context(), root, "1m", 1, jobs); err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		if w := want[j.id]; j.ok != w.ok || !strings.Contains(j.result, w.result) {
			t.Errorf("%s: %v %q, want %v %q\n%s", j.id, j.ok, j.result, w.ok, w.result, j.output)
		}
	}
	if text, err := os.ReadFile(filepath.Join(root, "sum.go")); err != nil || !strings.Contains(string(text), "a + b") {
		t.Errorf("the repository itself was changed: %s", text)
	}
	scratch := t.TempDir()
	if err := copyTree(root, scratch); err != nil {
		t.Fatal(err)
	}
	for name, copied := range map[string]bool{"configs/some.toml": true, ".git": false, "data": false, "switchboard": false} {
		if _, err := os.Stat(filepath.Join(scratch, name)); (err == nil) != copied {
			t.Errorf("%s copied: %v, want %v", name, err == nil, copied)
		}
	}
}

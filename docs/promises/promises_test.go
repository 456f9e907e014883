package promises

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadParsesPromisesAndMutations(t *testing.T) {
	t.Parallel()
	got, err := Read(write(t, "p.md", "# Title\n\n### P1.a\n\nlive · Kept.\n\n```toml\nfile = \"f\"\nold = '''\na\nb'''\nnew = \"c\"\n"+
		"test = \". -run X\"\n```\n\n### P1.b\nlater: several engines · Not yet.\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Promise{
		{ID: "P1.a", State: "live", Text: "Kept.", Mutations: []Mutation{{File: "f", Old: "a\nb", New: "c", Test: ". -run X"}}},
		{ID: "P1.b", State: "later: several engines", Text: "Not yet."},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for text, want := range map[string]string{
		"### A\nsoon · x\n":                         ":2: want",
		"### A\nlive · x\n### A\n":                  ":3: A is there twice",
		"```toml\n":                                 ":1: a mutation before",
		"### A\nlive · x\n```toml\nfiel = 1\n```\n": ":5: ",
		"### A\nlive · x\n```toml\nfile = \"x\"\n":  "has no end",
	} {
		if _, err := Read(write(t, "p.md", text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestMutationAppliesOnceAndIsUndone(t *testing.T) {
	t.Parallel()
	path := write(t, "f.go", "one two two\n")
	root := filepath.Dir(path)
	m := Mutation{File: "f.go", Old: "one", New: "1", Test: ". -run X"}
	if err := m.Check(root); err != nil {
		t.Fatal(err)
	}
	undo, err := m.Apply(root)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "1 two two\n" {
		t.Errorf("mutated to %q", got)
	}
	if err := undo(); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "one two two\n" {
		t.Errorf("undone to %q", got)
	}
	m.Old = "two"
	if err := m.Check(root); err == nil || !strings.Contains(err.Error(), "occurs 2 times") {
		t.Errorf("an old text that is not unique: %v", err)
	}
}

func TestCitedFindsTheTestsOfAPromise(t *testing.T) {
	t.Parallel()
	// The citations are put together here, so that they are none of this file.
	cite := "// promise" + ": "
	path := write(t, "x_test.go", "package x\n\n// TestA does.\n"+cite+"P1.a, P1.b\nfunc TestA() {}\n\n"+cite+"P1.a\nfunc FuzzB() {}\n")
	got, err := Cited(filepath.Dir(path))
	want := map[string][]string{"P1.a": {"x_test.go TestA", "x_test.go FuzzB"}, "P1.b": {"x_test.go TestA"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	path = write(t, "x_test.go", "package x\n\n"+cite+"P1.a\n\nfunc TestA() {}\n")
	if _, err := Cited(filepath.Dir(path)); err == nil || !strings.Contains(err.Error(), "stands at no test") {
		t.Errorf("a citation that belongs to nothing: %v", err)
	}
}

// Package promises reads docs/promises.md, the list of what must always be true,
// and finds the tests that cite it. The tests of docs and docs/mutate use it; no
// code of the program does.
package promises

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// A Promise is one entry of docs/promises.md.
type Promise struct {
	ID        string     // e.g. "P1.ack-after-commit"
	State     string     // "live", or "later: " and what brings it to life
	Text      string     // the promise in a sentence
	Mutations []Mutation // what must turn its test red; a live one has at least one
}

// Live reports whether the promise is kept by this version.
func (p Promise) Live() bool { return p.State == "live" }

// A Mutation is a small change of the code that breaks a promise.
type Mutation struct {
	File string `toml:"file"` // from the root of the repository
	Old  string `toml:"old"`  // occurs exactly once in File
	New  string `toml:"new"`  // what stands there instead; must compile
	Test string `toml:"test"` // arguments of go test, e.g. "./router -run ^TestX$"
}

// Check says why m cannot be applied to the code below root; nil when it can.
func (m Mutation) Check(root string) error {
	if m.File == "" || m.Old == "" || m.Old == m.New || !strings.Contains(m.Test, "-run ") {
		return fmt.Errorf("a mutation needs file, old, another new, and test with -run")
	}
	_, err := m.apply(root)
	return err
}

// Apply writes the mutated file below root and returns how to undo it.
func (m Mutation) Apply(root string) (undo func() error, err error) {
	path := filepath.Join(root, m.File)
	before, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	after, err := m.apply(root)
	if err != nil {
		return nil, err
	}
	return func() error { return os.WriteFile(path, before, 0o644) }, os.WriteFile(path, []byte(after), 0o644)
}

func (m Mutation) apply(root string) (string, error) {
	data, err := os.ReadFile(filepath.Join(root, m.File))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(data), m.Old); n != 1 {
		return "", fmt.Errorf("%s: the old text occurs %d times, not once: %q", m.File, n, m.Old)
	}
	return strings.Replace(string(data), m.Old, m.New, 1), nil
}

var (
	heading = regexp.MustCompile(`^### (\S+)$`)
	state   = regexp.MustCompile(`^(live|later: [^·]+) · (.+)$`)
)

// Read parses a file such as docs/promises.md: for each promise a heading
// "### ID", a line "STATE · TEXT", and fenced blocks of toml, one a mutation.
func Read(path string) ([]Promise, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []Promise
	var block []string
	inside := false
	for i, line := range strings.Split(string(data), "\n") {
		fault := func(format string, args ...any) error {
			return fmt.Errorf("%s:%d: %s", path, i+1, fmt.Sprintf(format, args...))
		}
		id := heading.FindStringSubmatch(line)
		switch {
		case inside && line == "```":
			var m Mutation
			d := toml.NewDecoder(strings.NewReader(strings.Join(block, "\n"))).DisallowUnknownFields()
			if err := d.Decode(&m); err != nil {
				return nil, fault("%v", err)
			}
			p := &all[len(all)-1]
			p.Mutations, block, inside = append(p.Mutations, m), nil, false
		case inside:
			block = append(block, line)
		case line == "```toml":
			if len(all) == 0 {
				return nil, fault("a mutation before the first promise")
			}
			inside = true
		case id != nil:
			if slices.ContainsFunc(all, func(p Promise) bool { return p.ID == id[1] }) {
				return nil, fault("%s is there twice", id[1])
			}
			all = append(all, Promise{ID: id[1]})
		case len(all) > 0 && all[len(all)-1].State == "" && line != "":
			m := state.FindStringSubmatch(line)
			if m == nil {
				return nil, fault("want \"live · TEXT\" or \"later: TOPIC · TEXT\"")
			}
			all[len(all)-1].State, all[len(all)-1].Text = m[1], m[2]
		}
	}
	if inside {
		return nil, fmt.Errorf("%s: the last block has no end", path)
	}
	return all, nil
}

// Cited finds the comments "promise: ID" in the documentation of the test
// functions below root: by ID, the places. A citation that belongs to no test
// function is an error.
func Cited(root string) (map[string][]string, error) {
	cited := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		return citations(root, path, cited)
	})
	return cited, err
}

func citations(root, path string, cited map[string][]string) error {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	tests := map[*ast.CommentGroup]string{}
	for _, decl := range f.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Doc != nil {
			tests[fn.Doc] = fn.Name.Name
		}
	}
	short, err := filepath.Rel(root, path)
	if err != nil {
		return err
	}
	for _, group := range f.Comments {
		for _, c := range group.List {
			ids, ok := strings.CutPrefix(c.Text, "// promise:")
			if !ok {
				continue
			}
			name := tests[group]
			if !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz") {
				return fmt.Errorf("%s: %q stands at no test function", files.Position(c.Pos()), c.Text)
			}
			for _, id := range strings.FieldsFunc(ids, func(r rune) bool { return r == ' ' || r == ',' }) {
				cited[id] = append(cited[id], short+" "+name)
			}
		}
	}
	return nil
}

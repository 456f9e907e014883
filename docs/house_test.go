// Package docs_test holds the repository to its own rules: what lies where, who
// imports whom, what is documented, which promises are kept by which tests, and
// that the container files say what the code does.
package docs_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the repository's folder, seen from this test.
const root = ".."

// read is a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// goFiles are all Go files of the repository, from its root.
func goFiles(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "data") {
			return filepath.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(name, ".go") {
			rel, err := filepath.Rel(root, path)
			files = append(files, filepath.ToSlash(rel))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func isTest(file string) bool { return strings.HasSuffix(file, "_test.go") }

func TestRootHoldsOnlyWhatBelongsThere(t *testing.T) {
	t.Parallel()
	want := strings.Fields(`channels router agent scheduler store configs internal cmd docs go.mod go.sum
		Dockerfile compose.yaml Makefile README.md CHANGELOG.md LICENSE`)
	var ignored []string // what running the program leaves, as .gitignore says
	for line := range strings.Lines(read(t, ".gitignore")) {
		ignored = append(ignored, strings.Trim(strings.TrimSpace(line), "/"))
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, e := range entries {
		name := e.Name()
		have = append(have, name)
		known := slices.Contains(want, name) || strings.HasPrefix(name, ".") ||
			slices.ContainsFunc(ignored, func(p string) bool { ok, _ := filepath.Match(p, name); return ok })
		if !known {
			t.Errorf("%s does not belong at the root", name)
		}
	}
	for _, name := range want {
		if !slices.Contains(have, name) {
			t.Errorf("%s is missing", name)
		}
	}
	if !strings.Contains(read(t, "LICENSE"), "Apache License\n                           Version 2.0, January 2004") {
		t.Error("LICENSE is not Apache-2.0")
	}
}

func TestReadmeAndCISayTheSameCommands(t *testing.T) {
	t.Parallel()
	readme := read(t, "README.md")
	for _, command := range []string{"go run ./cmd/switchboard", "go test ./..."} {
		if !strings.Contains(readme, command) {
			t.Errorf("README.md does not say %q", command)
		}
	}
	if ci := read(t, ".ci/run"); !regexp.MustCompile(`(?m)^CI=true go test \./\.\.\.$`).MatchString(ci) {
		t.Error(".ci/run does not call exactly: CI=true go test ./...")
	}
	if !regexp.MustCompile(`(?m)^check:\n\t\.ci/run$`).MatchString(read(t, "Makefile")) {
		t.Error("make check is not what CI runs")
	}
}

func TestFilesStayShort(t *testing.T) {
	t.Parallel()
	offline := 0
	for _, file := range goFiles(t) {
		lines := strings.Count(read(t, file), "\n")
		if lines > 500 {
			t.Errorf("%s has %d lines; split it by topic before 500", file, lines)
		}
		if strings.HasPrefix(file, "agent/llm/offline/") && !isTest(file) {
			offline += lines
		}
	}
	if offline > 1250 {
		t.Errorf("the offline model has %d lines, more than 1250", offline)
	}
}

func TestEverythingExportedIsDocumented(t *testing.T) {
	t.Parallel()
	packages := map[string]bool{} // folder → has a package comment
	for _, file := range goFiles(t) {
		if isTest(file) {
			continue
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, filepath.Join(root, file), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		dir := filepath.Dir(file)
		packages[dir] = packages[dir] || f.Doc != nil
		for _, decl := range f.Decls {
			for _, name := range undocumented(decl) {
				t.Errorf("%s: %s has no doc comment", file, name)
			}
		}
	}
	for dir, documented := range packages {
		if !documented {
			t.Errorf("%s has no package comment", dir)
		}
	}
}

// wellKnown methods do what their interface says; a comment would repeat it.
var wellKnown = strings.Fields(`String GoString Error Unwrap Is As MarshalText UnmarshalText MarshalJSON
	UnmarshalJSON Close Read Write Len Less Swap Scan Value ServeHTTP RoundTrip`)

// undocumented lists the exported names that decl declares without a comment. In
// a block of constants, its comment or that of their type speaks for them; in a
// block of types, its comment for those it names.
func undocumented(decl ast.Decl) (names []string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Doc != nil || !d.Name.IsExported() || d.Recv != nil && slices.Contains(wellKnown, d.Name.Name) {
			return nil
		}
		if d.Recv != nil && !receiver(d.Recv.List[0].Type) {
			return nil
		}
		return []string{d.Name.Name}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				byGroup := d.Doc != nil && (!d.Lparen.IsValid() || strings.Contains(d.Doc.Text(), s.Name.Name))
				if s.Name.IsExported() && s.Doc == nil && !byGroup {
					names = append(names, s.Name.Name)
				}
			case *ast.ValueSpec:
				if d.Doc != nil || s.Doc != nil || s.Comment != nil || d.Tok == token.CONST && s.Type != nil {
					continue
				}
				for _, n := range s.Names {
					if n.IsExported() {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}

// receiver reports whether a method of that receiver can be seen from outside.
func receiver(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.IsExported()
	}
	return true
}

func TestCoreNamesNoPlatform(t *testing.T) {
	t.Parallel()
	// Where a platform may be named: its adapter, and these, each with its reason.
	allowed := []*regexp.Regexp{
		regexp.MustCompile(`^channels/(` + strings.Join(platforms, "|") + `)/`),
		regexp.MustCompile(`^cmd/switchboard/kinds\.go$`),   // a line each
		regexp.MustCompile(`^cmd/switchboard/dev\.go$`),     // the fake platforms
		regexp.MustCompile(`^configs/people\.go$`),          // an example in a sentence
		regexp.MustCompile(`^cmd/switchboard/programtest/`), // the stand-ins of its tests
		regexp.MustCompile(`^docs/`),
	}
	words := regexp.MustCompile(`(?i)\b(` + strings.Join(platforms, "|") + `)\b`)
	names := regexp.MustCompile(`(?i)` + strings.Join(platforms, "|"))
	for _, file := range goFiles(t) {
		if isTest(file) || slices.ContainsFunc(allowed, func(r *regexp.Regexp) bool { return r.MatchString(file) }) {
			continue
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, file, bytes.NewBufferString(read(t, file)), parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if n.Kind == token.STRING && words.MatchString(n.Value) {
					t.Errorf("%s: %s names a platform; that is a missing ability or feature", files.Position(n.Pos()), n.Value)
				}
			case *ast.Ident:
				if names.MatchString(n.Name) && n.Name != "clockSlack" { // which is English
					t.Errorf("%s: %s names a platform; that is a missing ability or feature", files.Position(n.Pos()), n.Name)
				}
			}
			return true
		})
	}
}

// Files that docs/architecture.md names are there: with their folder, or by a name that the tree has. Where it says `Name`
// in `file.go`, or `Name` does this (`file.go`), the file has that word.
func TestArchitectureNamesFilesThatAreThere(t *testing.T) {
	t.Parallel()
	text := read(t, "docs/architecture.md")
	const file = "`([\\w./-]+\\.(?:go|sql))`"
	named := regexp.MustCompile(file).FindAllStringSubmatch(text, -1)
	words := regexp.MustCompile("`(?:\\w+\\.)?(\\w+)`[a-z ,]*? (?:in |\\()"+file).FindAllStringSubmatch(text, -1)
	if len(named) < 100 || len(words) < 30 {
		t.Fatalf("only %d files and %d words in them are named", len(named), len(words))
	}
	bases := map[string][]string{} // name → where such files lie
	_ = filepath.WalkDir(root, func(path string, _ fs.DirEntry, _ error) error {
		bases[filepath.Base(path)] = append(bases[filepath.Base(path)], path)
		return nil
	})
	places := func(name string) []string {
		if strings.Contains(name, "/") {
			return []string{filepath.Join(root, name)}
		}
		return bases[name]
	}
	for _, m := range named {
		if !slices.ContainsFunc(places(m[1]), func(path string) bool { _, err := os.Stat(path); return err == nil }) {
			t.Errorf("docs/architecture.md names %s", m[1])
		}
	}
	for _, m := range words {
		if m[1] == "go" { // that was a file, too
			continue
		}
		word := regexp.MustCompile(`\b` + m[1] + `\b`)
		if !slices.ContainsFunc(places(m[2]), func(path string) bool { text, _ := os.ReadFile(path); return word.Match(text) }) {
			t.Errorf("docs/architecture.md says that %s is in %s", m[1], m[2])
		}
	}
}

// A folder that is full is parted by feature, and what all features share stays little.
func TestFoldersStaySmall(t *testing.T) {
	t.Parallel()
	product, all, shared := map[string]int{}, map[string]int{}, 0
	for _, file := range goFiles(t) {
		dir := filepath.Dir(file)
		if all[dir]++; isTest(file) {
			continue
		}
		product[dir]++
		if dir != "router/core" {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			shared += exported(decl)
		}
	}
	for dir, n := range all {
		if product[dir] > 30 || n > 60 {
			t.Errorf("%s has %d files, %d with tests; part it by feature before 30 and 60", dir, product[dir], n)
		}
	}
	if shared == 0 || shared > 60 {
		t.Errorf("router/core has %d exported names; it is for the few, at most 60, that several features share", shared)
	}
}

// exported counts the names that a declaration gives to other packages; methods are none.
func exported(decl ast.Decl) (n int) {
	count := func(names ...*ast.Ident) {
		for _, name := range names {
			if name.IsExported() {
				n++
			}
		}
	}
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			count(d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				count(s.Name)
			case *ast.ValueSpec:
				count(s.Names...)
			}
		}
	}
	return n
}

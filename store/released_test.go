package store_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A released migration is never edited, since databases have it already; a new one is added to
// the list: sha256sum migrations/*/*.sql > testdata/released.sha256.
func TestReleasedMigrationsAreAsTheyWere(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("migrations/*/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		have = append(have, fmt.Sprintf("%x  %s", sha256.Sum256(text), filepath.ToSlash(file)))
	}
	list, err := os.ReadFile("testdata/released.sha256")
	if err != nil {
		t.Fatal(err)
	}
	released := strings.Split(strings.TrimSpace(string(list)), "\n")
	for _, line := range released {
		if !slices.Contains(have, line) {
			t.Errorf("%s was changed or removed: what is to be different is a new migration", line[66:])
		}
	}
	for _, line := range have {
		if !slices.ContainsFunc(released, func(r string) bool { return r[66:] == line[66:] }) {
			t.Errorf("%s is new: add its line to testdata/released.sha256:\n%s", line[66:], line)
		}
	}
}

package storetest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
)

var errNoBinaries = errors.New("no PostgreSQL server binaries in PATH or /usr/lib/postgresql; install them or set TEST_POSTGRES_DSN")

// foreign names a server that the tests did not start.
const foreign = "TEST_POSTGRES_DSN"

// server starts the process's one server, the first time.
var server = sync.OnceValues(func() (string, error) {
	if dsn := os.Getenv(foreign); dsn != "" {
		return dsn, nil
	}
	bin, err := binaries()
	if err != nil {
		return "", err
	}
	return start(bin)
})

var loud sync.Once

func unavailable(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, errNoBinaries) || os.Getenv("CI") == "true" {
		t.Fatalf("PostgreSQL for tests: %v", err)
	}
	loud.Do(func() {
		fmt.Fprintf(os.Stderr, "\n*** HALF OF THE STORE'S TESTS IS SKIPPED: %v ***\n\n", err)
	})
	t.Skip("no PostgreSQL")
}

// binaries is the folder of initdb and postgres, the newest version first.
func binaries() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		// Debian's PATH has links; postgres wants its own folder.
		if path, err = filepath.EvalSymlinks(path); err == nil {
			if dir := filepath.Dir(path); executable(dir) {
				return dir, nil
			}
		}
	}
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	version := func(dir string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
		return n
	}
	slices.SortFunc(dirs, func(a, b string) int { return version(b) - version(a) })
	for _, dir := range dirs {
		if executable(dir) {
			return dir, nil
		}
	}
	return "", errNoBinaries
}

func executable(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		if _, err := exec.LookPath(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

package docs_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "switchboard"

// A pkg is what `go list` says of one package of ours; imports are without the
// module's name and only our own.
type pkg struct {
	ImportPath string
	Dir        string
	Name       string
	Imports    []string
	CgoFiles   []string
	Standard   bool
}

// list asks the go command, which sees build constraints as a build does.
func list(t *testing.T, args ...string) (all []pkg) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,Name,Imports,CgoFiles,Standard"}, args...)...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		stderr := ""
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			stderr = string(exit.Stderr)
		}
		t.Fatalf("go list: %v\n%s", err, stderr)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// ours is the path of one of our packages below the module; ok is false for others.
func ours(importPath string) (string, bool) { return strings.CutPrefix(importPath, module+"/") }

// support says of a package that is there for tests, such as
// channels/channelstest and all below it, whose tests those are: channels. testkit is
// there for all.
func support(name string) (parent string, ok bool) {
	for dir := name; dir != "."; dir = path.Dir(dir) {
		if strings.HasSuffix(dir, "test") || dir == "internal/testkit" {
			return path.Dir(dir), true
		}
	}
	return "", false
}

// arrows says for each of our packages which others it may import; a name that
// ends in / stands for everything below. The first row that fits counts. Everybody may
// import what leaves names.
var arrows = []struct {
	from string
	to   []string
}{
	{"channels", nil},
	{"channels/render", []string{"channels"}},
	{"channels/wire", []string{"channels"}},
	{"channels/api", []string{"channels", "channels/render", "router", "router/", "agent", "agent/", "scheduler"}},
	{"channels/web", []string{"channels", "channels/api", "channels/render", "router", "router/", "agent", "agent/", "scheduler"}},
	{"channels/", []string{"channels", "channels/render", "channels/wire"}},
	{"scheduler", nil},
	{"internal/api", nil},
	{"internal/retry", nil},
	{"internal/secrets", nil},
	{"internal/secrets/vault", nil},
	{"internal/words", nil},
	{"agent/form", nil},
	{"agent/memory", []string{"agent/form", "agent/llm", "agent/tools"}},
	{"agent/llm", nil},
	{"agent/llm/offline", []string{"scheduler"}},
	{"agent/llm/", nil},
	{"agent/tools", []string{"agent/tools/"}},
	{"agent/tools/sandbox", []string{"agent/tools/workspace"}},
	{"agent/tools/workspace", nil},
	{"agent/tools/command", nil},
	{"agent/tools/host", nil},
	{"agent", []string{"agent/"}},
	// What every feature shares, the table of commands, and the features, from below; those on
	// top never import each other.
	{"router/core", agents()},
	{"router/decision", nil},
	{"router/commands", agents("channels/render", "router/core")},
	{"router/sessions", agents("channels/render", "router/commands", "router/core")},
	{"router/audit", agents("channels/render", "router/commands", "router/core")},
	{"router/money", agents("channels/render", "router/commands", "router/core")},
	{"router/outbox", agents("channels/render", "router/core", "router/commands")},
	{"router/outbox/delivery", agents("channels/render", "router/core", "router/outbox")},
	{"router/intake", agents("router/core", "router/outbox")},
	{"router/approvals", agents("channels/render", "router/commands", "router/core", "router/intake", "router/outbox")},
	{"router/turns", agents("channels/render", "router/approvals", "router/commands", "router/core", "router/intake", "router/money", "router/outbox", "router/outbox/delivery", "router/sessions")},
	{"router/files", []string{"channels", "agent/tools", "router/core"}},
	{"router/", belowTop},
	{"router", append([]string{"router/"}, belowTop...)},
	{"store/database", []string{"router/core"}},
	{"store/engines", []string{"agent/tools", "router/core", "store/database"}},
	{"store/blobs", []string{"router/core", "router/files", "store/database"}},
	{"store/backup", []string{"channels", "router/core", "router/outbox", "internal/secrets/vault", "store/blobs", "store/database", "store/engines"}},
	// The features of the store, in the same order; each may import the types of its own
	// and of those below.
	{"store/sessions", stored()},
	{"store/audit", stored("store/sessions")},
	{"store/money", stored("store/sessions", "router/plain")},
	{"store/outbox", stored("store/audit", "store/sessions")},
	{"store/approvals", stored("store/audit", "store/outbox", "store/sessions")},
	{"store/turns", stored("store/approvals", "store/audit", "store/money", "store/outbox", "store/sessions")},
	{"store/memory", stored("store/audit", "store/sessions", "router/memory")},
	{"store/jobs", stored(append(storesBelowTop, "router/jobs")...)},
	{"store/settings", stored(append(storesBelowTop, "router/settings")...)},
	{"store/browsers", stored(append(storesBelowTop, "router/browsers")...)},
	{"store/tokens", stored(append(storesBelowTop, "router/tokens")...)},
	{"store/people", stored(append(storesBelowTop, "router/browsers", "router/files", "router/people", "router/tokens", "store/browsers", "store/tokens")...)},
	{"store/files", stored(append(storesBelowTop, "router/files", "store/blobs")...)},
	{"store", []string{"channels", "channels/render", "scheduler", "agent", "agent/", "router", "router/", "store/"}},
	{"configs", []string{"channels", "scheduler", "agent", "agent/", "router", "router/core", "router/money", "router/outbox", "internal/secrets/vault", "store/database"}},
	{"cmd/switchboard/logs", []string{"configs"}},
	{"cmd/", []string{"channels", "channels/", "scheduler", "agent", "agent/", "router", "router/", "internal/secrets/", "store", "store/", "configs", "cmd/switchboard/"}},
}

// agents is all of the agent, and what else a feature may import.
func agents(more ...string) []string {
	return append([]string{"channels", "agent", "agent/"}, more...)
}

// belowTop is what the features that stand on top may import.
var belowTop = agents("channels/render", "scheduler", "router/approvals", "router/audit", "router/commands", "router/core", "router/decision", "router/intake",
	"router/money", "router/outbox", "router/outbox/delivery", "router/sessions", "router/turns")

// stored is what every feature of the store may import, and what else one may.
func stored(more ...string) []string {
	return slices.Concat(belowTop, []string{"store/database", "store/engines"}, more)
}

// storesBelowTop are the features of the store on which others stand.
var storesBelowTop = []string{"store/approvals", "store/audit", "store/memory", "store/money", "store/outbox", "store/sessions", "store/turns"}

// leaves import nothing of ours.
var leaves = []string{"internal/api", "internal/retry", "internal/secrets", "internal/words"}

func fits(pattern, name string) bool {
	return pattern == name || strings.HasSuffix(pattern, "/") && strings.HasPrefix(name, pattern)
}

// platforms are the names of the packages below channels that have a line in cmd/switchboard/kinds.go.
var platforms = func() (names []string) {
	text, err := os.ReadFile(root + "/cmd/switchboard/kinds.go")
	for _, line := range regexp.MustCompile(`(?m)^\t(\w+)\.Kind,$`).FindAllSubmatch(text, -1) {
		names = append(names, string(line[1]))
	}
	if err != nil || len(names) == 0 {
		panic(fmt.Sprintf("no platforms: %v", err))
	}
	return names
}()

// fakes are platforms for tests that `switchboard dev` shows to people; of cmd only
// dev.go may import them.
var fakes = func() []string {
	list := []string{"channels/platformtest"}
	for _, p := range platforms {
		list = append(list, "channels/"+p+"/"+p+"test")
	}
	return list
}()

// mayImport says why from must not import to; "" when it may.
func mayImport(from, to string) string {
	_, toSupport := support(to)
	parent, fromSupport := support(from)
	switch {
	case from == "cmd/switchboard" && slices.Contains(fakes, to), slices.Contains(leaves, to) && from != to:
		return ""
	case toSupport && !fromSupport:
		return "only tests import what is there for tests"
	case fromSupport && (toSupport || to == parent):
		return ""
	case fromSupport: // it may import what its parent may
		from = parent
	}
	for _, a := range arrows {
		if !fits(a.from, from) {
			continue
		}
		if slices.ContainsFunc(a.to, func(p string) bool { return fits(p, to) }) {
			return ""
		}
		return "there is no arrow"
	}
	return "the package has no row in the list of arrows"
}

func TestImportsFollowTheArrows(t *testing.T) {
	t.Parallel()
	for _, p := range list(t, "./...") {
		from, _ := ours(p.ImportPath)
		for _, imported := range p.Imports {
			if to, ok := ours(imported); ok {
				if why := mayImport(from, to); why != "" {
					t.Errorf("%s imports %s: %s", from, to, why)
				}
			}
		}
	}
}

// A row is the first that fits some package; else what it was for is gone, or a row above speaks for it.
func TestArrowsAreOfPackagesThatAreThere(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, p := range list(t, "-tags", "scripted", "./...") {
		from, _ := ours(p.ImportPath)
		for _, a := range arrows {
			if fits(a.from, from) {
				used[a.from] = true
				break
			}
		}
	}
	for _, a := range arrows {
		if !used[a.from] {
			t.Errorf("the row %s fits no package", a.from)
		}
	}
}

// The scripted channel is for tests of the real binary, so cmd may import it, but
// only under its tag.
func TestImportsOfTheScriptedBuildFollowTheArrows(t *testing.T) {
	t.Parallel()
	for _, p := range list(t, "-tags", "scripted", "./...") {
		from, _ := ours(p.ImportPath)
		for _, imported := range p.Imports {
			to, ok := ours(imported)
			if !ok || from == "cmd/switchboard" && strings.HasPrefix(to, "channels/channelstest") {
				continue
			}
			if why := mayImport(from, to); why != "" {
				t.Errorf("with tag scripted %s imports %s: %s", from, to, why)
			}
		}
	}
}

func TestOnlyDevImportsFakes(t *testing.T) {
	t.Parallel()
	for _, file := range goFiles(t) {
		if _, ok := support(path.Dir(file)); ok || isTest(file) || file == "cmd/switchboard/dev.go" || !strings.HasPrefix(file, "cmd/") {
			continue
		}
		for _, fake := range fakes {
			if strings.Contains(read(t, file), `"`+module+"/"+fake+`"`) {
				t.Errorf("%s imports %s, which is for dev.go", file, fake)
			}
		}
	}
}

func TestLeavesDependOnNothingOfOurs(t *testing.T) {
	t.Parallel()
	for _, leaf := range []string{"internal/api", "internal/retry", "internal/secrets", "internal/words", "channels", "scheduler", "agent/llm", "agent/tools/workspace"} {
		for _, p := range list(t, "-deps", "./"+leaf) {
			if name, ok := ours(p.ImportPath); ok && name != leaf && !slices.Contains(leaves, name) {
				t.Errorf("%s depends on %s", leaf, name)
			}
		}
	}
}

func TestPlatformLibrariesStayInTheirAdapters(t *testing.T) {
	t.Parallel()
	// Prefix of an import → the package that may have it, with what lies below; ""
	// for tests alone.
	libraries := map[string]string{
		"github.com/jmoiron/sqlx":       "store",
		"modernc.org/sqlite":            "store",
		"github.com/lib/pq":             "store",
		"github.com/pressly/goose/":     "store",
		"database/sql":                  "store",
		"github.com/openai/":            "agent/llm",
		"github.com/prometheus/":        "cmd/switchboard/metrics",
		"github.com/alecthomas/kong":    "cmd",
		"github.com/pelletier/go-toml/": "configs",
		"github.com/landlock-lsm/":      "agent/tools",
		"mvdan.cc/sh/":                  "agent/tools/command",
		"github.com/robfig/cron":        "scheduler",
		"github.com/yuin/goldmark":      "channels",
		"github.com/gorilla/websocket":  "channels",
		"go.uber.org/goleak":            "",
		"testing":                       "",
		"pgregory.net/rapid":            "",
	}
	hits := func(imported, prefix string) bool {
		return imported == prefix || strings.HasSuffix(prefix, "/") && strings.HasPrefix(imported, prefix) ||
			strings.HasPrefix(imported, prefix+"/")
	}
	all := list(t, "./...")
	for _, platform := range platforms { // what else an adapter imports is the platform's library
		i := slices.IndexFunc(all, func(p pkg) bool { return p.ImportPath == module+"/channels/"+platform })
		for _, imported := range all[i].Imports {
			known := slices.ContainsFunc(slices.Collect(maps.Keys(libraries)), func(prefix string) bool { return hits(imported, prefix) })
			if host, _, _ := strings.Cut(imported, "/"); strings.Contains(host, ".") && host != "golang.org" && !known {
				libraries[imported] = "channels/" + platform
			}
		}
	}
	for _, p := range all {
		from, _ := ours(p.ImportPath)
		if _, ok := support(from); ok || strings.HasPrefix(from, "docs/") {
			continue
		}
		for _, imported := range p.Imports {
			for prefix, home := range libraries {
				if hits(imported, prefix) && (home == "" || from != home && !strings.HasPrefix(from, home+"/")) {
					t.Errorf("%s imports %s, which belongs to %s", from, imported, cmp.Or(home, "tests"))
				}
			}
		}
	}
}

func TestBinaryIsStatic(t *testing.T) {
	t.Parallel()
	for _, p := range list(t, "-deps", "./cmd/switchboard") {
		if len(p.CgoFiles) > 0 && !p.Standard {
			t.Errorf("%s needs C; the Dockerfile builds without", p.ImportPath)
		}
	}
}

func TestArrowsAllowAndForbidImports(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"cmd/switchboard", "store", true},
		{"cmd/switchboard", "channels/channelstest", false},
		{"cmd/switchboard", "channels/telegram/telegramtest", true},
		{"channels/telegram", "channels/telegram/telegramtest", false},
		{"cmd/switchboard", "docs/mutate", false},
		{"router", "agent/tools", true},
		{"router", "store", false},
		{"router", "channels/console", false},
		{"agent", "agent/llm", true},
		{"agent", "router", false},
		{"agent/llm", "agent/tools", false},
		{"agent/tools", "agent/tools/sandbox", true},
		{"agent/tools/sandbox", "agent/tools", false},
		{"agent/llm/offline", "agent/llm", false},
		{"channels", "channels/render", false},
		{"channels/render", "channels", true},
		{"channels/telegram", "channels/slack", false},
		{"channels/telegram", "channels/wire", true},
		{"channels/wire", "channels/render", false},
		{"channels/telegram", "router", false},
		{"store", "router", true},
		{"store", "configs", false},
		{"store/database", "store/engines", false},
		{"store/engines", "store/database", true},
		{"store/engines", "store", false},
		{"configs", "store/database", true},
		{"configs", "cmd/switchboard", false},
		{"configs", "channels/telegram", false},
		{"cmd/switchboard", "internal/api", true},
		{"internal/api", "configs", false},
		{"cmd/switchboard", "cmd/switchboard/programtest", false},
		{"cmd/switchboard/programtest", "channels/telegram/telegramtest", true},
		{"cmd/switchboard/programtest", "store/storetest", true},
		{"channels/channelstest", "channels", true},
		{"channels/channelstest/scripted", "channels/channelstest", true},
		{"channels/channelstest/scripted", "router", false},
		{"nowhere", "channels", false},
	} {
		if why := mayImport(c.from, c.to); (why == "") != c.want {
			t.Errorf("%s → %s: %q, want allowed %v", c.from, c.to, why, c.want)
		}
	}
}

package docs_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"switchboard/configs"
)

// one is the only match of a pattern in a file of the repository.
func one(t *testing.T, name, pattern string) string {
	t.Helper()
	all := regexp.MustCompile(`(?m)`+pattern).FindAllStringSubmatch(read(t, name), -1)
	if len(all) != 1 {
		t.Fatalf("%s: %d lines match %s, want one", name, len(all), pattern)
	}
	return all[0][1]
}

func TestImageIsBuiltAsTheCodeIs(t *testing.T) {
	t.Parallel()
	version := one(t, "go.mod", `^go (\d+\.\d+)`)
	if image := one(t, "Dockerfile", `^FROM golang:(\d+\.\d+)`); image != version {
		t.Errorf("the image builds with Go %s, go.mod wants %s", image, version)
	}
	path := one(t, "Dockerfile", `CGO_ENABLED=0 go build .* (\./\S+)$`)
	if _, err := os.Stat(filepath.Join(root, path, "main.go")); err != nil {
		t.Errorf("the image builds %s: %v", path, err)
	}
	if build := one(t, "compose.yaml", `^      context: (\S+)$`); build != "." {
		t.Errorf("compose builds %s", build)
	}
	if user := one(t, "Dockerfile", `^USER (\d+:\d+)$`); strings.HasPrefix(user, "0") {
		t.Errorf("the image runs as %s", user)
	}
}

func TestVolumeIsTheDataDir(t *testing.T) {
	t.Parallel()
	volume := one(t, "Dockerfile", `^VOLUME (\S+)$`)
	if dir := one(t, "Dockerfile", `SWITCHBOARD_DATA_DIR=(\S+)`); dir != volume {
		t.Errorf("data_dir is %s, the volume %s", dir, volume)
	}
	if mount := one(t, "compose.yaml", `^      - data:(\S+)$`); mount != volume {
		t.Errorf("compose mounts the data at %s, the volume is %s", mount, volume)
	}
}

func TestPortIsPublishedWhenSomethingListens(t *testing.T) {
	t.Parallel()
	_, port, err := net.SplitHostPort(configs.Defaults().Server.Listen)
	if err != nil {
		t.Fatal(err)
	}
	_, warnings, err := configs.Load(configs.Options{Dir: t.TempDir(), Env: []string{"HOME=/", "SWITCHBOARD_SERVER__LISTEN=127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	listens := true
	for _, w := range warnings {
		listens = listens && w.Key != "server.listen"
	}
	exposed := regexp.MustCompile(`(?m)^EXPOSE (\S+)$`).FindStringSubmatch(read(t, "Dockerfile"))
	published := regexp.MustCompile(`(?m)^      - "?(?:[0-9.]+:)?\d+:(\d+)"?$`).FindStringSubmatch(read(t, "compose.yaml"))
	if (exposed != nil) != listens || (published != nil) != listens {
		t.Errorf("server.listen is live: %v; exposed %v, published %v", listens, exposed, published)
	}
	for _, p := range [][]string{exposed, published} {
		if p != nil && p[1] != port {
			t.Errorf("port %s, but the program listens on %s", p[1], port)
		}
	}
}

func TestContainersSetOnlyKnownVariables(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"Dockerfile", "compose.yaml", "README.md"} {
		for _, name := range regexp.MustCompile(`\bSWITCHBOARD_[A-Z_]+`).FindAllString(read(t, file), -1) {
			_, _, err := configs.Load(configs.Options{Dir: t.TempDir(), Env: []string{"HOME=/", name + "=x"}})
			if err != nil && strings.Contains(err.Error(), "unknown key") {
				t.Errorf("%s sets %s: %v", file, name, err)
			}
			if !strings.Contains(name, "__") && name != "SWITCHBOARD_DATA_DIR" {
				t.Errorf("%s sets %s, which is no setting", file, name)
			}
		}
	}
	for _, image := range []string{"SWITCHBOARD_STORE__URL: postgres://", "condition: service_healthy", "POSTGRES_PASSWORD: ${POSTGRES_PASSWORD:?"} {
		if !strings.Contains(read(t, "compose.yaml"), image) {
			t.Errorf("compose.yaml does not say %q", image)
		}
	}
}

// With all profiles on compose runs two engines at least, and whichever it runs have
// one database and one data volume.
func TestEnginesOfComposeShareTheirData(t *testing.T) {
	t.Parallel()
	_, services, _ := strings.Cut(read(t, "compose.yaml"), "\nservices:\n")
	services, _, _ = strings.Cut(services, "\nvolumes:\n")
	names := regexp.MustCompile(`(?m)^  ([a-z]+):`).FindAllStringSubmatchIndex(services, -1)
	var engine string // the one that others are made of
	urls, volumes := map[string]int{}, map[string]int{}
	engines := 0
	for i, at := range names {
		end := len(services)
		if i+1 < len(names) {
			end = names[i+1][0]
		}
		block := services[at[0]:end]
		if strings.Contains(block, ": &engine") {
			engine = block
		}
		merged := strings.Contains(block, "<<: *engine")
		if !merged && !strings.Contains(block, "image: switchboard") {
			continue
		}
		engines++
		// A key of its own takes the place of the merged one, whole.
		part := func(key string) string {
			own := regexp.MustCompile(`(?m)^    ` + key + `:\n((?:      .*\n)+)`)
			for _, in := range []string{block, engine} {
				if m := own.FindStringSubmatch(in); m != nil {
					return m[1]
				}
				if !merged {
					break
				}
			}
			return ""
		}
		urls[regexp.MustCompile(`SWITCHBOARD_STORE__URL: (.*)`).FindString(part("environment"))]++
		volumes[regexp.MustCompile(`- \S+:/data\b`).FindString(part("volumes"))]++
	}
	if engines < 2 || len(urls) != 1 || len(volumes) != 1 || urls[""] > 0 || volumes[""] > 0 {
		t.Errorf("%d engines, with the databases %v and the data volumes %v", engines, urls, volumes)
	}
}

// One engine runs by default, with the credentials that the settings' examples and the channels'
// guides name, and the settings themselves.
func TestComposeRunsWhatTheSettingsSay(t *testing.T) {
	t.Parallel()
	compose := read(t, "compose.yaml")
	var names []string
	for _, m := range regexp.MustCompile(`"env:([A-Z_]+)"`).FindAllStringSubmatch(configs.Sample, -1) {
		if other := regexp.MustCompile(`^(NAME$|SWITCHBOARD_)`); other.MatchString(m[1]) {
			continue // a placeholder, or of what this build has not
		}
		names = append(names, m[1])
	}
	for _, guide := range []string{"docs/telegram.md", "docs/slack.md", "docs/discord.md"} {
		tokens := regexp.MustCompile(`\b[A-Z][A-Z_]*_TOKEN\b`).FindAllString(read(t, guide), -1)
		if len(tokens) == 0 {
			t.Errorf("%s names no token", guide)
		}
		names = append(names, tokens...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if guide := read(t, "docs/containers.md"); !strings.Contains(guide, "\n"+name+"=…") {
			t.Errorf("docs/containers.md does not name %s", name)
		}
		if want := "      " + name + ": ${" + name + ":-}\n"; !strings.Contains(compose, want) {
			t.Errorf("compose.yaml does not pass %s", name)
		}
	}
	if strings.Contains(compose, "bind") || strings.Contains(compose, "switchboard.toml:") {
		t.Error("compose wants a settings file, which has to be made by hand")
	}
	if profile := one(t, "compose.yaml", `^    profiles: (.+)$`); profile != "[two]" {
		t.Errorf("the second engine is of the profiles %s", profile)
	}
	if _, second, _ := strings.Cut(compose, "\n  second:\n"); !strings.HasPrefix(second, "    <<: *engine\n    profiles: [two]\n") {
		t.Error("the second engine is not the first again, with a profile")
	}
}

// What the image is built with is what the program says of itself.
func TestImageKnowsItsVersion(t *testing.T) {
	t.Parallel()
	flags := one(t, "Dockerfile", `go build .*-ldflags="([^"]+)"`)
	if arg := one(t, "Dockerfile", `^ARG (\w+)=$`); arg != "VERSION" || one(t, "compose.yaml", `^        VERSION: (\S+)$`) != "${VERSION:-}" {
		t.Errorf("the build argument is %s", arg)
	}
	binary := filepath.Join(t.TempDir(), "switchboard")
	build := exec.Command("go", "build", "-ldflags", strings.ReplaceAll(flags, "$VERSION", "v1.2.3-test"), "-o", binary, "./cmd/switchboard")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	if out, err := exec.Command(binary, "version").CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "switchboard v1.2.3-test ") {
		t.Errorf("%v, %s", err, out)
	}
}

var (
	binaries string // a folder
	build    = sync.OnceValue(func() error {
		build := exec.Command("go", "build", "-o", binaries+string(os.PathSeparator), "./cmd/switchboard")
		build.Dir = root
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build: %w\n%s", err, out)
		}
		return nil
	})
)

// program is the path of the program, which is built the first time.
func program(t *testing.T) string {
	t.Helper()
	if err := build(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(binaries, "switchboard")
}

func TestMain(m *testing.M) {
	var err error
	if binaries, err = os.MkdirTemp("", "switchboard-docs-*"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(binaries)
	os.Exit(code)
}

// The command of the health check is run for real, where no engine is alive.
func TestHealthCheckIsACommandOfTheProgram(t *testing.T) {
	t.Parallel()
	for file, pattern := range map[string]string{
		"Dockerfile": `^HEALTHCHECK .*CMD \["switchboard", (.+)\]$`, "compose.yaml": `^      test: \["CMD", "switchboard", (.+)\]$`,
	} {
		if got := one(t, file, pattern); got != `"doctor", "--alive"` {
			t.Errorf("%s checks %s", file, got)
		}
	}
	if got := one(t, "Dockerfile", `^ENTRYPOINT (.+)$`) + one(t, "Dockerfile", `^CMD (.+)$`); got != `["switchboard"]["serve"]` {
		t.Errorf("the image starts %s", got)
	}
	check := exec.Command(program(t), "doctor", "--alive", "--data", t.TempDir())
	check.Dir = t.TempDir()
	out, err := check.CombinedOutput()
	if code := check.ProcessState.ExitCode(); code != 1 {
		t.Errorf("with no engine it exits %d (%v), want 1:\n%s", code, err, out)
	}
}

// What compose runs before the engine makes one token, once, and an engine that others can reach starts with it alone.
func TestComposeMakesATokenOnce(t *testing.T) {
	t.Parallel()
	compose := read(t, "compose.yaml")
	listen := one(t, "compose.yaml", `^      SWITCHBOARD_SERVER__LISTEN: (\S+)$`)
	if host, _, _ := strings.Cut(listen, ":"); host != "0.0.0.0" {
		t.Errorf("in its container it listens on %s", listen)
	}
	for _, port := range regexp.MustCompile(`\S+:\d+:8484\b`).FindAllString(compose, -1) {
		if !strings.HasPrefix(strings.TrimLeft(port, `["`), "127.0.0.1:") {
			t.Errorf("compose publishes %s", port)
		}
	}
	_, script, _ := strings.Cut(compose, "    entrypoint: [\"sh\", \"-ec\"]\n    command:\n      - |\n")
	script, _, _ = strings.Cut(script, "\n\n")
	script = strings.ReplaceAll(script, "$$", "$")
	switchboard, dir, data := program(t), t.TempDir(), t.TempDir()
	run := func(name string, args ...string) (string, error) {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+binaries+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+dir, "SWITCHBOARD_DATA_DIR="+data, "SWITCHBOARD_SERVER__LISTEN="+listen)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	var made []byte
	for range 2 {
		if out, err := run("sh", "-ec", script); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		token, err := os.ReadFile(filepath.Join(data, "token"))
		if err != nil || !strings.HasPrefix(string(token), "sb_") || made != nil && string(made) != string(token) {
			t.Fatalf("%v: a first token %d bytes long, then %d", err, len(made), len(token))
		}
		made = token
	}
	if info, err := os.Stat(filepath.Join(data, "token")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the token: %v, %v", info, err)
	}
	if out, err := run(switchboard, "token", "list"); err != nil || strings.Count(out, "compose ") != 1 {
		t.Errorf("%v: %s", err, out)
	}
}

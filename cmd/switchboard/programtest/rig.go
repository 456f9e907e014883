//go:build linux

// Package programtest is for tests that start the program as a process: it builds it, runs it beside a
// platform, a model and a database that stand in, kills and freezes it, and reads what it shows, stores and logs.
// The tests are folders by theme below cmd/switchboard/tests.
package programtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels/channelstest"
	"switchboard/channels/platformtest/pagetest"
	"switchboard/internal/testkit"
	"switchboard/router/outbox"
	"switchboard/router/turns"
	"switchboard/store/storetest"
)

// Root is the repository's folder, seen from that of a theme.
const Root = "../../../.."

// The program, as the tests run it: with the scripted platform in.
var program = &binary{}

// A binary is the program, built the first time it is wanted.
type binary struct {
	flags []string
	once  sync.Once
	dir   string
	path  string
	err   error
}

// Main runs a package's tests, which start the program, and fails when goroutines are left.
func Main(m *testing.M) {
	MainAtOnce(m, 10) // they wait for processes, a dozen of them for half a minute and more
}

// MainAtOnce is Main for tests of which so many run at once.
func MainAtOnce(m *testing.M, n int) {
	testkit.AtOnce(n)
	code := m.Run()
	pagetest.Quit()
	if err := goleak.Find(testkit.ClosingConnections); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	for _, b := range []*binary{program, racing} {
		if b.dir != "" {
			os.RemoveAll(b.dir)
		}
	}
	os.Exit(code)
}

// Build is the program's path; it is built the first time. Each package of tests builds its own: the go command
// keeps what is compiled, so that costs a second to link it.
func Build(t testing.TB) string {
	t.Helper()
	return program.build(t)
}

func (b *binary) build(t testing.TB) string {
	t.Helper()
	b.once.Do(func() {
		if b.dir, b.err = os.MkdirTemp("", "switchboard-test-*"); b.err != nil {
			return
		}
		if b.err = os.Chmod(b.dir, 0o755); b.err != nil {
			return
		}
		b.path = filepath.Join(b.dir, "switchboard")
		args := append([]string{"build", "-tags", "scripted", "-ldflags=-s -w", "-o", b.path}, b.flags...)
		out, err := exec.Command("go", append(args, "switchboard/cmd/switchboard")...).CombinedOutput()
		if err != nil {
			b.err = fmt.Errorf("build the binary: %w\n%s", err, out)
			return
		}
		b.err = noteSources()
	})
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.path
}

// noteSources looks at each file that the program is made of, in the module around the working folder: the go command then knows
// what the tests stand on, and keeps no result of theirs for another program.
func noteSources() error {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("find the module: %w", err)
	}
	return filepath.WalkDir(strings.TrimSpace(string(out)), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "docs" || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		_, err = os.Stat(path)
		return err
	})
}

// A Rig is a data folder with settings, a model server, a platform and, while it
// runs, the real program.
type Rig struct {
	*Server
	Model    *llmtest.Server
	Platform *channelstest.Platform
	Addr     string // the platform's
}

// NewRig makes a rig whose settings hold extra besides the model and the platform.
func NewRig(t testing.TB, people []string, extra string) *Rig {
	t.Helper()
	Build(t)
	dir, err := os.MkdirTemp("", "sb-*") // short: sockets live in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := &Rig{Platform: channelstest.NewPlatform(), Model: llmtest.New(t)}
	shown, err := r.Platform.Listen("unix", filepath.Join(dir, "p.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(shown.Close)
	t.Cleanup(func() {
		if sent := r.Platform.Sent(); t.Failed() {
			for _, m := range sent[max(0, len(sent)-20):] {
				t.Logf("shown in %s: %q", m.Conversation, m.Text)
			}
		}
	})
	r.Addr = shown.Addr()
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(extra, "[store]") {
		storetest.SQLiteFile(t, data) // a migration takes longer than a start
	}
	r.Server = newServer(t, "", program.path, dir, filepath.Join(dir, "switchboard.toml"))
	settings := fmt.Sprintf(`data_dir = %q
[llm.providers.fake]
kind = "openai"
base_url = %q
api_key = "test-key-not-secret"
[channels.play]
kind = "scripted"
addr = %q
tools_deny = []
%s
`, data, r.Model.URL(), r.Addr, extra)
	var b strings.Builder
	b.WriteString(settings)
	for _, p := range people {
		fmt.Fprintf(&b, "[[people]]\nname = %q\nrole = \"admin\"\nidentities = [\"scripted:%s\"]\n", p, p)
	}
	testkit.Write(t, r.Config, b.String())
	return r
}

// Empty takes the data folder away with which a rig begins, and its migrated database: the first start makes them.
func (r *Rig) Empty() {
	r.T.Helper()
	if err := os.RemoveAll(filepath.Join(r.Dir, "data")); err != nil {
		r.T.Fatal(err)
	}
}

// Append adds tables to the settings.
func (r *Rig) Append(tables string) {
	r.T.Helper()
	f, err := os.OpenFile(r.Config, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(tables)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		r.T.Fatal(err)
	}
}

// Command runs a subcommand beside the program, or alone, and returns its output.
func (r *Rig) Command(args ...string) (stdout, stderr string, code int) {
	r.T.Helper()
	return r.CommandWith("", args...)
}

// CommandWith is Command with something to read.
func (r *Rig) CommandWith(stdin string, args ...string) (stdout, stderr string, code int) {
	r.T.Helper()
	return r.CommandWithin(5*time.Minute, stdin, args...)
}

// CommandWithin is commandWith that is killed after so long; the code is -1 then.
func (r *Rig) CommandWithin(patience time.Duration, stdin string, args ...string) (stdout, stderr string, code int) {
	r.T.Helper()
	ctx, cancel := context.WithTimeout(r.T.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program.path, append([]string{"--config", r.Config}, args...)...)
	cmd.Dir, cmd.Env, cmd.Stdin = r.Dir, Environ(), strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		r.T.Fatalf("switchboard %s: %v", strings.Join(args, " "), err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// List runs a subcommand that prints JSON.
func List[T any](r *Rig, args ...string) T {
	r.T.Helper()
	out, errs, code := r.Command(args...)
	if code != 0 {
		r.T.Fatalf("switchboard %s: exit %d\n%s", strings.Join(args, " "), code, errs)
	}
	var value T
	if err := json.Unmarshal([]byte(out), &value); err != nil {
		r.T.Fatalf("switchboard %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return value
}

// Turns are all turns, as `turn list` tells them.
func (r *Rig) Turns() []turns.Turn {
	r.T.Helper()
	return List[[]turns.Turn](r, "turn", "list", "--json", "--limit", "100000")
}

// Deliveries are all parts of answers, as `delivery list` tells them.
func (r *Rig) Deliveries() []outbox.Info {
	r.T.Helper()
	return List[[]outbox.Info](r, "delivery", "list", "--json", "--limit", "100000")
}

// Noted waits until every send is noted: one that is not is repeated after a kill,
// and says so.
func (r *Rig) Noted() {
	r.T.Helper()
	r.Await("every send is noted", 5*time.Second, func() bool {
		return !slices.ContainsFunc(r.Deliveries(), func(d outbox.Info) bool { return d.State != "sent" })
	})
}

// Patience is what the program's tests wait at least.
const Patience = testkit.Patience

// Await waits until cond holds.
func (r *Rig) Await(what string, within time.Duration, cond func() bool) {
	r.T.Helper()
	testkit.Await(r.T, what, within, cond)
}

// Environ is the environment without settings of the person who runs the tests, and without their folder
// for data.
func Environ() []string {
	env := []string{"XDG_DATA_HOME=" + filepath.Join(filepath.Dir(program.path), "home")}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "SWITCHBOARD_") && !strings.HasPrefix(v, "XDG_DATA_HOME=") {
			env = append(env, v)
		}
	}
	return env
}

// Tail is the end of s, n bytes at most.
func Tail(s string, n int) string {
	if len(s) > n {
		return s[len(s)-n:]
	}
	return s
}

package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"switchboard/internal/testkit"
	"switchboard/router/view"
)

// The tests here run the real binary, built once with the scripted platform in.
var binary = &builtBinary{}

// A builtBinary is the program, built the first time it is wanted.
type builtBinary struct {
	flags []string
	once  sync.Once
	dir   string
	path  string
	err   error
}

func TestMain(m *testing.M) {
	testkit.AtOnce(10) // they wait for processes, a dozen of them for half a minute and more
	code := m.Run()
	if err := goleak.Find(testkit.ClosingConnections); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	for _, b := range []*builtBinary{binary, racing} {
		if b.dir != "" {
			os.RemoveAll(b.dir)
		}
	}
	os.Exit(code)
}

// busy has a test wait for its place among the few that keep the machine busy as long as they run;
// beside them there is room for those that mostly wait.
func busy(t testing.TB) {
	t.Helper()
	busyPlaces <- struct{}{}
	t.Cleanup(func() { <-busyPlaces })
}

var busyPlaces = make(chan struct{}, 3)

func build(t testing.TB) string {
	t.Helper()
	return binary.build(t)
}

func (b *builtBinary) build(t testing.TB) string {
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
		out, err := exec.Command("go", append(args, ".")...).CombinedOutput()
		if err != nil {
			b.err = fmt.Errorf("build the binary: %w\n%s", err, out)
		}
	})
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.path
}

// A rig is a data folder with settings, a model server, a platform and, while it
// runs, the real program.
type rig struct {
	*server
	model    *llmtest.Server
	platform *channelstest.Platform
	addr     string // the platform's
}

// newRig makes a rig whose settings hold extra besides the model and the platform.
func newRig(t testing.TB, people []string, extra string) *rig {
	t.Helper()
	build(t)
	dir, err := os.MkdirTemp("", "sb-*") // short: sockets live in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := &rig{platform: channelstest.NewPlatform(), model: llmtest.New(t)}
	shown, err := r.platform.Listen("unix", filepath.Join(dir, "p.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(shown.Close)
	t.Cleanup(func() {
		if sent := r.platform.Sent(); t.Failed() {
			for _, m := range sent[max(0, len(sent)-20):] {
				t.Logf("shown in %s: %q", m.Conversation, m.Text)
			}
		}
	})
	r.addr = shown.Addr()
	r.server = newServer(t, "", binary.path, dir, filepath.Join(dir, "switchboard.toml"))
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
`, filepath.Join(dir, "data"), r.model.URL(), r.addr, extra)
	var b strings.Builder
	b.WriteString(settings)
	for _, p := range people {
		fmt.Fprintf(&b, "[[people]]\nname = %q\nrole = \"admin\"\nidentities = [\"scripted:%s\"]\n", p, p)
	}
	testkit.Write(t, r.config, b.String())
	return r
}

// append adds tables to the settings.
func (r *rig) append(tables string) {
	r.t.Helper()
	f, err := os.OpenFile(r.config, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(tables)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// command runs a subcommand beside the program, or alone, and returns its output.
func (r *rig) command(args ...string) (stdout, stderr string, code int) {
	r.t.Helper()
	return r.commandWith("", args...)
}

func (r *rig) commandWith(stdin string, args ...string) (stdout, stderr string, code int) {
	r.t.Helper()
	return r.commandWithin(5*time.Minute, stdin, args...)
}

// commandWithin is commandWith that is killed after so long; the code is -1 then.
func (r *rig) commandWithin(patience time.Duration, stdin string, args ...string) (stdout, stderr string, code int) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary.path, append([]string{"--config", r.config}, args...)...)
	cmd.Dir, cmd.Env, cmd.Stdin = r.dir, environ(), strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		r.t.Fatalf("switchboard %s: %v", strings.Join(args, " "), err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// list runs a subcommand that prints JSON.
func list[T any](r *rig, args ...string) T {
	r.t.Helper()
	out, errs, code := r.command(args...)
	if code != 0 {
		r.t.Fatalf("switchboard %s: exit %d\n%s", strings.Join(args, " "), code, errs)
	}
	var value T
	if err := json.Unmarshal([]byte(out), &value); err != nil {
		r.t.Fatalf("switchboard %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return value
}

func (r *rig) turns() []view.Turn {
	r.t.Helper()
	return list[[]view.Turn](r, "turn", "list", "--json", "--limit", "100000")
}

func (r *rig) deliveries() []view.Delivery {
	r.t.Helper()
	return list[[]view.Delivery](r, "delivery", "list", "--json", "--limit", "100000")
}

// noted waits until every send is noted: one that is not is repeated after a kill,
// and says so.
func (r *rig) noted() {
	r.t.Helper()
	r.await("every send is noted", 5*time.Second, func() bool {
		return !slices.ContainsFunc(r.deliveries(), func(d view.Delivery) bool { return d.State != "sent" })
	})
}

// patience is the least time that anything is waited for: a busy machine is no fault. It
// is less than what the commands of these tests take that must not come to their end.
const patience = 45 * time.Second

// await waits until cond holds.
func (r *rig) await(what string, within time.Duration, cond func() bool) {
	r.t.Helper()
	testkit.Await(r.t, what, max(within, patience), cond)
}

// environ is the environment without settings of the person who runs the tests, and without their folder
// for data.
func environ() []string {
	env := []string{"XDG_DATA_HOME=" + filepath.Join(filepath.Dir(binary.path), "home")}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "SWITCHBOARD_") && !strings.HasPrefix(v, "XDG_DATA_HOME=") {
			env = append(env, v)
		}
	}
	return env
}

func tail(s string, n int) string {
	if len(s) > n {
		return s[len(s)-n:]
	}
	return s
}

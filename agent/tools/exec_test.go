package tools

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"switchboard/agent/tools/sandbox"
	"switchboard/agent/tools/sandbox/sandboxtest"
	"switchboard/internal/testkit"
)

// newWorkspace returns a folder without symbolic links in its path.
func newWorkspace(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "workspace")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // commands close folders
		if err := RemoveWorkspace(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// shell returns an Exec with the helper of tests.
func shell(cfg ExecConfig) *Exec {
	cfg.HelperPath = helperPath
	return NewExec(cfg)
}

// needSandbox skips loudly where commands cannot be confined, except in CI.
func needSandbox(t *testing.T) {
	t.Helper()
	e := shell(ExecConfig{})
	if res := e.Run(t.Context(), Command{Line: ":", Workspace: newWorkspace(t)}); res.End != EndOK {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the sandbox must work in CI: %+v", res)
		}
		t.Skipf("SANDBOX TESTS ARE SKIPPED: %+v", res)
	}
}

func run(t *testing.T, cfg ExecConfig, line string) Result {
	t.Helper()
	return shell(cfg).Run(t.Context(), Command{Line: line, Workspace: newWorkspace(t)})
}

// A shell's message tells where in its text it is: the judged text has no comments.
func TestExecRunsWhatWasJudged(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	if got := run(t, ExecConfig{}, "# a\n# b\nno-such-program-here"); !strings.Contains(got.Output, " 1: no-such-program-here") {
		t.Errorf("got %+v", got)
	}
}

func TestExecReportsHowTheCommandEnded(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	for _, test := range []struct {
		name, line string
		want       Result
	}{
		{"ok", "echo out; echo err >&2; echo out again", Result{End: EndOK, Output: "out\nerr\nout again\n"}},
		{"exit status", "echo no; exit 3", Result{End: EndError, Code: "exit_status", Output: "no\nexit status 3"}},
		{"signal", "kill -9 $$", Result{End: EndError, Code: "signal", Output: "killed by a signal: SIGKILL (killed)"}},
		{"term", "kill $$", Result{End: EndError, Code: "signal", Output: "killed by a signal: SIGTERM (terminated)"}},
		{"bytes", `printf 'a\000b\377c'`, Result{End: EndOK, Output: "a\uFFFDb\uFFFDc"}},
		{"no input", "cat; echo end", Result{End: EndOK, Output: "end\n"}},
		{"nothing but a comment", "# a", Result{End: EndOK}},
		{"unknown program", "no-such-program-here 2>/dev/null", Result{End: EndError, Code: "exit_status", Output: "exit status 127"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := run(t, ExecConfig{}, test.line); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestExecRefusesBadCommands(t *testing.T) {
	t.Parallel()
	e := shell(ExecConfig{})
	workspace := newWorkspace(t)
	for _, test := range []struct {
		cmd  Command
		code string
	}{
		{Command{Line: " ", Workspace: workspace}, "empty_command"},
		{Command{Line: "echo \x00", Workspace: workspace}, "bad_command"},
		{Command{Line: strings.Repeat("x", maxLine+1), Workspace: workspace}, "bad_command"},
		{Command{Line: "echo", Workspace: workspace + "/none"}, "workspace_missing"},
		{Command{Line: "echo", Workspace: "/"}, "workspace_missing"},
	} {
		if got := e.Run(t.Context(), test.cmd); got.Code != test.code {
			t.Errorf("%.20q in %s: got %+v, want code %s", test.cmd.Line, test.cmd.Workspace, got, test.code)
		}
	}
}

func TestExecTimeoutStopsTheCommand(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	got := run(t, ExecConfig{Config: sandbox.Config{Timeout: 10 * time.Second}}, "echo first; sleep 60")
	if got.End != EndTimeout || got.Code != "timeout" || got.Hint == "" || got.Output != "first\nstopped after 10s" {
		t.Errorf("got %+v", got)
	}
}

// A command whose time ends while it is found out whether commands can be confined was not begun, whatever is found.
func TestExecThatEndsInTheProbeWasNotBegun(t *testing.T) {
	t.Parallel()
	helper := filepath.Join(t.TempDir(), "helper")
	testkit.Program(t, helper, "#!/bin/sh\nsleep 1\n")
	ctx, end := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { end(ErrUnsafe) })
	e := NewExec(ExecConfig{Config: sandbox.Config{HelperPath: helper}})
	if got := e.Run(ctx, Command{Line: "echo", Workspace: newWorkspace(t)}); got.Code != CodeInterrupted {
		t.Errorf("got %+v", got)
	}
	if got := e.Run(t.Context(), Command{Line: "echo", Workspace: newWorkspace(t)}); got.Code != "sandbox_no_answer" || got.End != EndError {
		t.Errorf("a helper that says nothing: got %+v", got)
	}
}

func TestExecCancelStopsTheCommand(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	workspace, done := newWorkspace(t), make(chan Result)
	go func() {
		done <- shell(ExecConfig{}).Run(ctx, Command{Line: "echo first; touch begun; sleep 60", Workspace: workspace})
	}()
	for {
		if _, err := os.Stat(workspace + "/begun"); err == nil {
			break
		}
		select {
		case got := <-done:
			t.Fatalf("ended by itself: %+v", got)
		case <-time.After(5 * time.Millisecond):
		}
	}
	stop()
	got := <-done
	if got.End != EndCancelled || got.Output != "first\ncancelled" {
		t.Errorf("got %+v", got)
	}
}

// Nothing is counted twice or forgotten, however often a text is cut.
func TestShortenCountsWhatIsMissing(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	const total = 1_288_895 // what the command prints
	text := run(t, ExecConfig{}, "seq 1 200000").Output
	for _, room := range []int{len(text), 30_000, 1000} {
		text = Shorten(text, room*2/3, room/3)
		at := marks.FindStringIndex(text)
		if at == nil {
			t.Fatalf("no mark in %.200s", text)
		}
		shown := len(text) - (at[1] - at[0])
		if got := leftOut(text); got != total || !strings.HasPrefix(text, "1\n2\n") || !strings.HasSuffix(text, "\n200000\n") {
			t.Errorf("%d bytes shown and %d missing, want %d in all", shown, got-int64(shown), total)
		}
	}
}

// Not parallel: it measures what is allocated.
func TestHugeOutputTakesNoMemory(t *testing.T) {
	needSandbox(t)
	e := shell(ExecConfig{})
	workspace := newWorkspace(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res := e.Run(t.Context(), Command{Line: "echo begin; yes | head -c 1G; echo end", Workspace: workspace})
	runtime.ReadMemStats(&after)
	if res.End != EndOK || !strings.HasPrefix(res.Output, "begin\ny\n") || !strings.HasSuffix(res.Output, "y\nend\n") {
		t.Errorf("got %.100q … %s", res.Output, res.End)
	}
	if !strings.Contains(res.Output, "\n[truncated: 10") || len(res.Output) > 1<<20 {
		t.Errorf("no mark, or %d bytes", len(res.Output))
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
		t.Errorf("%d bytes were allocated", grown)
	}
}

func TestUnsafeIsNoCancel(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	e := shell(ExecConfig{Config: sandbox.Config{SafeUntil: func() time.Time { return time.Now().Add(time.Hour) }}})
	workspace := newWorkspace(t)
	for _, test := range []struct {
		name, hint string
		begin      bool
	}{{"midway", hintUnsafe, true}, {"not begun", hintNotBegun, false}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		if !test.begin {
			cancel(ErrUnsafe)
		}
		got := make(chan Result)
		go func() { got <- e.Run(ctx, Command{Line: "echo begun; touch begun; sleep 60", Workspace: workspace}) }()
		if test.begin {
			testkit.Await(t, "started", 20*time.Second, func() bool { _, err := os.Stat(workspace + "/begun"); return err == nil })
			cancel(ErrUnsafe)
		}
		res := <-got
		if res.End != EndError || res.Code != CodeInterrupted || res.Hint != test.hint || strings.Contains(res.Output, "begun") != test.begin {
			t.Errorf("%s: %+v", test.name, res)
		}
		cancel(nil)
	}
}

func TestOnlySettingsLiftTheConfinement(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	for _, test := range []struct {
		cfg    ExecConfig
		admin  bool
		lifted bool
	}{
		{ExecConfig{}, false, false},
		{ExecConfig{}, true, false},
		{ExecConfig{AdminUnconfined: true}, false, false},
		{ExecConfig{AdminUnconfined: true}, true, true},
	} {
		workspace := newWorkspace(t)
		res := shell(test.cfg).Run(t.Context(), Command{Line: "touch ../beside && env", Workspace: workspace, Admin: test.admin})
		if _, err := os.Stat(workspace + "/../beside"); (err == nil) != test.lifted {
			t.Errorf("%+v, admin %v: got %+v", test.cfg, test.admin, res)
		}
		if strings.Contains(res.Output, sandboxtest.Secret) {
			t.Errorf("%+v, admin %v: the environment is not clean", test.cfg, test.admin)
		}
	}
}

package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"switchboard/agent/tools/sandbox/sandboxtest"
	"switchboard/internal/testkit"
)

var markers atomic.Int64

// newMarker returns an argument for sleep that no other process has.
func newMarker() string {
	return fmt.Sprintf("301.%d%06d", os.Getpid(), markers.Add(1))
}

// marked lists the processes with that argument.
func marked(t *testing.T, marker string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && bytes.HasPrefix(text, []byte("sleep\x00"+marker)) {
			found = append(found, file)
		}
	}
	return found
}

// stubborn starts processes that leave their session where they may, close their
// output and ignore polite signals.
func stubborn(marker string) string {
	return fmt.Sprintf(`setsid true 2> /dev/null && export apart=setsid
		$apart sleep %[1]s & $apart sh -c 'trap "" TERM HUP INT; $apart sleep %[1]s >/dev/null 2>&1 & sleep %[1]s' >/dev/null 2>&1 &
		( $apart sleep %[1]s & ) & `, marker)
}

// eachWay runs test with a command that is confined, and with one that is not.
func eachWay(t *testing.T, test func(t *testing.T, lifted bool)) {
	t.Helper()
	needSandbox(t)
	for name, lifted := range map[string]bool{"confined": false, "lifted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, lifted)
		})
	}
}

func TestTreeDiesWithTheCommand(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, lifted bool) {
		for _, test := range []struct {
			name, after string
			cfg         Config
			cancel      bool
			want        string
		}{
			{name: "end", after: "sleep 0.2; echo done", want: "exit_status"},
			{name: "timeout", after: "sleep 300", cfg: Config{Timeout: time.Second}, want: "timeout"},
			{name: "cancel", after: "sleep 300", cancel: true, want: "stopped"},
		} {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				marker := newMarker()
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				got := make(chan result)
				workspace := newWorkspace(t)
				go func() {
					got <- run(ctx, New(test.cfg), Command{Lifted: lifted, Line: stubborn(marker) + test.after, Workspace: workspace})
				}()
				if test.cancel {
					testkit.Await(t, "started", 20*time.Second, func() bool { return len(marked(t, marker)) == 4 })
					stop()
				}
				res := <-got
				if res.Kind != test.want {
					t.Errorf("got %+v", res)
				}
				if left := marked(t, marker); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
			})
		}
	})
}

func TestTreeDiesWithTheEngine(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, lifted bool) {
		marker := newMarker()
		role, err := json.Marshal(engineRole{Command: Command{Lifted: lifted, Line: stubborn(marker) + "sleep 300", Workspace: newWorkspace(t)}})
		if err != nil {
			t.Fatal(err)
		}
		engine := exec.CommandContext(t.Context(), "/proc/self/exe")
		engine.Env = []string{sandboxtest.EngineEnv + "=" + string(role)}
		if err := engine.Start(); err != nil {
			t.Fatal(err)
		}
		testkit.Await(t, "started", 20*time.Second, func() bool { return len(marked(t, marker)) == 4 })
		tree, err := listed(engine.Process.Pid, nil, 0)
		if err != nil || len(tree) < 6 {
			t.Fatalf("the engine's tree is %v, %v", tree, err)
		}
		if err := engine.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = engine.Wait() // it was killed
		testkit.Await(t, "all gone", 2*time.Second, func() bool {
			for _, p := range tree {
				if syscall.Kill(p.pid, 0) == nil && !isZombie(p.pid) {
					return false
				}
			}
			return len(marked(t, marker)) == 0
		})
	})
}

// isZombie is true of the dead whom nobody fetched, as where process 1 does not.
func isZombie(pid int) bool {
	p, ok := readProcess(pid)
	return !ok || p.zombie
}

func TestTreeDiesWithTheHelper(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, lifted bool) {
		if lifted {
			return // only the command itself dies with its helper then
		}
		marker := newMarker()
		got := make(chan result)
		workspace := newWorkspace(t)
		go func() {
			got <- run(t.Context(), New(Config{}), Command{Lifted: lifted, Line: stubborn(marker) + "sleep 300", Workspace: workspace})
		}()
		testkit.Await(t, "started", 20*time.Second, func() bool { return len(marked(t, marker)) == 4 })
		if err := syscall.Kill(helperOf(t, marker), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if res := <-got; res.Kind != "helper_failed" {
			t.Errorf("got %+v", res)
		}
		testkit.Await(t, "all gone", 2*time.Second, func() bool { return len(marked(t, marker)) == 0 })
	})
}

// helperOf returns the child of this process that has the marked ones below it.
func helperOf(t *testing.T, marker string) int {
	t.Helper()
	mine, err := descendants()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range mine {
		if p.parent != os.Getpid() {
			continue
		}
		theirs, err := listed(p.pid, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range theirs {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", q.pid))
			if bytes.HasPrefix(text, []byte("sleep\x00"+marker)) {
				return p.pid
			}
		}
	}
	t.Fatal("no helper found")
	return 0
}

// bomb doubles until it is stopped, or at 512 processes: a test that fails
// should not take the machine along.
const bomb = `b() { if [ "$1" -gt 0 ]; then b $(($1 - 1)) & b $(($1 - 1)) & fi; sleep 20; }; b 8`

// scattered is a bomb whose every process is in a session of its own, where it may.
const scattered = `setsid true 2> /dev/null && export apart=setsid
	echo 'if [ "$1" -gt 0 ]; then $apart sh b $(($1 - 1)) & $apart sh b $(($1 - 1)) & fi; exec sleep 20' > b; sh b 8`

func TestTreeLimitsEndTheCommand(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, lifted bool) {
		for _, test := range []struct {
			name, line, kind string
			cfg              Config
		}{
			{"fork bomb", bomb, "process_limit", Config{MaxProcesses: 40}},
			{"scattered bomb", scattered, "process_limit", Config{MaxProcesses: 40}},
			{"memory hog", "head -c 400000000 /dev/zero | tail -c 300000000 | sleep 300", "memory_limit", Config{MemoryLimit: 64 << 20}},
			{"flood", "yes", "output_flood", Config{MaxOutput: 1 << 20}},
		} {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				test.cfg.Timeout = 30 * time.Second
				res := run(t.Context(), New(test.cfg), Command{Lifted: lifted, Line: test.line, Workspace: newWorkspace(t)})
				if res.Kind != test.kind || res.Detail == "" {
					t.Errorf("got %.300q", fmt.Sprintf("%+v", res))
				}
			})
		}
	})
}

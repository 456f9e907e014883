package sandbox

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent/tools/workspace"
)

// selfEnding doubles to 1023 processes, each in a session of its own where it may
// have one, and is over after 10 s.
const selfEnding = `setsid true 2> /dev/null && export apart=setsid
cat > b <<'end'
	if [ "$1" -gt 0 ]; then
		$apart sh b $(($1 - 1)) &
		$apart sh b $(($1 - 1)) &
	fi
	exec sleep 10
end
sh b 9`

func TestExecBombIsHeld(t *testing.T) {
	needSandbox(t)
	workspace := newWorkspace(t)
	e := New(Config{Timeout: time.Minute, MaxProcesses: 4000}) // what is polled comes too late
	var most int
	var others, sessions, now atomic.Int32
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
			tasks, apart := bombTasks(t)
			most = max(most, tasks)
			now.Store(int32(tasks))
			sessions.Store(max(sessions.Load(), int32(apart)))
		}
	})
	watching.Go(func() { // others are served meanwhile
		for elsewhere := newWorkspace(t); ; {
			select {
			case <-stop:
				return
			default:
			}
			before := now.Load()
			res := run(t.Context(), e, Command{Line: "(echo hello)", Workspace: elsewhere})
			if !res.ok() || res.Output != "hello\n" {
				t.Errorf("somebody else's command: %+v", res)
				return
			}
			if before >= 100 && now.Load() >= 100 {
				others.Add(1)
			}
		}
	})
	res := run(t.Context(), e, Command{Line: selfEnding, Workspace: workspace})
	left, _ := bombTasks(t)
	close(stop)
	watching.Wait()
	t.Logf("%d tasks at most in %d sessions, %d commands of others beside them", most, sessions.Load(), others.Load())
	if res.Err != nil || res.Kind != "exit_status" {
		t.Errorf("the bomb came to no end of its own: %+v, %v", res.Outcome, res.Err)
	}
	if most < 100 || most > 512 {
		t.Errorf("%d tasks at once, want some hundred and at most 512", most)
	}
	if sessions.Load() > 1 {
		t.Errorf("%d sessions, each of which has a share of the CPU", sessions.Load())
	}
	if left > 0 {
		t.Errorf("%d tasks are left", left)
	}
	if others.Load() == 0 {
		t.Error("nobody else was answered while it went off")
	}
}

// bombTasks counts the threads of all processes that are the bomb's, and their
// sessions.
func bombTasks(t *testing.T) (tasks, sessions int) {
	t.Helper()
	mine, err := descendants()
	if err != nil {
		t.Error(err)
		return 0, 0
	}
	seen := map[string]bool{}
	for _, p := range mine {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
		if p.zombie || !strings.HasPrefix(string(text), "sh\x00b\x00") && string(text) != "sleep\x0010\x00" {
			continue
		}
		tasks += p.threads
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
		if _, after, ok := strings.Cut(string(stat), ") "); ok {
			seen[strings.Fields(after)[3]] = true
		}
	}
	return tasks, len(seen)
}

// The host's root is never counted, so its commands are refused.
func TestExecRefusesWhatIsNotCounted(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	if os.Geteuid() != 0 {
		t.Skip("only root is not counted")
	}
	folder := newWorkspace(t)
	if err := os.Mkdir(folder+"/"+workspace.Hidden, 0o700); err != nil { // else it is another user's
		t.Fatal(err)
	}
	o := New(Config{}).supervise(t.Context(), helperSpec{
		stageSpec: stageSpec{Line: ":", Workspace: folder, Confined: true, UID: 0, MaxTasks: 64, MaxFile: 1 << 20, Probe: true},
		Timeout:   probeTime, MemoryLimit: 1 << 30, MaxProcesses: 64,
	}, io.Discard)
	if o.Kind != "sandbox" || !strings.Contains(o.Detail, "does not count") {
		t.Errorf("got %+v", o)
	}
}

package sandbox

import (
	"encoding/json"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"switchboard/agent/tools/sandbox/sandboxtest"
	"switchboard/internal/testkit"
)

// An engine that is stopped hears and does nothing; its command ends all the same,
// before somebody else could hold what it was begun under.
func TestTreeDiesWithTheLease(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, lifted bool) {
		const lasts = 6 * time.Second
		marker := newMarker()
		role, err := json.Marshal(engineRole{Command{Lifted: lifted, Line: stubborn(marker) + "sleep 300", Workspace: newWorkspace(t)}, lasts})
		if err != nil {
			t.Fatal(err)
		}
		engine := exec.CommandContext(t.Context(), "/proc/self/exe")
		engine.Env = []string{sandboxtest.EngineEnv + "=" + string(role)}
		var out strings.Builder
		engine.Stdout = &out
		if err := engine.Start(); err != nil {
			t.Fatal(err)
		}
		testkit.Await(t, "started", 20*time.Second, func() bool { return len(marked(t, marker)) == 4 })
		time.Sleep(lasts + time.Second) // renewed meanwhile
		if len(marked(t, marker)) != 4 {
			t.Fatal("the command ended though the lease was renewed")
		}
		if err := engine.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		testkit.Await(t, "all gone", lasts+time.Second, func() bool { return len(marked(t, marker)) == 0 })
		if err := engine.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		if err := engine.Wait(); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != "interrupted stopped midway\n" {
			t.Errorf("the engine says %q", got)
		}
	})
}

func TestLeaseIsOverWhenEitherClockPassedIt(t *testing.T) {
	t.Parallel()
	now, boot := time.Now(), bootTime()
	later, sooner := now.Add(time.Hour).UnixMicro(), now.Add(-time.Millisecond).UnixMicro()
	for name, test := range map[string]struct {
		lease lease
		want  bool
	}{
		"none":                        {lease{}, false},
		"both to come":                {lease{later, boot + int64(time.Hour)}, false},
		"the wall clock leapt ahead":  {lease{sooner, boot + int64(time.Hour)}, true},
		"the wall clock was set back": {lease{later, boot - 1}, true},
	} {
		if got := test.lease.passed(); got != test.want {
			t.Errorf("%s: passed is %v", name, got)
		}
	}
}

// A helper told of a lease that is over starts nothing.
func TestLeaseOverBeforeTheStartStartsNothing(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	e := New(Config{SafeUntil: func() time.Time { return time.Now().Add(-time.Second) }})
	res := run(t.Context(), e, Command{Line: "echo begun", Workspace: newWorkspace(t)})
	if res.Kind != "interrupted" || strings.Contains(res.Output, "begun") {
		t.Errorf("got %+v", res)
	}
}

package sandbox

import (
	"os"
	"strings"
	"testing"
	"time"

	"switchboard/agent/tools/workspace"
)

func TestWorkspaceLimitEndsCommands(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	space := &workspace.Space{Bytes: 20 << 20, Files: 500}
	for name, line := range map[string]string{
		"many files of some size": `i=0; while [ $i -lt 60 ]; do head -c 2000000 /dev/zero > f$i; i=$((i+1)); sleep 0.05; done; sleep 90`,
		"many files":              `i=0; while [ $i -lt 3000 ]; do : > f$i; i=$((i+1)); done; sleep 90`,
		"in a closed folder":      `mkdir d; for i in 1 2; do head -c 15000000 /dev/zero > d/$i; done; chmod 0 d; sleep 90`,
		"without a name":          `exec 3> a 4> b; rm a b; head -c 15000000 /dev/zero >&3; head -c 15000000 /dev/zero >&4; sleep 90`,
		"mapped, without a name":  `./probe; true`,
		"deep":                    `mkdir -p $(printf 'd/%.0s' $(seq 1100)); sleep 90`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, limits := newWorkspace(t), space
			if strings.Contains(line, "./probe") { // which takes a part itself
				copyFile(t, "/proc/self/exe", dir+"/probe")
				limits = &workspace.Space{Bytes: 20<<20 + sizeOf(t, dir+"/probe"), Files: 500}
			}
			res := run(t.Context(), New(Config{Space: limits, Timeout: time.Minute}), Command{Line: line, Workspace: dir, Env: []string{probeEnv + "=blind"}})
			if res.Kind != "workspace_full" {
				t.Errorf("got %+v", res)
			}
		})
	}
	t.Run("one file", func(t *testing.T) {
		t.Parallel()
		dir := newWorkspace(t)
		run(t.Context(), New(Config{Space: space}), Command{Line: "head -c 5000000 /dev/zero > a; head -c 100000000 /dev/zero > b", Workspace: dir})
		if info, err := os.Stat(dir + "/b"); err != nil || info.Size() > 20<<20 {
			t.Errorf("%v, %v: the kernel did not stop it", info, err)
		}
	})
}

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// plainGroups makes a folder that looks like control groups, in which files keep what was written last.
func plainGroups(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestGroupsAreFound(t *testing.T) {
	t.Parallel()
	const all, service = "cpu io memory pids\n", "system.slice/switchboard.service/"
	for _, c := range []struct {
		name, own string
		files     map[string]string
		dir       string // where commands have groups
		moved     bool   // into a group of its own
		fault     string
	}{
		{name: "unit", own: "0::/" + service + "engine\n", dir: service, files: map[string]string{
			service + "cgroup.controllers": all, service + "cgroup.subtree_control": "", service + "engine/cgroup.procs": "7\n",
		}},
		{name: "unit without a subgroup", own: "0::/" + service + "\n", dir: service, moved: true, files: map[string]string{
			service + "cgroup.controllers": all, service + "cgroup.subtree_control": "", service + "cgroup.procs": "7\n",
		}},
		{name: "container", own: "0::/\n", dir: "", moved: true, files: map[string]string{
			"cgroup.controllers": all, "cgroup.subtree_control": "", "cgroup.procs": "7\n",
		}},
		{name: "shell", own: "0::/\n", fault: "other processes", files: map[string]string{
			"cgroup.controllers": all, "cgroup.subtree_control": "", "cgroup.procs": "7\n8\n",
		}},
		{name: "no memory", own: "0::/\n", fault: "memory is not delegated", files: map[string]string{"cgroup.controllers": "cpu pids\n"}},
		{name: "not there", own: "0::/../up\n", fault: "no such file"},
		{name: "version 1", own: "12:pids:/a\n0::/a\n", fault: "cgroup v2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := plainGroups(t, c.files)
			dir, err := findGroups(root, c.own, 7)
			_, statErr := os.Stat(filepath.Join(root, c.dir, "engine/cgroup.procs"))
			if c.fault != "" {
				if err == nil || !strings.Contains(err.Error(), c.fault) || dir != "" || statErr == nil {
					t.Errorf("got %q, %v, moved: %v", dir, err, statErr == nil)
				}
				return
			}
			if err != nil || dir != filepath.Join(root, c.dir) {
				t.Fatalf("got %q, %v", dir, err)
			}
			if got := content(t, dir+"/cgroup.subtree_control"); got != "+memory +pids" {
				t.Errorf("switched on: %q", got)
			}
			if got := content(t, dir+"/engine/cgroup.procs"); c.moved && got != "7" {
				t.Errorf("moved: %q", got)
			}
		})
	}
}

func TestGroupHasItsLimits(t *testing.T) {
	t.Parallel()
	spec := helperSpec{stageSpec: stageSpec{MaxTasks: 100}, Group: newGroup(t.TempDir()), MemoryLimit: 1 << 30}
	f, err := makeGroup(spec)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for file, want := range map[string]string{"memory.max": "1073741824", "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "164"} {
		if got := content(t, spec.Group+"/"+file); got != want {
			t.Errorf("%s is %q, want %q", file, got, want)
		}
	}
	attr := cloneAttr(stageSpec{Confined: true, UID: os.Geteuid()}, f)
	if !attr.UseCgroupFD || attr.CgroupFD != int(f.Fd()) || f.Name() != spec.Group {
		t.Errorf("the command begins in %v, %d of %s", attr.UseCgroupFD, attr.CgroupFD, f.Name())
	}
	for text, want := range map[string]bool{"low 0\noom 0\noom_kill 0\noom_group_kill 0\n": false, "oom 1\noom_kill 3\n": true, "": false} {
		if err := os.WriteFile(spec.Group+"/memory.events", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if memoryRanOut(spec.Group) != want {
			t.Errorf("%q: ran out: %v", text, !want)
		}
	}
}

// A folder that is no control group after all is done without, and the doctor says so.
func TestGroupsThatDoNotWorkAreDoneWithout(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	s := New(Config{})
	groups := t.TempDir()
	if err := os.Chmod(groups, 0o777); err != nil {
		t.Fatal(err)
	}
	s.groups = func() (string, error) { return groups, nil }
	if res := run(t.Context(), s, Command{Line: "echo done", Workspace: newWorkspace(t)}); res.Output != "done\n" {
		t.Errorf("got %+v", res)
	}
	for _, layer := range s.Layers(t.Context()) {
		if layer.Name == "memory" && (!layer.Works || !strings.Contains(layer.Detail, "ten times a second, because as user")) {
			t.Errorf("doctor is told %+v", layer)
		}
	}
}

// Where this machine lets the tests make control groups, the kernel ends what holds too much.
func TestKernelCountsMemory(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	s := New(Config{MemoryLimit: 100 << 20, Timeout: 30 * time.Second})
	found, err := s.probe(t.Context(), "")
	if err != nil || found.groups == "" {
		t.Skipf("NOT TRIED: no control groups here: %v, %v", found, err)
	}
	workspace := newWorkspace(t)
	copyFile(t, "/proc/self/exe", workspace+"/probe")
	res := run(t.Context(), s, Command{Line: "./probe", Workspace: workspace, Env: []string{probeEnv + "=lazy"}})
	if res.Kind != "memory_limit" {
		t.Errorf("got %+v", res)
	}
	if left, _ := filepath.Glob(found.groups + "/command-*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"switchboard/agent/tools/sandbox/sandboxtest"
	"switchboard/agent/tools/workspace"
	"switchboard/internal/testkit"
)

func TestFilesOutsideAreClosed(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	workspace := newWorkspace(t)
	secret := filepath.Join(filepath.Dir(workspace), "secret")
	if err := os.WriteFile(secret, []byte("the secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(workspace, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", filepath.Join(workspace, "etc")); err != nil {
		t.Fatal(err)
	}
	res := run(t.Context(), New(Config{}), Command{Workspace: workspace, Line: fmt.Sprintf(`
		secret=%q
		cat "$secret" link; ls ..; cat etc/shadow etc/hostname
		(echo x > "$secret"); (echo x >> link); (: > "$secret"); truncate -s 0 "$secret"; rm -f "$secret"
		mv "$secret" here; ln "$secret" here; cp /etc/shadow here; cat < "$secret" > here2
		chmod 777 "$secret"; chmod 777 link; touch -d 2001-01-01 "$secret"
		echo x > ../beside; echo x > /tmp/switchboard-outside; mkdir ../folder
		cat /proc/sys/kernel/core_pattern > /dev/null; echo x > /proc/sys/kernel/core_pattern
		mount -t tmpfs none . ; unshare -Urm true
		echo kept > own; mkdir -p a/b; echo x > "$TMPDIR/file"; cat own; echo end`, secret)})
	if !strings.HasSuffix(res.Output, "kept\nend\n") || strings.Contains(res.Output, "the secret") || strings.Contains(res.Output, "root:") {
		t.Errorf("got %+v", res)
	}
	if text, err := os.ReadFile(secret); err != nil || string(text) != "the secret" {
		t.Errorf("the file outside is %q, %v", text, err)
	}
	if info, err := os.Stat(secret); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the mode outside is %v, %v", info.Mode(), err)
	}
	for _, path := range []string{"../beside", "../folder", "/tmp/switchboard-outside", "here"} {
		if !filepath.IsAbs(path) {
			path = filepath.Join(workspace, path)
		}
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			t.Errorf("%s was made", path)
		}
	}
	if left, _ := filepath.Glob(workspace + "/.switchboard/tmp-*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if info, err := os.Stat(workspace + "/own"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("own: %v %v", info, err)
	}
}

func TestNetworkIsClosed(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	workspace := newWorkspace(t)
	copyFile(t, "/proc/self/exe", workspace+"/dial")
	socket := filepath.Join(filepath.Dir(workspace), "s")
	var arrived atomic.Int32
	targets := []string{
		"tcp=" + listen(t, "tcp", "127.0.0.1:0", &arrived),
		"unix=" + listen(t, "unix", socket, &arrived),
		"udp=" + listenUDP(t, &arrived),
	}
	env := []string{dialEnv + "=" + strings.Join(targets, ",")}
	res := run(t.Context(), New(Config{}), Command{Line: "./dial; getent hosts example.org; echo end", Workspace: workspace, Env: env})
	if !strings.HasSuffix(res.Output, "pair: true <nil>\nend\n") || strings.Count(res.Output, "operation not permitted") < len(targets) {
		t.Errorf("got %+v", res)
	}
	if n := arrived.Load(); n != 0 {
		t.Errorf("%d messages arrived from inside", n)
	}
	// The same program, not confined, does arrive: the test can fail.
	res = run(t.Context(), New(Config{}), Command{Line: "./dial", Workspace: workspace, Env: env, Lifted: true})
	for deadline := time.Now().Add(time.Minute); arrived.Load() < 3; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("only %d arrived unconfined: %+v", arrived.Load(), res)
		}
	}
}

func listen(t *testing.T, network, address string, arrived *atomic.Int32) string {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			arrived.Add(1)
			conn.Close()
		}
	}()
	return l.Addr().String()
}

func listenUDP(t *testing.T, arrived *atomic.Int32) string {
	t.Helper()
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		for buf := make([]byte, 100); ; {
			if _, _, err := l.ReadFrom(buf); err != nil {
				return
			}
			arrived.Add(1)
		}
	}()
	return l.LocalAddr().String()
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestNamespacesAreClosed(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	workspace := newWorkspace(t)
	copyFile(t, "/proc/self/exe", workspace+"/probe")
	env := []string{probeEnv + "=namespaces"}
	res := run(t.Context(), New(Config{}), Command{Line: "./probe", Workspace: workspace, Env: env})
	if strings.Count(res.Output, "operation not permitted\n") != 7 || !strings.HasSuffix(res.Output, "clone3: function not implemented\n") {
		t.Errorf("got %+v", res)
	}
}

func TestSocketsCountAsMemory(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	workspace := newWorkspace(t)
	copyFile(t, "/proc/self/exe", workspace+"/probe")
	const line = "./probe & ./probe & ./probe & ./probe & ./probe & sleep 20"
	e := New(Config{MemoryLimit: 190 << 20, Timeout: 30 * time.Second})
	res := run(t.Context(), e, Command{Line: line, Workspace: workspace, Env: []string{probeEnv + "=sockets"}})
	if res.Kind != "memory_limit" || strings.Contains(res.Output, "grew") {
		t.Errorf("got %+v", res)
	}
}

func TestMemoryOutOfSightIsCounted(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	for _, probe := range []string{"headless", "tables"} {
		t.Run(probe, func(t *testing.T) {
			t.Parallel()
			workspace := newWorkspace(t)
			copyFile(t, "/proc/self/exe", workspace+"/probe")
			e := New(Config{MemoryLimit: 150 << 20, Timeout: 30 * time.Second})
			res := run(t.Context(), e, Command{Line: "./probe", Workspace: workspace, Env: []string{probeEnv + "=" + probe}})
			if res.Kind != "memory_limit" {
				t.Errorf("got %+v", res)
			}
		})
	}
}

func TestManyMappingsCountAsMemory(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	workspace := newWorkspace(t)
	copyFile(t, "/proc/self/exe", workspace+"/probe")
	s := New(Config{MemoryLimit: 120 << 20, Timeout: 30 * time.Second})
	res := run(t.Context(), s, Command{
		Workspace: workspace, Env: []string{probeEnv + "=splits"},
		Line: "for i in 1 2 3 4 5 6 7 8; do ./probe & done; sleep 20",
	})
	if res.Kind != "memory_limit" {
		t.Errorf("got %+v", res)
	}
}

func TestMemoryAndFilesThatNobodySeesAreRefused(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	workspace := newWorkspace(t)
	copyFile(t, "/proc/self/exe", workspace+"/probe")
	s := New(Config{MemoryLimit: 200 << 20})
	for probe, want := range map[string]string{
		"shared":        "shared: operation not permitted\nzero: true\nfile: <nil>\n",
		"private":       "private: cannot allocate memory\nreserved: <nil>\n",
		"shared-limits": "watchers: true\nrules: operation not permitted\npair: operation not permitted\n",
		"inflight":      "sendmsg: operation not permitted\nsendmmsg: operation not permitted\nwrite: <nil>\n",
	} {
		if res := run(t.Context(), s, Command{Line: "./probe", Workspace: workspace, Env: []string{probeEnv + "=" + probe}}); res.Output != want {
			t.Errorf("%s: got %+v", probe, res)
		}
	}
}

func TestCommandsCannotSetSpaceAside(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	workspace := newWorkspace(t)
	copyFile(t, "/proc/self/exe", workspace+"/probe")
	res := run(t.Context(), New(Config{}), Command{Line: "./probe", Workspace: workspace, Env: []string{probeEnv + "=ahead"}})
	if strings.Count(res.Output, "operation not supported\n") != 4 || !strings.HasSuffix(res.Output, "vmsplice: operation not permitted\n") {
		t.Errorf("got %+v", res)
	}
}

func TestResourceLimitsHoldInTheCommand(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	res := run(t.Context(), New(Config{}), Command{
		Workspace: newWorkspace(t),
		Line:      "(truncate -s 3G big); wc -c < big; ulimit -n; ulimit -c; nice",
	})
	if !strings.HasSuffix(res.Output, "\n0\n256\n0\n5\n") {
		t.Errorf("got %+v", res)
	}
}

// The processes between the engine and the command must be closed to others of
// the same user, and all but the helper be the first to go when memory runs out.
func TestHelperCannotBeTraced(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	marker := newMarker()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan result)
	workspace := newWorkspace(t)
	go func() {
		done <- run(ctx, New(Config{}), Command{Line: "sleep " + marker + "; true", Workspace: workspace})
	}()
	defer func() { stop(); <-done }()
	testkit.Await(t, "started", 20*time.Second, func() bool { return len(marked(t, marker)) == 1 })
	helper := helperOf(t, marker)
	tree, err := listed(helper, nil, 0)
	if err != nil || len(tree) < 2 {
		t.Fatalf("below the helper: %v, %v", tree, err)
	}
	for _, p := range tree {
		score, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", p.pid))
		if err != nil || string(score) != "1000\n" {
			t.Errorf("process %d goes at %q, %v", p.pid, score, err)
		}
	}
	for _, pid := range []int{helper, tree[0].pid} { // tree[0] is init
		// The kernel gives what must not be looked into to root; root's own cannot
		// be told apart, but TestUnprivileged runs this too.
		var stat unix.Stat_t
		if err := unix.Stat(fmt.Sprintf("/proc/%d/maps", pid), &stat); err != nil || stat.Uid != 0 {
			t.Errorf("process %d is open to user %d, %v", pid, stat.Uid, err)
		}
	}
}

func TestEnvironmentIsClean(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	workspace := newWorkspace(t)
	res := run(t.Context(), New(Config{}), Command{
		Workspace: workspace, Env: []string{"EXTRA=1", "TZ=Asia/Tokyo"},
		Line: fmt.Sprintf(`env | sed 's/=.*//' | sort | tr '\n' ' '; cat /proc/*/environ /proc/$PPID/environ /proc/%d/environ 2>/dev/null | tr '\0' '\n'
			ls /proc/self/fd 2>/dev/null | tr '\n' ' '; date +%%Z; umask; ulimit -c; id -u`, os.Getpid()),
	})
	if strings.Contains(res.Output, sandboxtest.Secret) {
		t.Errorf("the secret is visible: %s", res.Output)
	}
	if !strings.HasPrefix(res.Output, "EXTRA HOME LANG PATH PWD TMPDIR TZ ") {
		t.Errorf("the environment is not clean: %s", res.Output)
	}
	if !strings.HasSuffix(res.Output, fmt.Sprintf("JST\n0077\n0\n%d\n", commandUser())) {
		t.Errorf("got %q", res.Output)
	}
}

// commandUser is the host ID that commands run under here.
func commandUser() int {
	if os.Geteuid() == 0 {
		return workspace.CommandID
	}
	return os.Geteuid()
}

func TestHelperIsOutOfReach(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	res := run(t.Context(), New(Config{}), Command{Workspace: newWorkspace(t), Line: fmt.Sprintf(
		`for sig in KILL STOP TERM; do kill -$sig $PPID; kill -$sig %d; kill -$sig -%d; done 2>/dev/null
		sleep 60 & kill -9 $! && echo "own killed"; echo survived`, os.Getpid(), os.Getpid())})
	if !res.ok() || !strings.Contains(res.Output, "own killed") || !strings.HasSuffix(res.Output, "survived\n") {
		t.Errorf("got %+v", res)
	}
}

func TestRefusesWhatCannotBeConfined(t *testing.T) {
	t.Parallel()
	workspace := newWorkspace(t)
	made := filepath.Join(workspace, "made")
	helper := filepath.Join(workspace, "helper") // stands for any layer that fails
	testkit.Program(t, helper, "#!/bin/sh\nread -r spec <&3\necho '{\"Kind\":\"sandbox\",\"Detail\":\"no Landlock\"}' >&4\n")
	e := New(Config{HelperPath: helper})
	res := run(t.Context(), e, Command{Line: "touch made", Workspace: workspace})
	if !errors.Is(res.Err, ErrUnavailable) || !strings.Contains(res.Err.Error(), "Landlock") {
		t.Errorf("got %+v", res)
	}
	// Neither does a stage that finds one of its locks open run anything.
	for folder, reason := range map[string]string{"/usr": "commands may read", "/": "still open"} {
		if got := lastStage(t, stageSpec{Line: "touch " + made, Workspace: folder, Confined: true, UID: os.Geteuid(), MaxTasks: 100}); !strings.Contains(got.Error, reason) {
			t.Errorf("confined to %s: got %+v", folder, got)
		}
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("the command ran")
	}
	for _, layer := range e.Layers(t.Context()) {
		if layer.Name == "commands" && (layer.Works || layer.Fix == "") {
			t.Errorf("doctor is told %+v", layer)
		}
	}
}

// lastStage runs only the stage that becomes the command and returns its report.
func lastStage(t *testing.T, spec stageSpec) stageReport {
	t.Helper()
	pipes, err := openPipes(2)
	if err != nil {
		t.Fatal(err)
	}
	in, out := pipes[0], pipes[1]
	defer in.r.Close()
	defer out.r.Close()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Args, cmd.Env, cmd.ExtraFiles = []string{confinedName}, []string{}, []*os.File{in.r, out.w}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.w.Close()
	if err := json.NewEncoder(in.w).Encode(spec); err != nil {
		t.Fatal(err)
	}
	in.w.Close()
	var report stageReport
	_ = json.NewDecoder(out.r).Decode(&report) // silence is judged by the caller
	_ = cmd.Wait()                             // so is the exit status
	return report
}

func TestLayersAreShown(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	names := ""
	for _, layer := range New(Config{}).Layers(t.Context()) {
		names += layer.Name + " "
		if layer.Works == (layer.Fix != "") || layer.Detail == "" {
			t.Errorf("%+v", layer)
		}
	}
	if names != "commands files network namespaces processes memory " {
		t.Errorf("layers: %s", names)
	}
}

// TestUnprivileged runs the tests of commands once more as nobody.
func TestUnprivileged(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("the tests run unprivileged already")
	}
	const nobody = 65534
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^(TestExec|TestFilesOutside|TestNetwork|TestEnvironment|TestHelper|TestNamespaces|TestResource|TestSockets|TestGroups|TestMany|TestMemory|TestPairs|TestNothing|TestLanguages|TestTree|TestRefuses|TestLayers|TestWorkspaceLimit)", "-test.timeout=6m", "-test.v")
	cmd.Env = []string{"CI=" + os.Getenv("CI"), "PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "TMPDIR=" + os.TempDir()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
	if strings.Contains(string(out), "--- SKIP") {
		t.Logf("skipped as nobody:\n%s", out)
	}
}

func TestExecLeavesNoSetUIDFile(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	workspace := newWorkspace(t)
	copyFile(t, "/proc/self/exe", workspace+"/probe")
	res := run(t.Context(), New(Config{}), Command{
		Workspace: workspace, Env: []string{probeEnv + "=modes"},
		Line: "cp /bin/true a; chmod 4755 a; chmod u+s a; chmod g+s a; install -m 6755 /bin/true b; mkdir -m 2755 d; chmod 755 a; ./probe",
	})
	if !strings.HasSuffix(res.Output, "done\n") || strings.Contains(res.Output, "is permitted") || strings.Contains(res.Output, "open or") {
		t.Errorf("got %+v", res)
	}
	found := 0
	err := filepath.WalkDir(workspace, func(path string, d fs.DirEntry, err error) error {
		info, statErr := os.Lstat(path)
		if err != nil || statErr != nil {
			return err
		}
		found++
		if info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		return nil
	})
	if info, statErr := os.Stat(workspace + "/a"); err != nil || statErr != nil || info.Mode().Perm() != 0o755 || found < 4 {
		t.Errorf("%v, %v, %d files: the modes were not tried", err, info, found)
	}
}

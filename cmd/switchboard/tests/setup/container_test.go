//go:build linux

package setup_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// The file tree of the image, made as the Dockerfile says: its folder of the data, its user, its variables, and the program,
// with nothing else but a token in the environment. It starts, has the channel and a code for its admin in its log, is
// healthy, and the settings that init would write belong where it looks for them.
func TestContainerNeedsNothingButAToken(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may be another user in another tree")
	}
	t.Parallel()
	dockerfile := testkit.Read(t, filepath.Join(programtest.Root, "Dockerfile"))
	env := []string{"PATH=/usr/local/bin", "TELEGRAM_BOT_TOKEN=1000001:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "SWITCHBOARD_CHANNELS__TELEGRAM__API_URL=http://127.0.0.1:9"}
	for _, line := range regexp.MustCompile(`(?m)^ENV (.+)$`).FindAllStringSubmatch(dockerfile, -1) {
		env = append(env, strings.Fields(line[1])...)
	}
	if !regexp.MustCompile(`(?m)^USER 10001:10001$`).MatchString(dockerfile) || !strings.Contains(dockerfile, "install -d -o 10001 -g 10001 -m 0700 /data") {
		t.Fatal("the Dockerfile has another user, or folder")
	}
	tree := t.TempDir()
	for folder, owner := range map[string]int{"data": 10001, "usr/local/bin": 0, "tmp": 10001} {
		path := filepath.Join(tree, folder)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(tree, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	for path := tree; path != "/"; path = filepath.Dir(path) { // who is not root has to reach it
		if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o005 == 0 {
			_ = os.Chmod(path, info.Mode().Perm()|0o055)
		}
	}
	// The image's program is static. To compile all of it once more takes minutes of the processor, so only "make long" does; else the
	// tests' own comes with the libraries that it is linked with.
	program := programtest.Build(t)
	if os.Getenv("SWITCHBOARD_TEST_STATIC") != "" {
		program = filepath.Join(t.TempDir(), "static")
		build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "switchboard/cmd/switchboard")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	libraries, _ := exec.CommandContext(t.Context(), "ldd", program).Output() // a static one has none
	place(t, program, filepath.Join(tree, "usr/local/bin/switchboard"))
	for _, path := range regexp.MustCompile(`/\S+\.so\S*`).FindAllString(string(libraries), -1) {
		place(t, path, filepath.Join(tree, path))
	}
	command := func(args ...string) *exec.Cmd {
		c := exec.CommandContext(t.Context(), "/usr/local/bin/switchboard", args...)
		c.Path, c.Err = "/usr/local/bin/switchboard", nil // of the tree
		c.Env, c.Dir = env, "/data"
		c.SysProcAttr = &syscall.SysProcAttr{Chroot: tree, Credential: &syscall.Credential{Uid: 10001, Gid: 10001}}
		return c
	}
	serve := command("serve")
	errs, err := serve.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 1000)
	go func() {
		defer close(said)
		for lines := bufio.NewScanner(errs); lines.Scan(); {
			said <- lines.Text()
		}
	}()
	var log []string
	for deadline := time.After(time.Minute); !slices.ContainsFunc(log, func(l string) bool { return strings.Contains(l, `"msg":"ready"`) }); {
		select {
		case line, more := <-said:
			if !more {
				t.Fatalf("it ended: %s", strings.Join(log, "\n"))
			}
			log = append(log, line)
		case <-deadline:
			t.Fatalf("it is not ready: %s", strings.Join(log, "\n"))
		}
	}
	if all := strings.Join(log, "\n"); !regexp.MustCompile(`send /claim [A-Z2-7-]{14} on telegram`).MatchString(all) {
		t.Errorf("its log has no code for the channel: %s", all)
	}
	if out, err := command("doctor", "--alive").CombinedOutput(); err != nil {
		t.Errorf("it is not healthy: %v\n%s", err, out)
	}
	if out, err := command("channel", "list").CombinedOutput(); err != nil || !bytes.Contains(out, []byte("telegram")) {
		t.Errorf("its channels: %v\n%s", err, out)
	}
	if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for range said {
	}
	if err := serve.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// place copies what may be run.
func place(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	testkit.Program(t, to, testkit.Read(t, from))
}

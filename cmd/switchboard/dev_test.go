package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// run starts the program in dir; at the end of the test it is asked to stop, which
// must end with exit code 0.
func run(t *testing.T, dir string, args ...string) *logBuffer {
	t.Helper()
	log := &logBuffer{}
	cmd := exec.Command(build(t), args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, environ(), log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		hangs := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		defer hangs.Stop()
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Errorf("%v: %v\n%s", args, err, tail(log.String(), 3000))
		}
	})
	return log
}

// Two terminals, two commands: an answer comes with no account and no key.
func TestDevTelegram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := run(t, dir, "dev", "telegram", "--listen", "127.0.0.1:0")
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	config := filepath.Join(dir, "dev-telegram.toml")
	until(t, "the fake platform is there", func() bool {
		return strings.Contains(log.String(), "--config dev-telegram.toml") && address.MatchString(log.String())
	})
	at := address.FindString(log.String())
	run(t, dir, "--config", "dev-telegram.toml", "serve")

	view := func() string { return devView(t, at) }
	until(t, "the bot listens", func() bool { return strings.Contains(view(), `"connected":true`) })
	resp, err := http.PostForm(at+"/page/send", url.Values{"user": {"500000001"}, "chat": {"500000001"}, "text": {"/whoami"}})
	if err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("send: %v, %v", resp, err)
	}
	until(t, "ada is known as an admin", func() bool { return strings.Contains(view(), "ada") && strings.Contains(view(), "admin") })

	info, err := os.Stat(config)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the settings: %v, %v", info.Mode(), err)
	}
}

func TestDevTelegramKeepsYourFiles(t *testing.T) {
	t.Parallel()
	r := bare(t)
	before, err := os.ReadFile(r.config)
	if err != nil {
		t.Fatal(err)
	}
	out, errs, code := r.command("dev", "telegram", "--listen", "127.0.0.1:0", "--write-config", r.config)
	if code != 1 || out != "" || !strings.Contains(errs, "not of this command's making") {
		t.Errorf("exit %d, stdout %q, stderr %q", code, out, errs)
	}
	if after, err := os.ReadFile(r.config); err != nil || string(after) != string(before) {
		t.Errorf("the settings are %q, %v", after, err)
	}
	for listen, want := range map[string]string{
		"0.0.0.0:0": "only this machine", "nowhere": "missing port", strings.TrimPrefix(busy(t), "http://"): "takes a free port",
	} {
		if _, errs, code := r.command("dev", "telegram", "--listen", listen, "--write-config", "-"); code != 1 || !strings.Contains(errs, want) {
			t.Errorf("--listen %s: exit %d, %q", listen, code, errs)
		}
	}
}

// busy is the address of a fake platform that runs.
func busy(t *testing.T) string {
	t.Helper()
	log := run(t, t.TempDir(), "dev", "telegram", "--listen", "127.0.0.1:0", "--write-config", "-")
	address := regexp.MustCompile(`api_url = "(.+)"`)
	until(t, "another fake platform is there", func() bool { return address.MatchString(log.String()) })
	return address.FindStringSubmatch(log.String())[1]
}

// devView is what the page shows to the first person now.
func devView(t *testing.T, at string) string {
	t.Helper()
	resp, err := http.Get(at + "/page/events?user=500000001&chat=500000001")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	data := strings.TrimPrefix(strings.TrimSpace(line), "data: ")
	if err != nil || !json.Valid([]byte(data)) {
		t.Fatalf("the page is told %q, %v", line, err)
	}
	return data
}

// until waits for something that comes within 20 seconds.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for began := time.Now(); !cond(); time.Sleep(30 * time.Millisecond) {
		if time.Since(began) > 20*time.Second {
			t.Fatal(fmt.Sprint(what, ": it did not come"))
		}
	}
}

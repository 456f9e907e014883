//go:build linux

package programtest

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"switchboard/channels/platformtest"
	"switchboard/internal/testkit"
)

// Run starts the program in dir; at the end of the test it is asked to stop, which
// must end with exit code 0.
func Run(t *testing.T, dir string, args ...string) *testkit.Log {
	t.Helper()
	log := &testkit.Log{}
	cmd := exec.Command(Build(t), args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, Environ(), log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		hangs := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		defer hangs.Stop()
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Errorf("%v: %v\n%s", args, err, Tail(log.String(), 3000))
		}
	})
	return log
}

// DevStarted starts fake platforms and waits until they are there and their settings written.
func DevStarted(t *testing.T, dir string, args ...string) *testkit.Log {
	t.Helper()
	log := Run(t, dir, append([]string{"dev"}, args...)...)
	testkit.Await(t, "the fake platform is there", time.Minute, func() bool { return strings.Contains(log.String(), "It forgets everything") })
	return log
}

// DevView is what the page shows to a user in a chat now.
func DevView(t *testing.T, at, user, chat string) (v platformtest.View) {
	t.Helper()
	resp, err := http.Get(at + "/page/events?user=" + user + "&chat=" + chat)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	if err == nil {
		err = json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &v)
	}
	if err != nil {
		t.Fatalf("the page is told %q, %v", line, err)
	}
	return v
}

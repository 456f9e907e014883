package web_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// blocks are the code blocks of a page in a language, as they stand there.
func blocks(t *testing.T, page, language string) (list []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(programtest.Root, "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		list = append(list, m[1])
	}
	if len(list) == 0 {
		t.Fatalf("docs/%s has no block of %s", page, language)
	}
	return list
}

// needs skips, and says so, where a program is not there.
func needs(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("NOT TRIED: there is no %s here", program)
	}
	return path
}

// Who does what docs/http.md says, line by line, gets answers, and loses none to a kill -9. Only the port is another.
func TestGuideIsTrue(t *testing.T) {
	t.Parallel()
	bash := needs(t, "bash")
	needs(t, "curl")
	address := testkit.FreeAddress(t)
	dir := t.TempDir()
	var script strings.Builder
	steps := blocks(t, "http.md", "sh")
	for i, step := range steps {
		fmt.Fprintf(&script, "{ %s\n} > step%d\n", step, i)
	}
	for language, run := range map[string]string{"python": "python3", "js": "node"} {
		snippet := filepath.Join(dir, "snippet."+strings.Replace(language, "js", "mjs", 1))
		if err := os.WriteFile(snippet, []byte(blocks(t, "http.md", language)[0]), 0o600); err != nil {
			t.Fatal(err)
		}
		if path, err := exec.LookPath(run); err == nil {
			fmt.Fprintf(&script, "timeout 60 %s %s > %s 2>&1\n", path, snippet, language)
		}
	}
	script.WriteString("kill $BOT\nwait\n")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, bash, "-c", strings.ReplaceAll(script.String(), "127.0.0.1:8484", address))
	cmd.Dir = dir
	cmd.Env = append(programtest.Environ(), "PATH="+filepath.Dir(programtest.Build(t))+":"+os.Getenv("PATH"),
		"HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir, "SWITCHBOARD_SERVER__LISTEN="+address)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	said, err := cmd.CombinedOutput()
	read := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(dir, name))
		return string(text)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("said: %s\nlog: %s\nevents: %s", said, programtest.Tail(read("switchboard.log"), 4000), read("events"))
		}
	})
	if err != nil {
		t.Fatalf("the guide ended with %v", err)
	}
	const clock = `It is \d\d:\d\d on \w+, \d+ \w+ \d{4}`
	for i, want := range []string{
		`^{"ready":true}\n$`,
		`"message_id":"1","session":"demo","turn_id":"1","event":1}(?s).*"direction":"out","text":"` + clock,
		`(?s)^id: 0\n\nid: 1\nevent: message\ndata: .*\nevent: plan\n.*\nevent: task\n.*` + clock + `.*"state":"done","outcome":"answered"`,
		`"event":\d+}(?s).*"state":"(running|cancelled|done)"`, // done: commands cannot be confined here
		`"message_id":"(\d+)","session":"demo",(?s).*{"message_id":"\d+","session":"demo",`,
	} {
		if got := read(fmt.Sprint("step", i)); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s\nprints %s\nwant %s", steps[i], got, want)
		}
	}
	if ids := regexp.MustCompile(`"message_id":"(\d+)"`).FindAllStringSubmatch(read("step4"), -1); len(ids) != 2 || ids[0][1] != ids[1][1] {
		t.Errorf("the same key made %v", ids)
	}
	// Each event has its number, its kind and its data; the beginnings of streams have a number alone.
	numbers := regexp.MustCompile(`(?m)^id: (\d+)\nevent: `).FindAllStringSubmatch(read("events"), -1)
	for i, m := range numbers {
		if n, _ := strconv.Atoi(m[1]); n != i+1 {
			t.Errorf("event %d has the number %d", i+1, n)
			break
		}
	}
	if answered := regexp.MustCompile(clock).FindAllString(read("events"), -1); len(answered) != 2 {
		t.Errorf("the stream has %d answers, want those of both questions: %q", len(answered), answered)
	}
	for _, language := range []string{"python", "js"} {
		if _, err := os.Stat(filepath.Join(dir, language)); err != nil {
			t.Logf("NOT TRIED: the snippet in %s, which is not here", language)
		} else if got := read(language); !regexp.MustCompile(`^` + clock).MatchString(got) {
			t.Errorf("the snippet in %s prints %s", language, got)
		}
	}
}

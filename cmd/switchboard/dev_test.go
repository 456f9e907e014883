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

	"switchboard/testkit"
)

// run starts the program in dir; at the end of the test it is asked to stop, which
// must end with exit code 0.
func run(t *testing.T, dir string, args ...string) *testkit.Log {
	t.Helper()
	log := &testkit.Log{}
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
func TestDevTelegramAnswersWithoutAnAccount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := run(t, dir, "dev", "telegram", "--listen", "127.0.0.1:0")
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	config := filepath.Join(dir, "dev-telegram.toml")
	testkit.Await(t, "the fake platform is there", time.Minute, func() bool {
		return strings.Contains(log.String(), "--config dev-telegram.toml") && address.MatchString(log.String())
	})
	at := address.FindString(log.String())
	run(t, dir, "--config", "dev-telegram.toml", "serve")

	view := func() string { return devView(t, at) }
	testkit.Await(t, "the bot listens", time.Minute, func() bool { return strings.Contains(view(), `"connected":true`) })
	resp, err := http.PostForm(at+"/page/send", url.Values{"user": {"500000001"}, "chat": {"500000001"}, "text": {"/whoami"}})
	if err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("send: %v, %v", resp, err)
	}
	testkit.Await(t, "ada is known as an admin", time.Minute, func() bool { return strings.Contains(view(), "ada") && strings.Contains(view(), "admin") })

	info, err := os.Stat(config)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the settings: %v, %v", info.Mode(), err)
	}
}

// The same on Discord; a bot that runs finds the platform that is started anew.
func TestDevDiscordIsFoundAgainWhenStartedAnew(t *testing.T) {
	t.Parallel()
	const ada = "100000000000000002"
	dir, free := t.TempDir(), testkit.FreeAddress(t)
	at := "http://" + free
	direct := regexp.MustCompile(`"id":"(\d+)","title":"@switchboard-dev","direct":true`)
	for i, name := range []string{"first", "started anew"} {
		t.Run(name, func(sub *testing.T) {
			log := run(sub, dir, "dev", "discord", "--listen", free)
			testkit.Await(sub, "the fake platform is there", time.Minute, func() bool { return strings.Contains(log.String(), "It forgets everything") })
			if i == 0 {
				run(t, dir, "--config", "dev-discord.toml", "serve")
			}
			testkit.Await(sub, "the bot listens", time.Minute, func() bool { return strings.Contains(devViewOf(sub, at, ada, ""), `"connected":true`) })
			chat := direct.FindStringSubmatch(devViewOf(sub, at, ada, ""))[1]
			resp, err := http.PostForm(at+"/page/send", url.Values{"user": {ada}, "chat": {chat}, "text": {"/whoami"}})
			if err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusOK {
				sub.Fatalf("send: %v, %v", resp, err)
			}
			testkit.Await(sub, "ada is known as an admin", time.Minute, func() bool { return strings.Contains(devViewOf(sub, at, ada, chat), "role admin") })
		})
	}
}

// The token is the settings file's alone: nobody can guess it, and a bot that runs
// with the file finds the platform that is started anew.
func TestDevTelegramKeepsItsToken(t *testing.T) {
	t.Parallel()
	tokenOf := func(dir string) string {
		text, _ := os.ReadFile(filepath.Join(dir, "dev-telegram.toml"))
		return string(regexp.MustCompile(`token = "\d+:[^"]+`).Find(text))
	}
	start := func(t *testing.T, dir, listen string) string {
		t.Helper()
		log := run(t, dir, "dev", "telegram", "--listen", listen)
		testkit.Await(t, "the settings are written", time.Minute, func() bool { return strings.Contains(log.String(), "It forgets everything") })
		return tokenOf(dir)
	}
	one, other := t.TempDir(), t.TempDir()
	free := testkit.FreeAddress(t)
	known := fmt.Sprintf("# Written by \"switchboard dev telegram\"\n[channels.telegram]\nkind = \"telegram\"\napi_url = %q\ntoken = \"7000000001:AAfake-telegram-without-account-0000\"\n", "http://"+free)
	testkit.Write(t, filepath.Join(one, "dev-telegram.toml"), known)
	var first string
	t.Run("first", func(t *testing.T) { first = start(t, one, free) })
	if second := start(t, other, "127.0.0.1:0"); len(first) < 40 || first == second || strings.Contains(first, "AAfake") {
		t.Errorf("the tokens are %q and %q", first, second)
	}
	if again := start(t, one, free); again != first {
		t.Errorf("started anew, the token is %q, was %q", again, first)
	}
}

// A settings file that somebody else wrote, or took the first lines of away, stays as
// it is, and the platform starts all the same.
func TestDevTelegramKeepsYourFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	written := filepath.Join(dir, "dev-telegram.toml")
	log := run(t, dir, "dev", "telegram", "--listen", "127.0.0.1:0")
	testkit.Await(t, "the settings are written", time.Minute, func() bool { return strings.Contains(log.String(), "It forgets everything") })
	text, err := os.ReadFile(written)
	if err != nil {
		t.Fatal(err)
	}
	_, mine, _ := strings.Cut(string(text), "\n")
	_, mine, _ = strings.Cut(mine, "\n")
	at := regexp.MustCompile(`127\.0\.0\.1:\d+`)
	for name, tt := range map[string]struct {
		text, says string
		fits       bool
	}{
		"with this server":    {mine, "", true},
		"with another server": {at.ReplaceAllString(mine, "127.0.0.1:1"), "No channel in it reaches this platform", false},
		"with another token":  {regexp.MustCompile(`token = "\d+`).ReplaceAllString(mine, `token = "1`), "No channel in it reaches this platform", false},
		"with no channel":     {"data_dir = \"data\"\n", "[channels.telegram]", false},
		"that is broken":      {"what = is this", "A bot cannot start with it", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, free := t.TempDir(), testkit.FreeAddress(t)
			yours := filepath.Join(dir, "yours.toml")
			text := strings.ReplaceAll(tt.text, at.FindString(mine), free)
			testkit.Write(t, yours, text)
			log := run(t, dir, "dev", "telegram", "--listen", free, "--write-config", "yours.toml")
			testkit.Await(t, "the fake platform is there", time.Minute, func() bool { return strings.Contains(log.String(), "It forgets everything") })
			if after, err := os.ReadFile(yours); err != nil || string(after) != text {
				t.Errorf("the settings are %q, %v", after, err)
			}
			said := log.String()
			if !strings.Contains(said, "was left alone") || !strings.Contains(said, tt.says) || strings.Contains(said, "No channel in it") && tt.fits {
				t.Errorf("it says\n%s", said)
			}
			if strings.Contains(said, "[channels.telegram]") && !strings.Contains(said, `api_url = "http://`+free+`"`) {
				t.Errorf("it does not say what the settings should be:\n%s", said)
			}
		})
	}
}

func TestDevTelegramListensHereOnly(t *testing.T) {
	t.Parallel()
	r := bare(t)
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
	testkit.Await(t, "another fake platform is there", time.Minute, func() bool { return address.MatchString(log.String()) })
	return address.FindStringSubmatch(log.String())[1]
}

// devView is what the page shows to the first person now.
func devView(t *testing.T, at string) string {
	t.Helper()
	return devViewOf(t, at, "500000001", "500000001")
}

func devViewOf(t *testing.T, at, user, chat string) string {
	t.Helper()
	resp, err := http.Get(at + "/page/events?user=" + user + "&chat=" + chat)
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

package setup_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"switchboard/channels/platformtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// Two terminals, two commands: an answer comes with no account and no key, on each platform by itself
// and on all at once. A bot that runs finds a platform that is started again.
func TestDevIsAnsweredWithoutAnAccountAndFoundAgain(t *testing.T) {
	t.Parallel()
	whoami := map[string]string{"telegram": "/whoami", "slack": "/switchboard whoami", "discord": "/whoami"}
	page := regexp.MustCompile(`A fake (\w+) is on this machine at (\S+)`)
	ask := func(t *testing.T, log *testkit.Log, want int) {
		t.Helper()
		found := page.FindAllStringSubmatch(log.String(), -1)
		if len(found) != want {
			t.Fatalf("%d of %d platforms are there:\n%s", len(found), want, log)
		}
		for _, platform := range found {
			name, at := strings.ToLower(platform[1]), platform[2]
			testkit.Await(t, "the bot listens on "+name, time.Minute, func() bool { return programtest.DevView(t, at, "", "").Connected })
			ada := programtest.DevView(t, at, "", "").Users[0].ID
			chat := programtest.DevView(t, at, ada, "").Chats[0].ID
			resp, err := programtest.Posted(at+"/page/send", url.Values{"user": {ada}, "chat": {chat}, "text": {whoami[name]}})
			if err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("send on %s: %v, %v", name, resp, err)
			}
			testkit.Await(t, "ada is known as an admin on "+name, time.Minute, func() bool {
				return slices.ContainsFunc(programtest.DevView(t, at, ada, chat).Messages, func(m platformtest.Message) bool {
					return m.Bot && strings.Contains(m.Text, "ada") && strings.Contains(m.Text, "role admin")
				})
			})
		}
	}
	for platform, free := range map[string]string{
		"telegram": testkit.FreeAddress(t), "slack": testkit.FreeAddress(t), "discord": testkit.FreeAddress(t), "all": "127.0.0.1:0",
	} {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			serve := func(t *testing.T) { t.Helper(); programtest.Run(t, dir, "--config", "dev-"+platform+".toml", "serve") }
			if platform == "all" {
				log := programtest.DevStarted(t, dir, platform, "--listen", free)
				serve(t)
				ask(t, log, 3)
				return
			}
			t.Run("first", func(sub *testing.T) {
				log := programtest.DevStarted(sub, dir, platform, "--listen", free)
				serve(t)
				ask(sub, log, 1)
			})
			began := time.Now().Unix() // a fake's numbers go by seconds: these are new
			testkit.Await(t, "other numbers", time.Minute, func() bool { return time.Now().Unix() > began+2 })
			t.Run("started again", func(sub *testing.T) { ask(sub, programtest.DevStarted(sub, dir, platform, "--listen", free), 1) })
			info, err := os.Stat(filepath.Join(dir, "dev-"+platform+".toml"))
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the settings: %v, %v", info.Mode(), err)
			}
		})
	}
}

// The tokens are the settings file's alone: nobody can guess them.
func TestDevMakesNewTokens(t *testing.T) {
	t.Parallel()
	tokens := func() []string {
		dir := t.TempDir()
		programtest.DevStarted(t, dir, "all", "--listen", "127.0.0.1:0")
		text, _ := os.ReadFile(filepath.Join(dir, "dev-all.toml"))
		return regexp.MustCompile(`(?m)^\w*token = .{30,}$`).FindAllString(string(text), -1)
	}
	one, other := tokens(), tokens()
	if len(one) != 4 || len(other) != 4 || slices.ContainsFunc(one, func(token string) bool { return slices.Contains(other, token) }) {
		t.Errorf("the tokens are %q and %q", one, other)
	}
}

// A settings file that somebody else wrote, or took the first lines of away, stays as
// it is, and the platform starts all the same.
func TestDevTelegramKeepsYourFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	written := filepath.Join(dir, "dev-telegram.toml")
	programtest.DevStarted(t, dir, "telegram", "--listen", "127.0.0.1:0")
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
		"that is broken":      {"what = is this", "A bot cannot start with yours.toml", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, free := t.TempDir(), testkit.FreeAddress(t)
			yours := filepath.Join(dir, "yours.toml")
			text := strings.ReplaceAll(tt.text, at.FindString(mine), free)
			testkit.Write(t, yours, text)
			log := programtest.DevStarted(t, dir, "telegram", "--listen", free, "--write-config", "yours.toml")
			if after, err := os.ReadFile(yours); err != nil || string(after) != text {
				t.Errorf("the settings are %q, %v", after, err)
			}
			said := log.String()
			if !strings.Contains(said, "so I left it as it is") || !strings.Contains(said, tt.says) || strings.Contains(said, "No channel in it") && tt.fits {
				t.Errorf("it says\n%s", said)
			}
			if strings.Contains(said, "[channels.telegram]") && !strings.Contains(said, `api_url = "http://`+free+`"`) {
				t.Errorf("it does not say what the settings should be:\n%s", said)
			}
		})
	}
}

func TestDevListensHereOnly(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	busy := regexp.MustCompile(`127\.0\.0\.1:(\d+)`).FindStringSubmatch(programtest.DevStarted(t, t.TempDir(), "telegram", "--listen", "127.0.0.1:0").String())
	port, _ := strconv.Atoi(busy[1])
	for args, want := range map[string]string{
		"telegram --listen 0.0.0.0:0": "only this machine", "slack --listen nowhere": "missing port",
		"discord --listen " + busy[0]:                    "a fake Discord: listen: listen tcp " + busy[0] + ": bind: address already in use; stop what is there, or take a free port with --listen 127.0.0.1:0",
		fmt.Sprintf("all --listen 127.0.0.1:%d", port-1): "take a free port",
		fmt.Sprintf("all --listen 127.0.0.1:%d", port):   "a fake Telegram: listen",
	} {
		out, errs, code := r.Command(append(strings.Fields("dev --write-config - "), strings.Fields(args)...)...)
		if code != 1 || !strings.Contains(errs, want) || out != "" || strings.Contains(errs, "is on this machine") {
			t.Errorf("dev %s: exit %d, %q%q", args, code, out, errs)
		}
	}
}

func TestDevWithoutAPlatformNamesThem(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	if out, errs, code := r.Command("dev"); code != 2 || errs != "" || !strings.Contains(out, "<telegram|slack|discord|all>") {
		t.Errorf("dev: exit %d, %q%q", code, out, errs)
	}
	r.Refuses("dev signal", 2, `must be one of "telegram","slack","discord","all" but got "signal"`)
}

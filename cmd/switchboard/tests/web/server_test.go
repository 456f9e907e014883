//go:build linux

package web_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"switchboard/cmd/switchboard/programtest"
)

// The commands talk to a bot elsewhere with --server and a token, and say what that does not answer.
func TestCommandsTalkToAServer(t *testing.T) {
	t.Parallel()
	eachShop(t, programtest.Token("boss", allScopes, "root")+programtest.Token("pair", allScopes, "root", "ada"), func(t *testing.T, s *shop) {
		for _, name := range []string{"root", "ada"} {
			s.hears("of-"+name, name)
		}
		away := t.TempDir() // where there is neither settings nor data
		run := func(token, stdin, line string, args ...string) (out, errs string, code int) {
			t.Helper()
			cmd := exec.CommandContext(t.Context(), programtest.Build(t), append([]string{"--server", "http://" + s.address}, append(strings.Fields(line), args...)...)...)
			cmd.Dir, cmd.Env, cmd.Stdin = away, append(programtest.Environ(), "SWITCHBOARD_TOKEN="+token), strings.NewReader(stdin)
			var o, e bytes.Buffer
			cmd.Stdout, cmd.Stderr = &o, &e
			_ = cmd.Run()
			return o.String(), e.String(), cmd.ProcessState.ExitCode()
		}
		says := func(token, stdin, line string, code int, want string, args ...string) {
			t.Helper()
			out, errs, got := run(token, stdin, line, args...)
			if got != code || !strings.Contains(out+errs, want) {
				t.Errorf("%s %v: exit %d, want %d with %q:\n%s%s", line, args, got, code, want, out, errs)
			}
		}
		says("ada", "hi\nhow are you\n", "chat", 0, "heard: hi\nheard: how are you\n")
		says("ada", "again\n", "chat --session other --json", 0, `"text":"heard: again"`)
		says("pair", "hi\n", "chat", 2, "say with --as who you are")
		says("pair", "I am root\n", "chat --as root", 0, "heard: I am root\n")
		says("ada", "hi\n", "chat --as bob", 1, `may not speak for "bob"`)
		says("ada", "hi\n", "chat --yolo", 2, "--yolo: a token does not decide")
		says("boss", "run echo x\n", "chat --session asks", 0, "May I run this command?")
		says("boss", "", "turn list --state cancelled", 0, "run echo x")
		says("ada", "", "turn list", 0, "how are you")
		out, _, _ := run("ada", "", "turn list")
		id := strings.Fields(strings.Split(out, "\n")[1])[0]
		says("ada", "", "turn show "+id, 0, "Session api:other of ada")
		says("ada", "", "explain turn "+id, 0, "because the API token may speak for them")
		says("bob", "", "turn show "+id, 1, "turn "+id+": not found")
		says("ada", "", "turn cancel "+id, 1, "switchboard")
		says("boss", "", "delivery list", 0, "of-ada")
		says("boss", "", "delivery retry 1", 1, "delivery 1 is sent")
		says("ada", "", "delivery retry 1", 1, "switchboard token create NAME --scope admin")
		says("boss", "", "job add --person root", 0, "stretch", "every day at 9", "stretch")
		says("boss", "", "job list --person root", 0, "stretch")
		says("boss", "", "job list --person ann", 1, `there is no person "ann"`)
		says("ada", "", "memory add", 0, "I'll remember: the printer jams", "the printer jams")
		says("boss", "", "memory add --person global --kind rule", 0, "Learned rule 2, for everybody: be brief", "be brief")
		says("ada", "", "memory add --person global", 1, "switchboard token create NAME --scope admin", "x")
		says("ada", "", "memory list", 0, "the printer jams")
		says("bob", "", "memory list", 0, "none yet")
		says("boss", "", "memory list --person ada", 0, "the printer jams")
		says("ada", "", "memory list --all", 1, "may not read everybody's")
		says("boss", "", "memory export --format markdown", 0, "## Rules")
		says("bob", "", "memory forget 1", 1, "not found")
		says("ada", "", "memory forget 1", 0, "Forgotten: the printer jams")
		says("boss", "", "channel list", 0, "play")
		says("ada", "", "memory erase bob --yes", 1, "switchboard token create NAME --scope admin")
		says("ada", "", "memory follow", 1, "switchboard token create NAME --scope admin")
		says("boss", "", "memory follow --from 1000", 1, "There is no record 999")
		says("boss", `{"type":"memory.wal","version":1,"log":"a","n":1,"op":"snapshot"}`, "memory import --records -", 1, "run the command on the machine of the bot")
		follow := exec.CommandContext(t.Context(), programtest.Build(t), "--server", "http://"+s.address, "memory", "follow")
		follow.Dir, follow.Env = away, append(programtest.Environ(), "SWITCHBOARD_TOKEN=boss")
		lines, err := follow.StdoutPipe()
		if err == nil {
			err = follow.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		for in := bufio.NewScanner(lines); ; {
			if !in.Scan() {
				t.Error("the stream has no end of all memories")
				break
			}
			if strings.HasPrefix(in.Text(), `{"type":"memory.wal","version":1,"log":"`) && strings.HasSuffix(in.Text(), `"op":"end"}`) {
				break
			}
		}
		_ = follow.Process.Kill()
		_ = follow.Wait()
		for _, line := range []string{"person list", "person claim", "person add Ann", "token list", "token create x", "secret list", "config set router.workers 3", "channel rejected"} {
			says("boss", "", line, 1, "run the command on the machine of the bot")
		}
		for _, line := range []string{"serve", "usage", "config show", "backup x", "migrate status", "secret set x"} {
			says("boss", "x", line, 2, "--server: this command works on the machine of the bot alone")
		}
		says("boss", "", "doctor", 2, "run \"switchboard doctor\" on the machine of the bot")
		says("wrong", "", "turn list", 1, "the token is not valid")
		says("", "", "turn list", 2, "SWITCHBOARD_TOKEN")
		elsewhere := func(code int, want string, args ...string) {
			t.Helper()
			cmd := exec.CommandContext(t.Context(), programtest.Build(t), args...)
			cmd.Dir, cmd.Env = away, append(programtest.Environ(), "SWITCHBOARD_TOKEN=boss")
			text, _ := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != code || !strings.Contains(string(text), want) {
				t.Errorf("%v: %d, %s", args, cmd.ProcessState.ExitCode(), text)
			}
		}
		elsewhere(2, "use https://, or --insecure", "--server", "http://192.0.2.1:1", "turn", "list")
		elsewhere(2, "is no address", "--server", "bot.example.org", "turn", "list")
		elsewhere(0, "how are you", "--server", fmt.Sprintf("http://%s/", s.address), "--insecure", "turn", "list")
		says("boss", "", "memory erase ada --yes", 0, "Erased of ada: ")
	})
}

package setup_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// inFolder runs the program on a terminal in dir, with nothing but its arguments.
func inFolder(t *testing.T, dir string, args ...string) *programtest.Screen {
	t.Helper()
	cmd := exec.Command(programtest.Build(t), args...)
	cmd.Dir, cmd.Env = dir, append(programtest.Environ(), "TERM=xterm", "NO_COLOR=1", "TZ=Europe/Lisbon", "HOME="+dir, "XDG_DATA_HOME=")
	return programtest.StartOn(t, cmd)
}

// fails waits for the end and wants an exit code.
func fails(s *programtest.Screen) {
	s.T.Helper()
	select {
	case err := <-s.Exited:
		if err == nil {
			s.T.Error("exit 0")
		}
	case <-time.After(programtest.Patience):
		s.T.Fatal("it did not end")
	}
}

const (
	whichModel = "Which one, 1 to 4"
	modelKey   = "  Key (not shown) [none yet]"
	botToken   = "Token of the bot"
	slackBot   = "Bot token, xoxb"
	slackApp   = "App-level token"
	scriptedAt = "Address of the platform"
	timeZone   = "Your time zone"
)

// From an empty folder to an admin's first answer on each platform: init, with nothing typed
// but Enter, the bot, and the code that init printed.
func TestInitLeadsToAnAdminsFirstAnswerOnEachPlatform(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dev := programtest.DevStarted(t, dir, "all", "--listen", "127.0.0.1:0")
	s := inFolder(t, dir, "init", "--dev")
	s.Follow(
		programtest.Step{whichModel, "", "Telegram"},
		programtest.Step{botToken, "", "ok    the token is good: @"},
		programtest.Step{slackBot, "", "ok    the bot token is good: @"},
		programtest.Step{slackApp, "", "ok    the app-level token is good"},
		programtest.Step{botToken, "", "ok    the token is good: application "},
		programtest.Step{scriptedAt, "", ""},
		programtest.Step{timeZone + ", such as Europe/Rome [Europe/Lisbon]", "", "wrote "},
	)
	s.Leaves()
	code := regexp.MustCompile(`claim code ([A-Z2-7-]{14})`).FindStringSubmatch(s.Shown.String())
	if code == nil {
		t.Fatalf("no code:\n%s", s.Shown.String())
	}
	serve := inFolder(t, dir)
	serve.Await(0, "> ")
	claim := code[1]
	for _, platform := range regexp.MustCompile(`A fake (\w+) is on this machine at (\S+)`).FindAllStringSubmatch(dev.String(), -1) {
		name, at := strings.ToLower(platform[1]), platform[2]
		testkit.Await(t, "the bot listens on "+name, time.Minute, func() bool { return programtest.DevView(t, at, "", "").Connected })
		said := regexp.MustCompile(`(?m)^  ` + name + ` +(\S*claim|\S+ claim) `).FindStringSubmatch(s.Shown.String())
		if said == nil {
			t.Fatalf("init does not say how to claim on %s", name)
		}
		if claim == "" {
			claim = strings.TrimSpace(ran(t, dir, "person", "claim"))
		}
		p := newPage(t, at)
		p.Writes(said[1] + " " + claim)
		p.Reads("Welcome! You are an admin")
		p.Writes("what time is it in Tokyo?")
		p.Reads("Tokyo")
		p.Writes(strings.Replace(said[1], "claim", "start", 1))
		p.Reads("no language model is set up")
		claim = ""
	}
	serve.Press(programtest.CtrlD)
	serve.Leaves()
	if out := ran(t, dir, "person", "list"); strings.Count(out, "admin") != 4 {
		t.Errorf("the people are\n%s", out)
	}
	info, err := os.Stat(filepath.Join(dir, "switchboard.toml"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// ran runs the program in dir and returns what it prints.
func ran(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(programtest.Build(t), args...)
	cmd.Dir, cmd.Env = dir, programtest.Environ()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return string(out)
}

func newPage(t *testing.T, at string) *programtest.Page {
	t.Helper()
	p := &programtest.Page{T: t, At: at, User: programtest.DevView(t, at, "", "").Users[0].ID}
	p.Chat = programtest.DevView(t, at, p.User, "").Chats[0].ID
	return p
}

// What is wrong with a token is said, and asked again; none of it is ever shown.
func TestInitSaysWhatIsWrongWithATokenAndAsksAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	programtest.DevStarted(t, dir, "all", "--listen", "127.0.0.1:0")
	var tg, bot, app, dc string
	for _, m := range regexp.MustCompile(`(?m)^(\w*token) = "(.*)"$`).FindAllStringSubmatch(testkit.Read(t, filepath.Join(dir, "dev-all.toml")), -1) {
		switch {
		case m[1] == "bot_token":
			bot = m[2]
		case m[1] == "app_token":
			app = m[2]
		case strings.Contains(m[2], ":"):
			tg = m[2]
		default:
			dc = m[2]
		}
	}
	_, secret, _ := strings.Cut(tg, ":")
	s := inFolder(t, dir, "init", "--dev")
	s.Follow(
		programtest.Step{whichModel, "sk-or-v1-a-key", "Write a number from 1 to 4"},
		programtest.Step{whichModel, "", "Telegram"},
		programtest.Step{botToken, "hello", "it does not look like 123456:ABC"},
		programtest.Step{botToken, bot, "It looks like another one: Slack, Bot token"},
		programtest.Step{botToken, tg[:len(tg)-4] + "AAAA", "fix: ask @BotFather for the token with /token"},
		programtest.Step{botToken, "  \"Bearer " + tg + "\"  ", "ok    the token is good: @"},
		programtest.Step{slackBot, app, "It looks like another one: Slack, App-level token"},
		programtest.Step{slackBot, bot[:len(bot)-4] + "aaaa", "rejected the credentials"},
		programtest.Step{slackBot, "'" + bot + "'", "ok    the bot token is good: @"},
		programtest.Step{slackApp, app[:len(app)-4] + "aaaa", "fix: make an app-level token"},
		programtest.Step{slackApp, "keep", ""},
		programtest.Step{botToken, dc + " and more", "it does not look like the token of a bot"},
		programtest.Step{botToken, "Bot " + dc, "ok    the token is good: application "},
		programtest.Step{scriptedAt, "", ""},
		programtest.Step{timeZone, "Europe/Rom", "did you mean Europe/Rome?"},
		programtest.Step{timeZone, "Asia/Tokyo", "wrote "},
	)
	s.Leaves()
	for i, token := range []string{secret, bot[:len(bot)-4], app[:len(app)-4], dc} {
		if strings.Contains(s.Shown.String(), token) {
			t.Errorf("token %d is shown", i)
		}
	}
	text := testkit.Read(t, filepath.Join(dir, "switchboard.toml"))
	for _, want := range []string{"\ntoken = \"" + tg + "\"\n", "\nbot_token = \"" + bot + "\"\n", "\napp_token = \"" + app[:len(app)-4] + "aaaa\"\n", "\ntoken = \"" + dc + "\"\n", "timezone = \"Asia/Tokyo\""} {
		if !strings.Contains(text, want) {
			t.Errorf("the settings lack a line, of %d bytes", len(want))
		}
	}
}

// A start without settings names init. With Enter alone nothing is set but the time zone; each platform says how to get a token.
func TestInitTakesEnterForNoneYet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bare := inFolder(t, dir)
	bare.Await(0, `There are no settings yet: "switchboard init"`)
	bare.Await(0, "> ")
	bare.Press(programtest.CtrlD)
	bare.Leaves()
	s := inFolder(t, dir, "init")
	s.Follow(
		programtest.Step{whichModel, "", "https://t.me/BotFather"}, programtest.Step{botToken, "   ", "Telegram is left out"},
		programtest.Step{slackBot, "", "Slack is left out"}, programtest.Step{botToken, "", "Discord is left out"}, programtest.Step{scriptedAt, "", ""}, programtest.Step{timeZone, "", "wrote "},
	)
	s.Leaves()
	for _, want := range []string{"Press Enter to accept the value in [brackets].", `No model is set up; "switchboard init model" adds one later.`, "switchboard init slack", "connections:write", "Message Content Intent"} {
		if !strings.Contains(s.Shown.String(), want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if strings.Contains(s.Shown.String(), "claim") {
		t.Error("there is a code, and no platform to send it to")
	}
	out := ran(t, dir, "--data", "data", "doctor")
	for _, want := range []string{`WARN  model +no language model is set .*; the built-in one knows what "help" lists, and looks at nothing by itself \(heartbeats\)\n +fix: name a language model in agent.planner`, `WARN  channel +no chat platform is set\n +fix: `} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("the doctor does not say %q:\n%s", want, out)
		}
	}
	text := testkit.Read(t, filepath.Join(dir, "switchboard.toml"))
	if strings.Contains(text, "\n[channels.") || !strings.Contains(text, "timezone = \"Europe/Lisbon\"") {
		t.Errorf("%s", text)
	}
}

// Whoever leaves in the middle leaves nothing behind.
func TestInitLeftInTheMiddleWritesNothing(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][]programtest.Step{
		"at the first question": nil,
		"at a hidden one":       {{whichModel, "", "Telegram"}, {botToken, "", "Slack"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := inFolder(t, dir, "init")
			s.Follow(steps...)
			s.Await(0, "]: ")
			if steps != nil {
				s.Await(0, slackBot)
			}
			s.Press("half" + programtest.CtrlC)
			s.Await(0, "nothing was written")
			fails(s)
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("it left %v, %v", left, err)
			}
		})
	}
}

// Before it asks anything it says that no file can be written, or that the one that is there has a fault.
func TestInitLooksWhetherItMayWriteBeforeItAsks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testkit.Write(t, filepath.Join(dir, "faulty.toml"), "[agent]\nplaner = \"x\"\n")
	for args, want := range map[string]string{
		"--config faulty.toml init":           `did you mean "planner"?`,
		"--config /proc/nothing.toml init":    "no settings can be written here",
		"--config other.toml init --dev":      `first "switchboard dev all" in another terminal, in this folder`,
		"--config other.toml init pigeon":     "asks for model, telegram, slack",
		"--config other.toml init pigeon --x": "unknown flag",
	} {
		s := inFolder(t, dir, strings.Fields(args)...)
		s.Await(0, want)
		fails(s)
		if strings.Contains(s.Shown.String(), "]: ") {
			t.Errorf("%s asks", args)
		}
	}
}

// What is there is kept: a platform and a model are added to it, each alone, and a token is replaced.
func TestInitAddsToWhatIsThere(t *testing.T) {
	t.Parallel()
	dir, srv := t.TempDir(), llmtest.New(t)
	srv.Lists("small")
	srv.Handle(llmtest.Agreeable)
	programtest.DevStarted(t, dir, "telegram", "--listen", "127.0.0.1:0")
	path := filepath.Join(dir, "switchboard.toml")
	const mine = "# Mine.\ndata_dir = \"data\" # here\n[agent] # who thinks\nplanner = \"offline\" # for now\n\n[[people]]\nname = \"ann\"\nrole = \"admin\"\nidentities = [\"telegram:1\"]"
	testkit.Write(t, path, mine)
	s := inFolder(t, dir, "init", "model")
	s.Follow(programtest.Step{whichModel, srv.URL(), "ok    it answers"}, programtest.Step{aModel, "", "added to "})
	s.Leaves()
	if shown := s.Shown.String(); strings.Contains(shown, "Telegram") || strings.Contains(shown, timeZone) {
		t.Errorf("it asks for more than the model:\n%s", shown)
	}
	s = inFolder(t, dir, "init", "model")
	s.Follow(programtest.Step{whichModel + " [local/small]: ", "", "The model stays local/small.\r\n"})
	s.Await(0, "stays as it is")
	s.Leaves()
	s = inFolder(t, dir, "init", "telegram", "--dev")
	s.Follow(programtest.Step{botToken, "", "claim code "})
	s.Leaves()
	s = inFolder(t, dir, "init")
	s.Follow(programtest.Step{slackBot, "", ""}, programtest.Step{botToken, "", ""}, programtest.Step{scriptedAt, "", "stays as it is"}) // a model and Telegram are there
	s.Leaves()
	text := testkit.Read(t, path)
	if want := strings.Replace(mine, "\"offline\"", "\"local/small\"", 1); !strings.HasPrefix(text, want+"\n") {
		t.Errorf("not all was kept:\n%s", text)
	}
	for _, want := range []string{"\n[llm.providers.local]\nbase_url = \"" + srv.URL() + "\"\n", "\n[channels.telegram]\nkind = \"telegram\"\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the settings lack %q:\n%s", want, text)
		}
	}
	if out := ran(t, dir, "doctor"); !strings.Contains(out, "telegram: the token is good") || !strings.Contains(out, "local/small (planner, reviewer, worker): answered in") {
		t.Errorf("the doctor says\n%s", out)
	}
}

// A platform that cannot be reached is said, and its token can be kept; Ctrl-C leaves while one is
// waited for, too.
func TestInitWithNoNetwork(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	begin := func(address string) (dir string, s *programtest.Screen) {
		dir = t.TempDir()
		testkit.Write(t, filepath.Join(dir, "dev-telegram.toml"),
			fmt.Sprintf("[channels.telegram]\nkind = \"telegram\"\napi_url = \"http://%s\"\ntoken = \"123456:ABC\"\n", address))
		return dir, inFolder(t, dir, "init", "--dev")
	}
	dir, s := begin("127.0.0.1:1") // where nobody listens
	s.Follow(
		programtest.Step{whichModel, "", "Telegram"},
		programtest.Step{botToken, "", "connection refused"},
		programtest.Step{botToken + " (not shown) [none yet]", "keep", "Slack"},
		programtest.Step{slackBot, "", "Discord"},
		programtest.Step{botToken, "", ""},
		programtest.Step{scriptedAt, "", ""},
		programtest.Step{timeZone, "", "telegram   /claim "},
	)
	s.Leaves()
	if text := testkit.Read(t, filepath.Join(dir, "switchboard.toml")); !strings.Contains(text, "\ntoken = \"123456:ABC\"\n") {
		t.Error("the token is not in the settings")
	}
	dir, s = begin(silent.Addr().String())
	s.Follow(programtest.Step{whichModel, "", "Telegram"}, programtest.Step{botToken, "", "\r\n"})
	conn, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s.Press(programtest.CtrlC)
	s.Await(0, "nothing was written")
	fails(s)
	if _, err := os.Stat(filepath.Join(dir, "switchboard.toml")); err == nil {
		t.Error("something was written")
	}
}

// A platform that is a folder and one line is asked about, too.
func TestInitAsksAboutAKindOfOneLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := inFolder(t, dir, "init", "scripted")
	s.Follow(programtest.Step{scriptedAt, "/a.sock", "wrote "})
	s.Leaves()
	if text := testkit.Read(t, filepath.Join(dir, "switchboard.toml")); !strings.Contains(text, "\n[channels.scripted]\nkind = \"scripted\"\naddr = \"/a.sock\"\n") {
		t.Errorf("the settings are\n%s", text)
	}
}

// The settings of a fake platform are taken with no terminal, too, and a code is printed.
func TestInitAtTheFakesWithoutATerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	programtest.DevStarted(t, dir, "telegram", "--listen", "127.0.0.1:0")
	if out := ran(t, dir, "init", "--dev"); !regexp.MustCompile(`^wrote \S+\nclaim code [A-Z2-7-]{14}\n$`).MatchString(out) {
		t.Errorf("it prints %q", out)
	}
	out := ran(t, dir, "doctor")
	for _, want := range []string{"telegram: the token is good", `fix: send it the code that "switchboard person claim" prints`} {
		if !strings.Contains(out, want) {
			t.Errorf("the doctor does not say %q:\n%s", want, out)
		}
	}
}

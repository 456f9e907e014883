package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"switchboard/channels"
	"switchboard/channels/discord"
	"switchboard/channels/discord/discordtest"
	"switchboard/channels/slack"
	"switchboard/channels/slack/slacktest"
	"switchboard/channels/telegram"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/configs"
)

// devCmd runs fake platforms, to try channels with no account, until it is stopped.
type devCmd struct {
	Platform    string `arg:"" name:"telegram|slack|discord|all" enum:"telegram,slack,discord,all" help:"The platform, or all of them at once."`
	Listen      string `help:"Where the fake platform and its page are; all takes the two ports after it too. From 127.0.0.1:8081 on when left out." placeholder:"ADDR"`
	WriteConfig string `help:"Settings file to write for the bot; \"-\" prints it. dev-PLATFORM.toml when left out." placeholder:"FILE"`
}

// A fake is a fake platform that runs.
type fake interface {
	URL() string
	APIURL() string
	// Login gives the bot tokens, had's where they can be its own and else new ones, and returns
	// them, both by their keys in a table [channels.NAME].
	Login(had map[string]string) map[string]string
	Close()
}

// A fakeKind is one row of the wiring table of fake platforms.
type fakeKind struct {
	kind, title string
	note        string // for its table in the settings
	// start starts it with people and places; first is the ID of the first person.
	start func(addr string) (f fake, first any, err error)
	// reads is what a channel's settings say of where its platform is, and its tokens.
	reads func(adapter any) (api string, tokens map[string]channels.Credential)
}

// fakes is that table, in the order of the ports.
var fakes = []fakeKind{
	{
		telegram.Kind, "Telegram", "",
		starts(telegramtest.Start, func(s *telegramtest.Server) any { return s.Furnish().ID }),
		func(adapter any) (string, map[string]channels.Credential) {
			c := adapter.(*telegram.Config)
			return c.APIURL, map[string]channels.Credential{"token": c.Token}
		},
	},
	{
		slack.Kind, "Slack", "",
		starts(slacktest.Start, func(s *slacktest.Server) any { return s.Furnish().ID }),
		func(adapter any) (string, map[string]channels.Credential) {
			c := adapter.(*slack.Config)
			return c.APIURL, map[string]channels.Credential{"bot_token": c.BotToken, "app_token": c.AppToken}
		},
	},
	{
		discord.Kind, "Discord", "# reply_in = \"thread\"   # mentions are answered in a thread\n",
		starts(discordtest.Start, func(s *discordtest.Server) any { return s.Furnish().ID }),
		func(adapter any) (string, map[string]channels.Credential) {
			c := adapter.(*discord.Config)
			return c.APIURL, map[string]channels.Credential{"token": c.Token}
		},
	},
}

func starts[S fake](start func(addr string) (S, error), furnish func(S) any) func(string) (fake, any, error) {
	return func(addr string) (fake, any, error) {
		s, err := start(addr)
		if err != nil {
			return nil, nil, err
		}
		return s, furnish(s), nil
	}
}

const (
	allFakes = "all"
	// firstPort is where the first row of fakes listens; the others follow.
	firstPort = 8081
	// devMark begins a settings file that this command wrote and may write again.
	devMark = "# Written by \"switchboard dev "
	// devHead takes what was started and the data folder; a table for each channel and devPeople follow.
	devHead = devMark + `%s", which writes it again at each start.
# To keep changes, take this line and the one above away: then it is left alone.
data_dir = %q

[agent]
planner = "offline"
`
	devRights = `dm = "open"       # everybody on the fake platform may write
groups = "open"
# tools_deny = []   # lets admins have commands run from here, in the sandbox
`
	devPeople = `
[[people]]
name = "ada"
role = "admin"    # everybody else comes in as a user
identities = ["%s"]
`
)

// Run implements the command.
func (c devCmd) Run(a *app) error {
	name := cmp.Or(c.WriteConfig, "dev-"+c.Platform+".toml")
	folder := strings.TrimSuffix(name, filepath.Ext(name)) + "-data"
	if name == "-" {
		folder = "dev-" + c.Platform + "-data"
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return fmt.Errorf("--write-config: %w", err)
	}
	settings, yours, err := a.former(name)
	if err != nil {
		return err
	}
	type started struct {
		fakeKind
		server fake
	}
	var all []started
	var people []string
	for i, row := range fakes { // all of them start, or none
		if c.Platform != row.kind && c.Platform != allFakes {
			continue
		}
		server, first, err := row.start(c.address(i))
		if err != nil {
			return fmt.Errorf("nothing was started: a fake %s: %w; stop what is there, or take a free port with --listen 127.0.0.1:0", row.title, err)
		}
		defer server.Close()
		all, people = append(all, started{row, server}), append(people, fmt.Sprintf("%s:%v", row.kind, first))
	}
	var tables, lacks, pages string
	for _, row := range all {
		server := row.server
		had := row.tokens(settings, server.APIURL())
		login, reaches := server.Login(had), true
		table := fmt.Sprintf("\n[channels.%s]\nkind = %q\napi_url = %q\n", row.kind, row.kind, server.APIURL())
		for _, key := range slices.Sorted(maps.Keys(login)) {
			table += fmt.Sprintf("%s = %q\n", key, login[key])
			reaches = reaches && had[key] == login[key]
		}
		if !reaches {
			lacks += table
		}
		tables += table + devRights + row.note
		pages += " " + server.URL() + "/"
		fmt.Fprintf(a.err, "A fake %s is on this machine at %s\n", row.title, server.URL())
	}
	text := fmt.Sprintf(devHead, c.Platform, folder) + tables + fmt.Sprintf(devPeople, strings.Join(people, `", "`))
	if name == "-" {
		fmt.Fprint(a.out, text)
	} else {
		if yours {
			fmt.Fprintf(a.err, "\n%s was not written by this command, or you have changed it, so I left it as it is.\n", name)
		} else if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return fmt.Errorf("write the settings: %w", err)
		}
		if yours && lacks != "" {
			fmt.Fprintf(a.err, "No channel in it reaches this platform, which takes\n%s", lacks)
		}
		fmt.Fprintf(a.err, "\n1. The bot, in a second terminal:  %s --config %s\n", self(), name)
		fmt.Fprintf(a.err, "2. You, in a browser:             %s\n", pages)
	}
	fmt.Fprintln(a.err, "\nIt forgets everything when it stops (Ctrl-C).")
	<-a.ctx.Done()
	return nil
}

// address is where the fake platform in row i of fakes listens.
func (c devCmd) address(i int) string {
	if c.Listen == "" {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(firstPort+i))
	}
	host, port, err := net.SplitHostPort(c.Listen)
	n, _ := strconv.Atoi(port)
	if err != nil || c.Platform != allFakes || n == 0 {
		return c.Listen // the server says what is wrong with it
	}
	return net.JoinHostPort(host, strconv.Itoa(n+i))
}

// former reads the settings file that there is already. It is yours if somebody else wrote it,
// or made it theirs.
func (a *app) former(name string) (settings *configs.Settings, yours bool, err error) {
	if text, err := os.ReadFile(name); name == "-" || errors.Is(err, fs.ErrNotExist) {
		return &configs.Settings{}, false, nil
	} else if err != nil {
		return nil, false, fmt.Errorf("read the former settings: %w", err)
	} else {
		yours = !strings.HasPrefix(string(text), devMark)
	}
	settings, _, fault := configs.Load(configs.Options{File: name, Env: a.env, Kinds: configKinds()})
	if fault != nil {
		settings = &configs.Settings{} // it has no channels
		if yours {
			fmt.Fprintf(a.err, "A bot cannot start with %s: %v\n\n", name, fault)
		}
	}
	return settings, yours, nil
}

// tokens are those of the channels that are at the address, by their keys.
func (k fakeKind) tokens(settings *configs.Settings, address string) map[string]string {
	had := map[string]string{}
	for _, channel := range settings.Channels {
		if channel.Kind != k.kind {
			continue
		}
		api, tokens := k.reads(channel.Adapter)
		for key, token := range tokens {
			if secret, err := token.Read(); err == nil && strings.TrimRight(api, "/") == strings.TrimRight(address, "/") {
				had[key] = secret.Reveal()
			}
		}
	}
	return had
}

// atFakes takes the fake platforms that were started in this folder for the real ones.
func (q *interview) atFakes() error {
	q.fakes = map[string]map[string]string{}
	for _, file := range devFiles() {
		settings, _, err := configs.Load(configs.Options{File: file, Env: q.app.env, Kinds: configKinds()})
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		for _, row := range fakes {
			for _, channel := range settings.Channels {
				if channel.Kind != row.kind || q.fakes[row.kind] != nil {
					continue
				}
				api, _ := row.reads(channel.Adapter)
				keys := row.tokens(settings, api)
				keys["api_url"], keys["groups"] = api, "open"
				q.fakes[row.kind] = keys
			}
		}
	}
	if len(q.fakes) == 0 {
		return fmt.Errorf("--dev: there is no dev-%s.toml here; first \"switchboard dev %s\" in another terminal, in this folder", allFakes, allFakes)
	}
	if q.answers.DataDir == "" && q.answers.Existing == nil {
		q.answers.DataDir = "dev-" + strings.TrimSuffix(filepath.Base(q.path), filepath.Ext(q.path)) + "-data"
	}
	return nil
}

// devFiles are the settings files that this command writes for the bot.
func devFiles() []string {
	files := []string{"dev-" + allFakes + ".toml"}
	for _, row := range fakes {
		files = append(files, "dev-"+row.kind+".toml")
	}
	return files
}

// self is how this program was called.
func self() string {
	if exe, err := os.Executable(); err != nil || strings.Contains(exe, "go-build") {
		return "go run ./cmd/switchboard"
	}
	return os.Args[0]
}

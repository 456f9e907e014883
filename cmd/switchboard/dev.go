package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"switchboard/channels/discord/discordtest"
	"switchboard/channels/slack/slacktest"
	"switchboard/channels/telegram"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/configs"
)

// devCmd are fake platforms, to try a channel with no account.
type devCmd struct {
	Telegram devTelegramCmd `cmd:"" help:"A fake Telegram on this machine, with a page to chat on."`
	Slack    devSlackCmd    `cmd:"" help:"A fake Slack on this machine, with a page to chat on."`
	Discord  devDiscordCmd  `cmd:"" help:"A fake Discord on this machine, with a page to chat on."`
}

// devTelegramCmd runs a fake Telegram until it is stopped.
type devTelegramCmd struct {
	Listen      string `help:"Where the fake platform and its page are." default:"127.0.0.1:8081" placeholder:"ADDR"`
	WriteConfig string `help:"Settings file to write for the bot; \"-\" prints it." default:"dev-telegram.toml" placeholder:"FILE"`
}

// devMark begins a settings file that this command wrote and may write again.
const devMark = "# Written by \"switchboard dev telegram\""

// devSettings are what the bot needs to serve the fake platform: its address, the
// bot's token, the data folder, the first person's ID there.
const devSettings = devMark + `, which writes it again at each start.
# To keep changes, take this line and the one above away: then it is left alone.
data_dir = %[3]q

[agent]
planner = "offline"

[channels.telegram]
kind = "telegram"
api_url = %[1]q
token = %[2]q
dm = "open"       # everybody on the fake platform may write
groups = "open"
# tools_deny = []   # lets admins have commands run from here, in the sandbox

[[people]]
name = "ada"
role = "admin"    # everybody else comes in as a user
identities = ["telegram:%[4]d"]
`

// Run implements the command.
func (c devTelegramCmd) Run(a *app) error {
	server, err := telegramtest.Start(c.Listen)
	if err != nil {
		return fmt.Errorf("%w; --listen 127.0.0.1:0 takes a free port", err)
	}
	defer server.Close()
	ada := server.Furnish()
	server.SetToken(server.Bot(), a.formerToken(c.WriteConfig, server))

	name := dataOf(c.WriteConfig, "dev-telegram")
	dir, err := filepath.Abs(filepath.Dir(c.WriteConfig))
	if err != nil {
		return fmt.Errorf("--write-config: %w", err)
	}
	text := fmt.Sprintf(devSettings, server.URL(), server.Token(), filepath.Join(dir, name), ada.ID)
	return a.show("Telegram", server.URL(), c.WriteConfig, devMark, text, func() string { return a.reaches(c.WriteConfig, server) })
}

// devDiscordCmd runs a fake Discord until it is stopped.
type devDiscordCmd struct {
	Listen      string `help:"Where the fake platform and its page are." default:"127.0.0.1:8083" placeholder:"ADDR"`
	WriteConfig string `help:"Settings file to write for the bot; \"-\" prints it." default:"dev-discord.toml" placeholder:"FILE"`
}

// devDiscordMark and devDiscordSettings are those of the fake Discord.
const (
	devDiscordMark     = "# Written by \"switchboard dev discord\""
	devDiscordSettings = devDiscordMark + `, which writes it again at each start.
# To keep changes, take this line and the one above away: then it is left alone.
data_dir = %[3]q

[agent]
planner = "offline"

[channels.discord]
kind = "discord"
api_url = %[1]q
token = %[2]q
dm = "open"       # everybody on the fake platform may write
groups = "open"
# reply_in = "thread"   # mentions are answered in a thread
# tools_deny = []       # lets admins have commands run from here, in the sandbox

[[people]]
name = "ada"
role = "admin"    # everybody else comes in as a user
identities = ["discord:%[4]s"]
`
)

// Run implements the command.
func (c devDiscordCmd) Run(a *app) error {
	server, err := discordtest.Start(c.Listen)
	if err != nil {
		return fmt.Errorf("%w; --listen 127.0.0.1:0 takes a free port", err)
	}
	defer server.Close()
	ada := server.Furnish()
	server.SetToken(formerDiscordToken(c.WriteConfig))
	dir, err := filepath.Abs(filepath.Dir(c.WriteConfig))
	if err != nil {
		return fmt.Errorf("--write-config: %w", err)
	}
	text := fmt.Sprintf(devDiscordSettings, server.APIURL(), server.Token(), filepath.Join(dir, dataOf(c.WriteConfig, "dev-discord")), ada.ID)
	return a.show("Discord", server.URL(), c.WriteConfig, devDiscordMark, text, func() string {
		return fmt.Sprintf("A bot reaches this platform with api_url = %q and token = %q.\n", server.APIURL(), server.Token())
	})
}

var discordToken = regexp.MustCompile(`(?m)^token = "([A-Za-z0-9_.-]+)"`)

// formerDiscordToken is the token in a settings file of this command's, which a bot with that file
// goes on to use; empty: none.
func formerDiscordToken(path string) string {
	text, err := os.ReadFile(path)
	found := discordToken.FindSubmatch(text)
	if err != nil || found == nil || !strings.HasPrefix(string(text), devDiscordMark) {
		return ""
	}
	return string(found[1])
}

// dataOf names the data folder beside a settings file.
func dataOf(config, fallback string) string {
	if config == "-" {
		return fallback + "-data"
	}
	return strings.TrimSuffix(filepath.Base(config), filepath.Ext(config)) + "-data"
}

// show writes the settings for a fake platform's bot, says what to do next, and waits for the
// end. reaches says what a file that was kept lacks.
func (a *app) show(platform, address, config, mark, text string, reaches func() string) error {
	keeps, err := false, error(nil)
	if config == "-" {
		fmt.Fprint(a.out, text)
	} else if keeps, err = rewrite(config, mark, text); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "A fake %s is on this machine at %s\n\n", platform, address)
	if keeps {
		fmt.Fprintf(a.err, "%s is not of this command's writing, or was made yours: it was left alone.\n%s\n", config, reaches())
	}
	if config != "-" {
		fmt.Fprintf(a.err, "1. The bot, in a second terminal:  %s --config %s\n", self(), config)
		fmt.Fprintf(a.err, "2. You, in a browser:              %s/\n\n", address)
	}
	fmt.Fprintln(a.err, "It forgets everything when it stops (Ctrl-C).")
	<-a.ctx.Done()
	return nil
}

// devSlackCmd runs a fake Slack until it is stopped.
type devSlackCmd struct {
	Listen      string `help:"Where the fake platform and its page are." default:"127.0.0.1:8082" placeholder:"ADDR"`
	WriteConfig string `help:"Settings file to write for the bot; \"-\" prints it." default:"dev-slack.toml" placeholder:"FILE"`
}

// devSlackMark begins a settings file that this command wrote and may write again.
const devSlackMark = "# Written by \"switchboard dev slack\""

// devSlackSettings are what the bot needs to serve the fake platform: its address, both
// tokens, the data folder, the first person's ID there.
const devSlackSettings = devSlackMark + `, which writes it again at each start.
# To keep changes, take this line and the one above away: then it is left alone.
data_dir = %[4]q

[agent]
planner = "offline"

[channels.slack]
kind = "slack"
api_url = %[1]q
bot_token = %[2]q
app_token = %[3]q
dm = "open"       # everybody on the fake platform may write
groups = "open"
# tools_deny = []   # lets admins have commands run from here, in the sandbox

[[people]]
name = "ada"
role = "admin"    # everybody else comes in as a user
identities = ["slack:%[5]s"]
`

// Run implements the command.
func (c devSlackCmd) Run(a *app) error {
	server, err := slacktest.Start(c.Listen)
	if err != nil {
		return fmt.Errorf("%w; --listen 127.0.0.1:0 takes a free port", err)
	}
	defer server.Close()
	ada := server.Furnish()
	name := "dev-slack"
	if c.WriteConfig != "-" {
		name = strings.TrimSuffix(filepath.Base(c.WriteConfig), filepath.Ext(c.WriteConfig))
	}
	dir, err := filepath.Abs(filepath.Dir(c.WriteConfig))
	if err != nil {
		return fmt.Errorf("--write-config: %w", err)
	}
	text := fmt.Sprintf(devSlackSettings, server.APIURL(), server.BotToken(), server.AppToken(), filepath.Join(dir, name+"-data"), ada.ID)
	if c.WriteConfig == "-" {
		fmt.Fprint(a.out, text)
	} else if keeps, err := rewrite(c.WriteConfig, devSlackMark, text); err != nil {
		return err
	} else if keeps {
		fmt.Fprintf(a.err, "%s is not of this command's writing, or was made yours: it was left alone.\n", c.WriteConfig)
	}
	fmt.Fprintf(a.err, "A fake Slack is on this machine at %s\n\n", server.URL())
	if c.WriteConfig != "-" {
		fmt.Fprintf(a.err, "1. The bot, in a second terminal:  %s --config %s\n", self(), c.WriteConfig)
		fmt.Fprintf(a.err, "2. You, in a browser:              %s/\n\n", server.URL())
	}
	fmt.Fprintln(a.err, "It forgets everything when it stops (Ctrl-C).")
	<-a.ctx.Done()
	return nil
}

// rewrite writes a settings file that begins with mark, unless there is one that somebody else wrote or made
// theirs: that one it keeps.
func rewrite(path, mark, text string) (keeps bool, err error) {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read %s: %w", path, err)
	}
	if err == nil && !strings.HasPrefix(string(old), mark) {
		return true, nil
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return false, fmt.Errorf("write the settings: %w", err)
	}
	return false, nil
}

// bots are the settings of a file's channels on the server.
func (a *app) bots(path string, server *telegramtest.Server) (list []*telegram.Config, err error) {
	settings, _, err := configs.Load(configs.Options{File: path, Env: a.env, Kinds: configKinds()})
	if err != nil {
		return nil, err
	}
	for _, channel := range settings.Channels {
		if cfg, ok := channel.Adapter.(*telegram.Config); ok && strings.TrimRight(cfg.APIURL, "/") == server.URL() {
			list = append(list, cfg)
		}
	}
	return list, nil
}

// formerToken is the token that a settings file has for the server, which a bot with
// that file goes on to use; empty: none. What everybody knows is kept in no file of
// this command's.
func (a *app) formerToken(path string, server *telegramtest.Server) string {
	text, _ := os.ReadFile(path) // what cannot be read has no bots
	bots, _ := a.bots(path, server)
	for _, cfg := range bots {
		token, err := cfg.Token.Read()
		own := fmt.Sprintf("%d:", server.Bot().User.ID)
		if err != nil || cfg.CheckCredential("token", token) != nil || !strings.HasPrefix(token.Reveal(), own) {
			continue
		}
		if token.Reveal() != server.Token() || !strings.HasPrefix(string(text), devMark) {
			return token.Reveal()
		}
	}
	return ""
}

// reaches says what to change in a settings file before a bot with it reaches the
// server; nothing when one does.
func (a *app) reaches(path string, server *telegramtest.Server) string {
	bots, err := a.bots(path, server)
	if err != nil {
		return fmt.Sprintf("A bot cannot start with it: %v\n", err)
	}
	for _, cfg := range bots {
		if token, err := cfg.Token.Read(); err == nil && token.Reveal() == server.Token() {
			return ""
		}
	}
	return fmt.Sprintf("No channel in it reaches this platform, which takes\n\n[channels.telegram]\nkind = \"telegram\"\napi_url = %q\ntoken = %q\n",
		server.URL(), server.Token())
}

// self is how this program was called.
func self() string {
	if exe, err := os.Executable(); err != nil || strings.Contains(exe, "go-build") {
		return "go run ./cmd/switchboard"
	}
	return os.Args[0]
}

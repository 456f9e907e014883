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
	"switchboard/channels/discord/discordtest"
	"switchboard/channels/slack/slacktest"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/cmd/switchboard/interview"
	"switchboard/configs"
)

// devCmd runs fake platforms, to try channels with no account, until it is stopped.
type devCmd struct {
	Platform    string `arg:"" name:"ENUM" enum:"${fakes},all" help:"The platform, or all of them at once."`
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

// fakes start those of the platforms that have one, by kind, with people and places; first is the ID of
// the first person.
var fakes = map[string]func(addr string) (f fake, first any, err error){
	"telegram": starts(telegramtest.Start, func(s *telegramtest.Server) any { return s.Furnish().ID }),
	"slack":    starts(slacktest.Start, func(s *slacktest.Server) any { return s.Furnish().ID }),
	"discord":  starts(discordtest.Start, func(s *discordtest.Server) any { return s.Furnish().ID }),
}

// fakeKinds are the names of the kinds that have a fake, in the order of the ports.
func fakeKinds() []string {
	return kindsWith(func(k channels.Kind) bool { return fakes[k.Name] != nil })
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
	// firstPort is where the first of fakeKinds listens; the others follow.
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
		channels.Kind
		server fake
	}
	var all []started
	var people []string
	for i, name := range fakeKinds() { // all of them start, or none
		if c.Platform != name && c.Platform != allFakes {
			continue
		}
		kind, _ := kinds.Find(name)
		server, first, err := fakes[name](c.address(i))
		if err != nil {
			return fmt.Errorf("nothing was started: a fake %s: %w; stop what is there, or take a free port with --listen 127.0.0.1:0", kind.Title, err)
		}
		defer server.Close()
		all, people = append(all, started{kind, server}), append(people, fmt.Sprintf("%s:%v", name, first))
	}
	var tables, lacks, pages string
	for _, row := range all {
		server := row.server
		had := tokensAt(settings, row.Name, server.APIURL())
		login, reaches := server.Login(had), true
		table := fmt.Sprintf("\n[channels.%s]\nkind = %q\napi_url = %q\n", row.Name, row.Name, server.APIURL())
		for _, key := range slices.Sorted(maps.Keys(login)) {
			table += fmt.Sprintf("%s = %q\n", key, login[key])
			reaches = reaches && had[key] == login[key]
		}
		if !reaches {
			lacks += table
		}
		tables += table + devRights + row.Hint
		pages += " " + server.URL() + "/"
		fmt.Fprintf(a.err, "A fake %s is on this machine at %s\n", row.Title, server.URL())
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

// address is where the fake platform of kind i of fakeKinds listens.
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
	settings, _, fault := configs.Load(configs.Options{File: name, Env: a.env, Kinds: kinds})
	if fault != nil {
		settings = &configs.Settings{} // it has no channels
		if yours {
			fmt.Fprintf(a.err, "A bot cannot start with %s: %v\n\n", name, fault)
		}
	}
	return settings, yours, nil
}

// tokensAt are those of the channels of a kind that are at the address, by their keys.
func tokensAt(settings *configs.Settings, kind, address string) map[string]string {
	had := map[string]string{}
	for _, channel := range settings.Channels {
		if channel.Kind != kind || strings.TrimRight(channel.Address(), "/") != strings.TrimRight(address, "/") {
			continue
		}
		for key, token := range channel.Credentials() {
			if secret, err := token.Read(); err == nil {
				had[key] = secret.Reveal()
			}
		}
	}
	return had
}

// atFakes takes the fake platforms that were started in this folder for the real ones.
func atFakes(q *interview.Interview) error {
	q.Fakes = map[string]map[string]string{}
	for _, kind := range append([]string{allFakes}, fakeKinds()...) {
		settings, _, err := configs.Load(configs.Options{File: "dev-" + kind + ".toml", Env: q.Options.Env, Kinds: kinds})
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		for _, channel := range settings.Channels {
			if fakes[channel.Kind] != nil && q.Fakes[channel.Kind] == nil {
				keys := tokensAt(settings, channel.Kind, channel.Address())
				keys["api_url"], keys["groups"] = channel.Address(), "open"
				q.Fakes[channel.Kind] = keys
			}
		}
	}
	if len(q.Fakes) == 0 {
		return fmt.Errorf("--dev: there is no dev-%s.toml here; first \"switchboard dev %s\" in another terminal, in this folder", allFakes, allFakes)
	}
	if q.Answers.DataDir == "" && q.Answers.Existing == nil {
		q.Answers.DataDir = "dev-" + strings.TrimSuffix(filepath.Base(q.Options.File), filepath.Ext(q.Options.File)) + "-data"
	}
	return nil
}

// self is how this program was called.
func self() string {
	if exe, err := os.Executable(); err != nil || strings.Contains(exe, "go-build") {
		return "go run ./cmd/switchboard"
	}
	return os.Args[0]
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"time"

	web "switchboard/channels/api"
	"switchboard/channels/console"
	"switchboard/cmd/switchboard/access"
	"switchboard/cmd/switchboard/engine"
	"switchboard/configs"
	"switchboard/internal/api"
)

// chatCmd talks in the terminal, or in a pipe.
type chatCmd struct {
	Session string        `help:"Which of your conversations; \"default\" if none is named, and with --server one of your own."`
	As      string        `help:"Be this person instead of the owner; with --server, instead of the only person for whom the token speaks." placeholder:"PERSON"`
	Linger  time.Duration `help:"In a pipe: keep listening that long for later messages."`
	JSON    bool          `name:"json" help:"In a pipe: one JSON object a line."`
	Yolo    bool          `help:"Allow once whatever is asked for; in a pipe it is denied otherwise."`
}

// Help is what --help says besides the flags.
func (chatCmd) Help() string {
	return `In a pipe the next line is sent when the former is answered; answers go to standard output, progress to standard error.
It exits with 0 when every line was answered. An honest "I could not" is an answer, so it does not change that: --json says
with each answer how its turn ended ("state", "outcome"). It exits with 1 when a line could not be sent or got no answer.`
}

// Run implements the command.
func (c *chatCmd) Run(a *app) error {
	staysUnstopped()
	if isTerminal(a.in) && !console.InForeground(a.in) {
		return configs.Usage(errors.New("chat reads the terminal, which a job in the background cannot; start it without \"&\", or give it its lines through a pipe"))
	}
	if a.Server != "" {
		return a.withServer(func(ctx context.Context, client *api.Client) error { return c.elsewhere(ctx, a, client) })
	}
	c.As, c.Session = cmp.Or(c.As, access.Owner), cmp.Or(c.Session, "default")
	settings, warnings, err := a.load()
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintln(a.err, "switchboard: warning:", w)
	}
	mode := engine.Passing // a pipe ends
	switch {
	case a.onTerminal():
		mode = engine.Chatting
	case c.Linger > 0:
		mode = engine.Listening
	}
	return a.withEngine(settings, mode, func(ctx context.Context, client *api.Client) error {
		if a.onTerminal() {
			a.note(a.greeting(settings))
		}
		return a.chat(ctx, client, settings, c, nil)
	})
}

// notInSession are the letters that no name of a session has.
var notInSession = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// elsewhere talks to the bot of --server.
func (c *chatCmd) elsewhere(ctx context.Context, a *app, client *api.Client) error {
	if c.Yolo {
		return configs.Usage(errors.New("--yolo: a token does not decide about what it started itself; use --yolo on the machine of the bot, without --server"))
	}
	var self web.Self
	if err := client.Do(ctx, api.Call{Method: http.MethodGet, Path: "/v1/whoami"}, &self); err != nil {
		return err
	}
	if c.As == "" && len(self.People) != 1 {
		return configs.Usage(fmt.Errorf("the token %q does not speak for one person alone: say with --as who you are", self.Token))
	}
	if c.As == "" {
		c.As = self.People[0]
	}
	own := "chat." + notInSession.ReplaceAllString(c.As, "-") // a session is one person's
	return console.Chat(ctx, client, console.Options{
		Session: cmp.Or(c.Session, own), Person: c.As, Linger: c.Linger, JSON: c.JSON, Token: true, In: a.in, Out: a.out, Err: a.err, Terminal: a.onTerminal(),
	})
}

// chat talks to an engine until the input ends; notes are shown on a terminal.
func (a *app) chat(ctx context.Context, client *api.Client, settings *configs.Settings, c *chatCmd, notes <-chan string) error {
	var commands []string // for a terminal alone, and an older engine has none to tell
	if a.onTerminal() {
		_ = client.Do(ctx, api.Call{Method: http.MethodGet, Path: "/v1/commands?" + url.Values{"person": {c.As}}.Encode()}, &commands)
	}
	return console.Chat(ctx, client, console.Options{
		Session: c.Session, Person: c.As, Linger: c.Linger, JSON: c.JSON, Yolo: c.Yolo,
		In: a.in, Out: a.out, Err: a.err, Terminal: a.onTerminal(), Notes: notes,
		HistoryFile: filepath.Join(settings.DataDir, "history"), Commands: commands,
		SeenFile: filepath.Join(settings.DataDir, "seen.json"),
	})
}

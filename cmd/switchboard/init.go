package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"switchboard/channels"
	"switchboard/cmd/switchboard/access"
	"switchboard/cmd/switchboard/doctor"
	"switchboard/cmd/switchboard/engine"
	"switchboard/cmd/switchboard/interview"
	"switchboard/cmd/switchboard/socket"
	"switchboard/configs"
	"switchboard/internal/api"
)

// initCmd writes a settings file or adds to it, or prints what a platform makes the bot's app from.
type initCmd struct {
	What  string `arg:"" optional:"" askable:"" help:"Ask for this alone: ${askable}. When not run on a terminal, ${manifests} prints the manifest of its app."`
	Agent bool   `help:"With ${agents}: print the manifest that makes the app an agent there; this cannot be undone."`
	Dev   bool   `help:"Reach the fake platforms of \"switchboard dev\", which was started in this folder."`
}

// defaultSettings is where the settings are when nothing else is said.
const defaultSettings = "switchboard.toml"

// askable is what init can be asked for alone.
func askable() []string {
	return append([]string{interview.Model}, kindsWith(func(k channels.Kind) bool { return len(k.Asks) > 0 })...)
}

func manifests() []string {
	return kindsWith(func(k channels.Kind) bool { return k.Manifest.Text != "" })
}

func agents() []string {
	return kindsWith(func(k channels.Kind) bool { return k.AgentManifest.Text != "" })
}

// Run implements the command. On a terminal it asks what a first start needs, or what is to be added;
// elsewhere it writes the sample as it is.
func (c initCmd) Run(a *app) error {
	only := strings.ToLower(c.What)
	asks := isTerminal(a.in)
	switch known := only == "" || slices.Contains(askable(), only); {
	case c.Agent || !known:
		return a.printManifest(only, c.Agent)
	case c.Dev || only == "":
	case slices.Contains(manifests(), only):
		if err := a.printManifest(only, false); err != nil || !asks || !isTerminal(a.out) {
			return err
		}
	case !asks:
		return configs.Usage(fmt.Errorf("init %s asks on a terminal, and this is none", only))
	}
	path := cmp.Or(a.Config, configs.Variable(a.env, "SWITCHBOARD_CONFIG"), defaultSettings)
	q := &interview.Interview{Err: a.err, Only: only, Options: configs.Options{
		File: path, Env: a.env, DataDir: a.Data, LogLevel: a.LogLevel, Kinds: kinds,
	}}
	q.In, _ = a.in.(*os.File)
	var err error
	if q.Answers.Existing, err = existing(path); err != nil { // before the questions, not after
		return err
	}
	there := q.Answers.Existing != nil
	if a.Data != "" && !there {
		dir, err := filepath.Abs(a.Data)
		if err != nil {
			return fmt.Errorf("--data: %w", err)
		}
		q.Answers.DataDir = dir
	}
	if c.Dev {
		if err := atFakes(q); err != nil {
			return err
		}
	}
	switch {
	case asks:
		if err := q.Run(a.ctx); err != nil {
			return err
		}
	case c.Dev:
		for _, kind := range fakeKinds() {
			if keys := q.Fakes[kind]; keys != nil && (only == "" || only == kind) {
				q.Answers.Channels = append(q.Answers.Channels, configs.AnsweredChannel{Kind: kind, Keys: keys})
			}
		}
	case there:
		return fmt.Errorf("%s: %w; run init on a terminal, and it adds to it", path, configs.ErrExists)
	}
	if there && q.Answers.Text() == string(q.Answers.Existing) {
		fmt.Fprintf(a.err, "%s stays as it is.\n", path)
		return nil
	}
	if _, err := q.Settings(q.Answers); err != nil {
		return fmt.Errorf("nothing was written; add what you want to %s by hand: %w", path, err)
	}
	if err := configs.Init(path, q.Answers); err != nil {
		return err
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	with := ""
	if a.Config != "" {
		with = " --config " + a.Config
	}
	wrote, next := "wrote", fmt.Sprintf("\"switchboard%s\" runs it, \"switchboard%s doctor\" says what is missing.", with, with)
	if there {
		wrote, next = "added to", fmt.Sprintf("\"switchboard%s\" runs it; a running bot uses it within seconds.", with)
	}
	fmt.Fprintf(a.out, "%s %s\n", wrote, path)
	if len(q.Answers.Channels) > 0 {
		a.claim(q)
	}
	fmt.Fprintf(a.err, "Next: %s\n", next)
	return nil
}

// existing reads the settings file that is there, nil where there is none, and says why none can be written.
func existing(file string) (text []byte, err error) {
	if _, err := os.Lstat(file); err == nil {
		if file, err = filepath.EvalSymlinks(file); err != nil {
			return nil, err
		}
		if text, err = os.ReadFile(file); err != nil { // an empty one is not nil
			return nil, err
		}
	}
	dir, _ := doctor.Nearest(filepath.Dir(file))
	probe, err := os.CreateTemp(dir, ".init-*")
	if err != nil {
		return nil, fmt.Errorf("no settings can be written here: %w; go to another folder, or name a file with --config", err)
	}
	return text, errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// claim prints a code that makes its sender an admin, and what to write on each channel.
func (a *app) claim(q *interview.Interview) {
	var claim socket.ClaimCode
	settings, err := q.Settings(q.Answers)
	if err == nil {
		_, err = a.send(settings, api.Call{Method: http.MethodPost, Path: "/v1/people/claims"}, &claim)
	}
	if claim.Code == "" {
		q.Say("No claim code could be made: %v. \"switchboard person claim\" prints one.", err)
		return
	}
	fmt.Fprintf(a.out, "claim code %s\n", claim.Code)
	q.Say("It makes you an admin, once, within %s. Run the bot, and send it in a direct chat:", engine.ClaimLive())
	attached := access.Attach(settings, slog.New(slog.DiscardHandler))
	for _, at := range attached {
		name := at.Channel.Name()
		command := at.Channel.Features(channels.Conversation{Channel: name, Kind: channels.Direct}).Command
		q.Say("  %-10s %sclaim %s", name, cmp.Or(command, "/"), claim.Code)
	}
	if len(attached) > 1 {
		q.Say("The code works on one of them. To add the others, write /link there and follow what it says.")
	}
}

func (a *app) printManifest(name string, agent bool) error {
	k, _ := kinds.Find(name)
	manifest := k.Manifest
	if agent {
		manifest = k.AgentManifest
	}
	switch {
	case manifest.Text != "":
		fmt.Fprint(a.out, manifest.Text)
		fmt.Fprintln(a.err, manifest.Use)
		return nil
	case agent && name == "":
		return configs.Usage(fmt.Errorf("init --agent: name the platform before it, as in init %s --agent", either(agents())))
	case agent:
		return configs.Usage(fmt.Errorf("init %s --agent: it has no agents of its own; leave --agent out", name))
	}
	return configs.Usage(fmt.Errorf("init %s: there is nothing to ask about it here; on a terminal, \"switchboard init\" asks for %s", name, either(askable())))
}

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
	"switchboard/configs"
	"switchboard/router/people"
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
	return append([]string{askedModel}, kindsWith(func(k channels.Kind) bool { return len(k.Asks) > 0 })...)
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
		return usageError{fmt.Errorf("init %s asks on a terminal, and this is none", only)}
	}
	q := &interview{app: a, path: cmp.Or(a.Config, variable(a.env, "SWITCHBOARD_CONFIG"), defaultSettings), only: only}
	if err := q.existing(); err != nil { // before the questions, not after
		return err
	}
	there := q.answers.Existing != nil
	if a.Data != "" && !there {
		dir, err := filepath.Abs(a.Data)
		if err != nil {
			return fmt.Errorf("--data: %w", err)
		}
		q.answers.DataDir = dir
	}
	if c.Dev {
		if err := q.atFakes(); err != nil {
			return err
		}
	}
	switch {
	case asks:
		if err := q.run(); err != nil {
			return err
		}
	case c.Dev:
		for _, kind := range fakeKinds() {
			if keys := q.fakes[kind]; keys != nil && (only == "" || only == kind) {
				q.answers.Channels = append(q.answers.Channels, configs.AnsweredChannel{Kind: kind, Keys: keys})
			}
		}
	case there:
		return fmt.Errorf("%s: %w; run init on a terminal, and it adds to it", q.path, configs.ErrExists)
	}
	if there && q.answers.Text() == string(q.answers.Existing) {
		fmt.Fprintf(a.err, "%s stays as it is.\n", q.path)
		return nil
	}
	if _, err := q.settings(q.answers); err != nil {
		return fmt.Errorf("nothing was written; add what you want to %s by hand: %w", q.path, err)
	}
	if err := configs.Init(q.path, q.answers); err != nil {
		return err
	}
	if abs, err := filepath.Abs(q.path); err == nil {
		q.path = abs
	}
	with := ""
	if a.Config != "" {
		with = " --config " + a.Config
	}
	wrote, next := "wrote", fmt.Sprintf("\"switchboard%s\" runs it, \"switchboard%s doctor\" says what is missing.", with, with)
	if there {
		wrote, next = "added to", fmt.Sprintf("\"switchboard%s\" runs it; a running bot uses it within seconds.", with)
	}
	fmt.Fprintf(a.out, "%s %s\n", wrote, q.path)
	if len(q.answers.Channels) > 0 {
		q.claim()
	}
	fmt.Fprintf(a.err, "Next: %s\n", next)
	return nil
}

// variable is that of an environment; empty: it is not set.
func variable(env []string, name string) string {
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// existing reads the settings file that is there, and says why none can be written.
func (q *interview) existing() error {
	file := q.path
	if _, err := os.Lstat(file); err == nil {
		if file, err = filepath.EvalSymlinks(file); err != nil {
			return err
		}
		if q.answers.Existing, err = os.ReadFile(file); err != nil { // an empty one is not nil
			return err
		}
	}
	dir, _ := nearest(filepath.Dir(file))
	probe, err := os.CreateTemp(dir, ".init-*")
	if err != nil {
		return fmt.Errorf("no settings can be written here: %w; go to another folder, or name a file with --config", err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// claim prints a code that makes its sender an admin, and what to write on each channel.
func (q *interview) claim() {
	var claim claimCode
	settings, err := q.settings(q.answers)
	if err == nil {
		_, err = q.app.send(settings, http.MethodPost, "/v1/people/claims", &claim)
	}
	if claim.Code == "" {
		q.say("No claim code could be made: %v. \"switchboard person claim\" prints one.", err)
		return
	}
	fmt.Fprintf(q.app.out, "claim code %s\n", claim.Code)
	q.say("It makes you an admin, once, within %s. Run the bot, and send it in a direct chat:", hours(people.ClaimLive))
	attached := attach(settings, slog.New(slog.DiscardHandler))
	for _, at := range attached {
		name := at.Channel.Name()
		command := at.Channel.Features(channels.Conversation{Channel: name, Kind: channels.Direct}).Command
		q.say("  %-10s %sclaim %s", name, cmp.Or(command, "/"), claim.Code)
	}
	if len(attached) > 1 {
		q.say("The code works on one of them. To add the others, write /link there and follow what it says.")
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
		return usageError{fmt.Errorf("init --agent: name the platform before it, as in init %s --agent", either(agents()))}
	case agent:
		return usageError{fmt.Errorf("init %s --agent: it has no agents of its own; leave --agent out", name)}
	}
	return usageError{fmt.Errorf("init %s: there is nothing to ask about it here; on a terminal, \"switchboard init\" asks for %s", name, either(askable()))}
}

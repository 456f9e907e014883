package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"switchboard/channels"
	"switchboard/configs"
	"switchboard/router"
)

// initCmd writes a settings file, or prints what a platform makes the bot's app from.
type initCmd struct {
	Kind  string `arg:"" optional:"" help:"A platform whose apps are made from a manifest, such as slack: print that instead."`
	Agent bool   `help:"With a platform: the manifest that makes the app an agent there, which the platform may not take back."`
	Dev   bool   `help:"Reach the fake platforms of \"switchboard dev\", which was started in this folder."`
}

// defaultSettings is where the settings are when nothing else is said.
const defaultSettings = "switchboard.toml"

// Run implements the command. On a terminal it asks what a first start needs;
// elsewhere it writes the sample as it is.
func (c initCmd) Run(a *app) error {
	if c.Kind != "" || c.Agent {
		return a.printManifest(c.Kind, c.Agent)
	}
	q := &interview{app: a, path: cmp.Or(a.Config, variable(a.env, "SWITCHBOARD_CONFIG"), defaultSettings)}
	if err := writable(q.path); err != nil { // before the questions, not after
		return err
	}
	if a.Data != "" {
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
	case isTerminal(a.in):
		if err := q.run(); err != nil {
			return err
		}
	case c.Dev:
		for _, k := range askedKinds {
			if keys := q.fakes[k.kind]; keys != nil {
				q.answers.Channels = append(q.answers.Channels, configs.AnsweredChannel{Kind: k.kind, Keys: keys})
			}
		}
	}
	if err := configs.Init(q.path, q.answers); err != nil {
		return err
	}
	if abs, err := filepath.Abs(q.path); err == nil {
		q.path = abs
	}
	fmt.Fprintf(a.out, "wrote %s\n", q.path)
	if len(q.answers.Channels) > 0 {
		q.claim()
	}
	with := ""
	if a.Config != "" {
		with = " --config " + a.Config
	}
	fmt.Fprintf(a.err, "Next: \"switchboard%s\" runs it, \"switchboard%s doctor\" says what is missing.\n", with, with)
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

// writable says why no settings file can be written there.
func writable(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: %w; edit it, or move it away first", path, configs.ErrExists)
	}
	dir, _ := nearest(filepath.Dir(path))
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
		_, err = q.app.send(settings, http.MethodPost, "/claims", &claim)
	}
	if claim.Code == "" {
		q.say("No claim code could be made: %v. \"switchboard person claim\" prints one.", err)
		return
	}
	fmt.Fprintf(q.app.out, "claim code %s\n", claim.Code)
	q.say("It makes you an admin, once, within %s. Run the bot, and send it in a direct chat:", hours(router.ClaimLive))
	attached, err := attach(settings, slog.New(slog.DiscardHandler))
	if err != nil {
		return
	}
	for _, at := range attached {
		name := at.Channel.Name()
		command := at.Channel.Features(channels.Conversation{Channel: name, Kind: channels.Direct}).Command
		q.say("  %-10s %sclaim %s", name, cmp.Or(command, "/"), claim.Code)
	}
	if len(attached) > 1 {
		q.say("The code is used up by the first; there, /link then shows one that makes your account on another yours as well.")
	}
}

func (a *app) printManifest(name string, agent bool) error {
	for _, k := range kinds() {
		manifest, use := k.manifest, k.manifestUse
		if agent {
			manifest, use = k.agentManifest, k.agentManifestUse
		}
		if k.name == name && manifest != "" {
			fmt.Fprint(a.out, manifest)
			fmt.Fprintln(a.err, use)
			return nil
		}
	}
	switch {
	case agent && name == "":
		return usageError{errors.New("init --agent: name the platform before it, as in init slack --agent")}
	case agent:
		return usageError{fmt.Errorf("init %s --agent: it has no agents of its own; leave --agent out", name)}
	}
	return usageError{fmt.Errorf("init %s: there is no manifest for it; \"switchboard init\" writes the settings", name)}
}

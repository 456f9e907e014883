package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"switchboard/configs"
)

// initCmd writes a settings file, or prints what a platform makes the bot's app from.
type initCmd struct {
	Kind string `arg:"" optional:"" help:"A platform whose apps are made from a manifest, such as slack: print that instead."`
}

// Run implements the command. On a terminal it asks what a first start needs;
// elsewhere it writes the sample as it is.
func (c initCmd) Run(a *app) error {
	if c.Kind != "" {
		return a.printManifest(c.Kind)
	}
	path := a.Config
	if path == "" {
		path = "switchboard.toml"
	}
	if _, err := os.Lstat(path); err == nil { // before the questions, not after
		return fmt.Errorf("%s: %w; edit it, or move it away first", path, configs.ErrExists)
	}
	var answers configs.Answers
	if isTerminal(a.in) {
		var err error
		if answers, err = a.interview(); err != nil {
			return err
		}
	}
	if err := configs.Init(path, answers); err != nil {
		return err
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	fmt.Fprintf(a.out, "wrote %s\n", path)
	fmt.Fprintln(a.err, "Next: \"switchboard doctor\" checks it, \"switchboard\" runs it.")
	return nil
}

func (a *app) printManifest(name string) error {
	for _, k := range kinds() {
		if k.name == name && k.manifest != "" {
			fmt.Fprint(a.out, k.manifest)
			fmt.Fprintln(a.err, k.manifestUse)
			return nil
		}
	}
	return usageError{fmt.Errorf("init %s: there is no manifest for it; \"switchboard init\" writes the settings", name)}
}

// interview asks on the terminal. An empty answer keeps the default.
func (a *app) interview() (answers configs.Answers, err error) {
	lines := bufio.NewReader(a.in)
	for {
		answers.TimeZone, err = a.question(lines, "Your time zone, e.g. Europe/Rome [UTC]: ")
		if err != nil {
			return answers, err
		}
		if _, err := time.LoadLocation(answers.TimeZone); err == nil {
			break
		}
		fmt.Fprintf(a.err, "%q is no IANA time zone.\n", answers.TimeZone)
	}
	if answers.Planner, err = a.question(lines, "Model to plan with, provider/model, e.g. openrouter/vendor/name [offline]: "); err != nil {
		return answers, err
	}
	if answers.Planner != "" && answers.Planner != "offline" {
		if answers.APIKey, err = a.hiddenQuestion("API key, or env:NAME, or file:PATH [env:OPENROUTER_API_KEY]: "); err != nil {
			return answers, err
		}
	}
	if answers.Admin, err = a.question(lines, "Name of the first admin on chat platforms [none yet]: "); err != nil || answers.Admin == "" {
		return answers, err
	}
	answers.Identity, err = a.question(lines, "How a platform knows them, e.g. telegram:12345 [none yet]: ")
	return answers, err
}

func (a *app) question(lines *bufio.Reader, text string) (string, error) {
	fmt.Fprint(a.err, text)
	line, err := lines.ReadString('\n')
	if err != nil && err != io.EOF {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// hiddenQuestion reads a credential without showing it.
func (a *app) hiddenQuestion(text string) (string, error) {
	fmt.Fprint(a.err, text)
	secret, err := term.ReadPassword(int(a.in.(*os.File).Fd()))
	fmt.Fprintln(a.err)
	if err != nil {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return strings.TrimSpace(string(secret)), nil
}

package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"switchboard/agent"
	"switchboard/cmd/switchboard/local"
	"switchboard/configs"
	"switchboard/router/ledger"
)

// running are the settings that an engine runs with, credentials masked.
type running struct {
	File     string          `json:"file"` // absolute; empty: none
	Settings []configs.Shown `json:"settings"`
}

func runningSettings(settings *configs.Settings) running {
	r := running{File: settings.File, Settings: settings.Show()}
	if abs, err := filepath.Abs(r.File); err == nil && r.File != "" {
		r.File = abs
	}
	return r
}

// checkRunning warns where the running engine does not know the settings as they are
// now.
func (a *app) checkRunning(settings *configs.Settings) []finding {
	var engine running
	err := local.Ask(a.ctx, settings.DataDir, "/settings", &engine)
	now := runningSettings(settings)
	f := finding{Check: "engine", OK: true, Warn: true}
	switch changed := changedSettings(engine.Settings, now.Settings); {
	case errors.Is(err, local.ErrNoEngine):
		return nil
	case err != nil:
		f.Text = "it does not say which settings it runs with (" + err.Error() + "); an older version may be running"
	case engine.File != now.File:
		f.Text = fmt.Sprintf("it runs with the settings of %s, and this command has read %s", cmp.Or(engine.File, "no file"), cmp.Or(now.File, "no file"))
	case len(changed) > 0:
		if most := 10; len(changed) > most {
			changed = append(changed[:most], fmt.Sprintf("and %d more", len(changed)-most))
		}
		f.Text = "the settings changed since it started, and count after a restart: " + strings.Join(changed, ", ")
	default:
		return nil
	}
	return []finding{f}
}

// changedSettings lists the keys, and the tables that are on one side alone, in which
// the settings differ. What an environment or a command line says counts for one
// process and is left out. Credentials are known by where they are kept.
func changedSettings(before, after []configs.Shown) (keys []string) {
	theirs := map[string]configs.Shown{}
	for _, s := range before {
		theirs[s.Key] = s
	}
	table := func(s configs.Shown) string { return s.Key[:max(strings.LastIndexByte(s.Key, '.'), 0)] }
	for _, ours := range after {
		s, known := theirs[ours.Key]
		delete(theirs, ours.Key)
		switch {
		case passing(ours) || passing(s):
		case !known:
			keys = append(keys, table(ours))
		case s.Kept != ours.Kept, s.Kept == "" && s.Value != ours.Value:
			keys = append(keys, ours.Key)
		}
	}
	for _, s := range before {
		if _, gone := theirs[s.Key]; gone && !passing(s) {
			keys = append(keys, table(s))
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func passing(s configs.Shown) bool {
	return strings.HasPrefix(s.Source, "--") || strings.HasPrefix(s.Source, "environment ")
}

// checkPeople lists who is let in: by the engine, where one runs.
func (a *app) checkPeople(settings *configs.Settings) finding {
	var people []ledger.Person
	if err := local.Ask(a.ctx, settings.DataDir, "/people", &people); err != nil {
		people = withOwner(settings.Directory(), settings.Scheduler.TimeZone)
	}
	names := []string{}
	opened := 0
	for _, p := range people {
		switch p.Source {
		case "local":
			names = append([]string{fmt.Sprintf("%s (%s, this machine)", p.Name, p.Role)}, names...)
		case "open":
			opened++
		default:
			names = append(names, fmt.Sprintf("%s (%s: %s)", p.Name, p.Role, strings.Join(p.Identities, ", ")))
		}
	}
	if opened > 0 {
		names = append(names, fmt.Sprintf("%d more who came in where the policy is open", opened))
	}
	return finding{Check: "people", OK: true, Text: strings.Join(names, "; ")}
}

// checkPrompts says what is wrong with the prompts of one's own; nothing where all are
// fine.
func checkPrompts(settings *configs.Settings) []finding {
	faults, err := agent.PromptFaults(settings.DataDir)
	if err != nil {
		return []finding{{Check: "prompts", Text: err.Error(), Mend: "let whoever runs the program read the folder"}}
	}
	var findings []finding
	for _, f := range faults {
		findings = append(findings, finding{Check: "prompts", OK: !f.Fatal, Warn: !f.Fatal, Text: f.String(), Mend: f.Mend})
	}
	return findings
}

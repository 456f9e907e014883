package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/channels"
	"switchboard/configs"
	"switchboard/internal/api"
	"switchboard/router"
	"switchboard/router/core"
	"switchboard/router/files"
	"switchboard/store"
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

// checkRunning warns where the running engine does not go by the settings as they are
// now.
func (a *app) checkRunning(settings *configs.Settings) (findings []finding) {
	var engine running
	err := api.Ask(a.ctx, settings.DataDir, "/v1/config", &engine)
	now := runningSettings(settings)
	var texts []string
	switch {
	case errors.Is(err, api.ErrNoEngine):
		return nil
	case err != nil:
		texts = append(texts, "it does not say which settings it runs with ("+err.Error()+"); an older version may be running")
	case engine.File != now.File:
		texts = append(texts, fmt.Sprintf("it runs with the settings of %s, and this command has read %s", cmp.Or(engine.File, "no file"), cmp.Or(now.File, "no file")))
	default:
		changed := changedSettings(engine.Settings, now.Settings)
		live := slices.DeleteFunc(slices.Clone(changed), func(key string) bool { return !configs.Live(key) })
		later := slices.DeleteFunc(changed, configs.Live)
		if len(live) > 0 {
			texts = append(texts, "it does not use the file's values for these (its log says why, unless you saved the file a moment ago): "+first(live))
		}
		if len(later) > 0 {
			texts = append(texts, "these were changed since it started, and count after a restart: "+first(later))
		}
	}
	for _, text := range texts {
		findings = append(findings, finding{Check: "engine", OK: true, Warn: true, Text: text})
	}
	return findings
}

// first lists the first ten of keys.
func first(keys []string) string {
	if most := 10; len(keys) > most {
		keys = append(keys[:most:most], fmt.Sprintf("and %d more", len(keys)-most))
	}
	return strings.Join(keys, ", ")
}

// changedSettings lists the keys, and the tables that are on one side alone, in which
// the settings differ. What an environment or a command line says counts for one
// process, what was changed at run time is no command's, and both are left out. Credentials are known by where they are kept.
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
	return strings.HasPrefix(s.Source, "--") || strings.HasPrefix(s.Source, "environment ") || strings.HasPrefix(s.Source, "run-time change")
}

// people are those whom the engine knows, or, where none runs, whom it would know.
func (a *app) people(settings *configs.Settings) []core.Person {
	var people []core.Person
	if err := api.Ask(a.ctx, settings.DataDir, "/v1/people", &people); err == nil {
		return slices.DeleteFunc(people, func(p core.Person) bool { return !p.Away.IsZero() }) // who is away is said elsewhere
	}
	named := withOwner(settings.Directory())
	if hasLedger(settings) != nil {
		return named
	}
	db, err := store.OpenReadOnly(a.ctx, settings.Store, settings.DataDir, slog.New(slog.DiscardHandler))
	if err != nil {
		return named // what is wrong with the database is said elsewhere
	}
	defer db.Close()
	stored, _ := db.Router().People(a.ctx)
	for _, p := range stored {
		known := slices.ContainsFunc(named, func(n core.Person) bool { return n.Name == p.Name })
		if p.Source != core.FromSettings && !known {
			named = append(named, p)
		}
	}
	return named
}

// people are those whom the engine knows.
func (e *engine) people() (people []core.Person) {
	for _, p := range e.router.Roster.Everybody() {
		people = append(people, *p)
	}
	return people
}

// checkPeople lists who is let in.
func checkPeople(people []core.Person) finding {
	return finding{Check: "people", OK: true, Text: strings.Join(namesOf(people), "; ")}
}

// namesOf are people in words, whoever runs the program first, and those together whom an
// open policy let in.
func namesOf(people []core.Person) (names []string) {
	opened := 0
	for _, p := range people {
		switch {
		case p.Name == ownerName && p.Source == core.FromLocal:
			names = append([]string{fmt.Sprintf("%s (%s, this machine)", p.Name, p.Role)}, names...)
		case p.Source == core.FromOpen:
			opened++
		default:
			names = append(names, fmt.Sprintf("%s (%s: %s)", p.Name, p.Role, orNone(strings.Join(p.Identities, ", "))))
		}
	}
	if opened > 0 {
		names = append(names, fmt.Sprintf("%d more from open channels", opened))
	}
	return names
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

// platformTimeout bounds the questions to one platform.
const platformTimeout = 15 * time.Second

// checkPlatforms asks each channel's platform what it knows of the bot, and says where
// nobody is let in. Mends are, by channel, what helps where something is wrong.
func (a *app) checkPlatforms(settings *configs.Settings, people []core.Person) (findings []finding, mends map[string]string) {
	mends = map[string]string{}
	for _, at := range attach(settings, slog.New(slog.DiscardHandler)) {
		name := at.Name()
		if f := (finding{Check: "channel", OK: true, Warn: true}); nobody(people, name, at.Config) {
			f.Text, f.Mend = name+": nobody may write yet", letIn(settings, name, at.Config)
			findings = append(findings, f)
		} else if adminMissing(people, name, at.Config) {
			f.Text, f.Mend = name+": no admin can write there", claimMend
			findings = append(findings, f)
		}
		examiner, ok := at.Channel.(channels.Examiner)
		if !ok {
			continue
		}
		ctx, cancel := context.WithTimeout(a.ctx, platformTimeout)
		for _, f := range examiner.Examine(ctx) {
			if !f.OK {
				mends[name] = cmp.Or(mends[name], f.Mend)
			}
			findings = append(findings, finding{Check: "channel", OK: f.OK, Warn: f.Warn, Text: name + ": " + f.Text, Mend: f.Mend})
		}
		cancel()
	}
	return findings, mends
}

// letIn says how somebody is let in on a channel where nobody is.
func letIn(settings *configs.Settings, name string, config router.ChannelConfig) string {
	if config.DM == "disabled" {
		return fmt.Sprintf("write dm = 'allowlist' into [channels.%s], or name a group in its allow_conversations", name)
	}
	return fmt.Sprintf("send it the code that \"switchboard person claim\" prints, or write to the bot once: the log then shows the line to add. Put it under a name in [[people]], "+
		"as in: [[people]] name = 'you' role = 'admin' identities = ['%s'], each on a line of its own", settings.IdentityForm(config.Kind))
}

// warnOfClosed says of each channel that nobody is let in there, and how to change that.
func warnOfClosed(settings *configs.Settings, people []core.Person, say func(channel, mend string)) {
	for _, name := range slices.Sorted(maps.Keys(settings.Channels)) {
		ch := settings.Channels[name]
		if ch.Enabled && nobody(people, name, ch.ChannelConfig) {
			say(name, letIn(settings, name, ch.ChannelConfig))
		}
	}
}

// nobody says whether a channel's policies let nobody write.
func nobody(people []core.Person, name string, config router.ChannelConfig) bool {
	switch {
	case config.DM == "open" || config.Groups == "open":
		return false
	case config.DM == "disabled" && (config.Groups == "disabled" || len(config.AllowConversations) == 0):
		return true
	}
	return !anyOn(people, name, config.Kind)
}

// claimMend is how somebody becomes an admin on a channel.
const claimMend = "send it the code that \"switchboard person claim\" prints, as /claim and the code"

// adminMissing says whether a channel that could have an admin has none.
func adminMissing(people []core.Person, name string, config router.ChannelConfig) bool {
	admins := slices.DeleteFunc(slices.Clone(people), func(p core.Person) bool { return p.Role != core.RoleAdmin })
	return config.DM != "disabled" && !anyOn(admins, name, config.Kind)
}

// missing says what is not set up yet.
func (e *engine) missing() (list []string) {
	if e.settings().Agent.Planner == llm.Offline {
		list = append(list, "no language model is set up; write \"help\" to see what I can do without one")
	}
	people := e.people()
	for _, at := range e.router.Channels.List() {
		if name := at.Name(); name != consoleName && adminMissing(people, name, at.Config) {
			list = append(list, name+": no admin can write there; "+claimMend)
		}
	}
	for _, s := range e.router.Lines.Statuses() {
		if inTrouble(s) {
			list = append(list, howItIs(s, time.Local))
		}
	}
	return list
}

// anyOn says whether one of the people has an identity on a channel of that name and kind.
func anyOn(people []core.Person, name, kind string) bool {
	return slices.ContainsFunc(people, func(p core.Person) bool {
		return slices.ContainsFunc(p.Identities, func(id string) bool {
			return strings.HasPrefix(id, name+":") || strings.HasPrefix(id, kind+":")
		})
	})
}

// scannerTimeout bounds the doctor's one scan.
const scannerTimeout = 30 * time.Second

// checkScanner lets the scan command look at an empty file: one that cannot be run, or
// refuses even that, holds back every file that comes in.
func (a *app) checkScanner(settings *configs.Settings) []finding {
	words := strings.Fields(settings.Files.ScanCommand)
	if len(words) == 0 {
		return nil
	}
	f := finding{Check: "files", Mend: "see [files] scan_command: it is run with the file's path as last argument, and exit status 0 means clean; until it works every file is held back"}
	program, err := exec.LookPath(words[0])
	if err != nil {
		f.Text = fmt.Sprintf("scan_command: %v", err)
		return []finding{f}
	}
	took, reason, err := a.tryScanner(settings)
	switch {
	case err != nil:
		f.Text = fmt.Sprintf("scan_command: %s: %v", program, err)
	case reason != "":
		f.Text = fmt.Sprintf("scan_command: %s: an empty file would be held back: %s", program, reason)
	default:
		f.OK, f.Text = true, fmt.Sprintf("scan_command: %s: an empty file is clean, said in %s", program, took.Round(time.Millisecond))
	}
	return []finding{f}
}

// tryScanner scans an empty file where those that come in are scanned, in the data
// folder: what may not read there is of no use.
func (a *app) tryScanner(settings *configs.Settings) (took time.Duration, reason string, err error) {
	dir, _ := nearest(settings.DataDir)
	file, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return 0, "", err
	}
	defer os.Remove(file.Name())
	if err := file.Close(); err != nil {
		return 0, "", err
	}
	ctx, cancel := context.WithTimeout(a.ctx, scannerTimeout)
	defer cancel()
	began := time.Now()
	reason, err = files.TryScanner(ctx, settings.Files.ScanCommand, file.Name())
	if ctx.Err() != nil && a.ctx.Err() == nil {
		reason, err = fmt.Sprintf("the scanner did not come to an end within %s", scannerTimeout), nil
	}
	return time.Since(began), reason, err
}

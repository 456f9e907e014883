package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"switchboard/agent/tools/sandbox"
	"switchboard/agent/tools/workspace"
	"switchboard/channels/console"
	"switchboard/configs"
	"switchboard/internal/api"
	"switchboard/store"
	"switchboard/store/database"
)

// doctorCmd checks what the program needs.
type doctorCmd struct {
	Alive bool `help:"Only say whether an engine is running here: exit 0 or 1."`
	JSON  bool `name:"json" help:"As JSON."`
}

// A finding is one line of the doctor's report.
type finding struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Warn  bool   `json:"warn,omitempty"` // fine, but worth a second look
	Text  string `json:"text"`
	Mend  string `json:"mend,omitempty"` // what to do when it is not OK, or worth a second look
}

// title is the check as people read it.
func (f finding) title() string {
	if f.Check == "ledger" {
		return "queue"
	}
	return f.Check
}

// mark is how the finding's line begins.
func (f finding) mark() string {
	switch {
	case !f.OK:
		return "FAIL"
	case f.Warn:
		return "WARN"
	}
	return "ok  "
}

// Run implements the command.
func (c *doctorCmd) Run(a *app) error {
	settings, warnings, err := a.load()
	if c.Alive {
		if err == nil {
			err = api.Alive(a.ctx, settings.DataDir)
		}
		return err
	}
	if err == nil {
		now, _ := a.counting(settings) // what keeps the database from being read is said below
		settings, warnings = now.settings, now.warned(warnings)
	}
	findings := checkSettings(settings, warnings, err)
	if err == nil {
		findings = append(findings, a.examine(settings)...)
	}
	failed := 0
	for _, f := range findings {
		if !f.OK {
			failed++
		}
	}
	if c.JSON {
		if err := printJSON(a.out, findings); err != nil {
			return err
		}
	} else {
		printFindings(a, findings)
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(findings))
	}
	return nil
}

func printFindings(a *app, findings []finding) {
	for _, f := range findings {
		fmt.Fprintf(a.out, "%s  %-10s %s\n", f.mark(), f.title(), strings.ReplaceAll(console.Printable(f.Text), "\n", "\n                 "))
		if (!f.OK || f.Warn) && f.Mend != "" {
			fmt.Fprintf(a.out, "      %-10s fix: %s\n", "", console.Printable(f.Mend))
		}
	}
}

func checkSettings(settings *configs.Settings, warnings []configs.Warning, err error) []finding {
	if err != nil {
		return []finding{{Check: "settings", Text: err.Error(), Mend: "correct what is named; \"switchboard config check\" says it again"}}
	}
	findings := []finding{{Check: "settings", OK: true, Text: cmp.Or(settings.File, "defaults, no file")}}
	for _, w := range warnings {
		findings = append(findings, finding{Check: "settings", OK: true, Warn: true, Text: w.String()})
	}
	return findings
}

// examine checks everything that valid settings let it check.
func (a *app) examine(settings *configs.Settings) []finding {
	running := a.checkEngine(settings)
	database, ledger := a.checkDatabase(settings, running.Text == engineRuns)
	findings := append([]finding{a.checkDisk(settings), database, running}, ledger...)
	findings = append(findings, a.checkRunning(settings)...)
	findings = append(findings, a.checkModels(settings)...)
	findings = append(findings, checkBudget(settings))
	findings = append(findings, checkPrompts(settings)...)
	findings = append(findings, a.checkSandbox(settings)...)
	findings = append(findings, a.checkScanner(settings)...)
	people := a.people(settings)
	findings = append(findings, checkPeople(people))
	findings = append(findings, checkChannels(settings)...)
	platforms, mends := a.checkPlatforms(settings, people)
	findings = append(findings, platforms...)
	return append(findings, a.checkStatuses(settings, mends)...)
}

func (a *app) checkDisk(settings *configs.Settings) finding {
	f := finding{Check: "data", Mend: "make room, or choose another folder with --data or data_dir"}
	dir, there := nearest(settings.DataDir)
	probe, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		f.Text = err.Error()
		return f
	}
	probe.Close()
	os.Remove(probe.Name())
	free, _ := workspace.DiskSpace(dir)
	f.Text = fmt.Sprintf("%s, %d MB free", settings.DataDir, free>>20)
	low := (*workspace.Space)(nil).CheckDisk(a.ctx, dir)
	if f.OK = low == nil; !f.OK {
		f.Text += ": " + low.Error()
	} else if !there {
		f.Text += "; the first start makes it"
	}
	return f
}

// nearest is the folder, or where it is not there the one that it would be made in:
// the doctor makes nothing that it is asked to look at.
func nearest(dir string) (existing string, there bool) {
	existing, err := filepath.Abs(dir)
	if err != nil {
		return dir, false
	}
	there = true
	for {
		if _, err := os.Stat(existing); !errors.Is(err, fs.ErrNotExist) || existing == filepath.Dir(existing) {
			return existing, there
		}
		existing, there = filepath.Dir(existing), false
	}
}

// checkDatabase says whether the database can be opened, and, where it can, what the
// ledger in it tells. alive says that an engine answers here.
func (a *app) checkDatabase(settings *configs.Settings, alive bool) (f finding, ledger []finding) {
	if err := hasLedger(settings); err != nil {
		return finding{Check: "database", OK: true, Text: "none yet; the first start makes it"}, nil
	}
	f.Check = "database"
	ctx, cancel := context.WithTimeout(a.ctx, 10*time.Second)
	defer cancel()
	var list []database.MigrationStatus
	db, err := store.Open(ctx, settings.Store, settings.DataDir, slog.New(slog.DiscardHandler))
	if err == nil {
		defer db.Close()
		list, err = db.MigrationStatus(ctx)
	}
	if err != nil {
		f.Text, f.Mend = err.Error(), cmp.Or(database.Fix(err), "see [store] url, and what the database's log says")
		if database.Unwritable(err) {
			f = checkReading(ctx, settings, f)
		}
		return f, nil
	}
	waiting := 0
	for _, m := range list {
		if !m.Applied {
			waiting++
		}
	}
	f.OK, f.Text = true, db.Kind()
	if waiting > 0 {
		f.Text = fmt.Sprintf("%s, %d migrations to come at the next start", db.Kind(), waiting)
		return f, nil // there is nothing to read yet
	}
	return f, a.checkLedger(db, settings, alive)
}

// checkReading says of a database that cannot be written whether it can be read.
func checkReading(ctx context.Context, settings *configs.Settings, f finding) finding {
	db, err := store.OpenReadOnly(ctx, settings.Store, settings.DataDir, slog.New(slog.DiscardHandler))
	if err != nil {
		return f
	}
	defer db.Close()
	if _, err := db.Facts(ctx); err == nil {
		f.Text += "; stored messages can be read"
	}
	return f
}

// engineRuns is what is said of an engine that answers.
const engineRuns = "running"

func (a *app) checkEngine(settings *configs.Settings) finding {
	err := api.Alive(a.ctx, settings.DataDir)
	switch {
	case err == nil:
		return finding{Check: "engine", OK: true, Text: engineRuns}
	case errors.Is(err, api.ErrNoEngine):
		return finding{Check: "engine", OK: true, Text: "not running"}
	}
	return finding{Check: "engine", Text: err.Error(), Mend: "see whether its process still lives"}
}

// checkSandbox says which layers work, and where the settings lift them.
func (a *app) checkSandbox(settings *configs.Settings) []finding {
	var findings []finding
	for _, layer := range sandbox.New(sandbox.Config{}).Layers(a.ctx) {
		findings = append(findings, finding{Check: "sandbox", OK: layer.Works, Text: layer.Name + ": " + layer.Detail, Mend: layer.Fix})
	}
	if why := unconfined(settings); why != "" {
		findings = append(findings, finding{Check: "sandbox", OK: true, Warn: true, Text: "commands of admins are NOT confined: " + why})
	}
	return findings
}

// unconfined says which setting lets commands of admins run with no sandbox.
func unconfined(settings *configs.Settings) string {
	switch {
	case settings.Agent.Sandbox == "off":
		return `agent.sandbox = "off"`
	case settings.Agent.AdminUnconfined:
		return "agent.admin_unconfined = true"
	}
	return ""
}

func checkChannels(settings *configs.Settings) []finding {
	findings := []finding{{Check: "channel", OK: true, Text: "console: open to whoever may run switchboard on this machine"}}
	if len(settings.Channels) == 0 {
		findings = append(findings, finding{
			Check: "channel", OK: true, Warn: true, Text: "no chat platform is set",
			Mend: "give it the token of a bot, in a table [channels.NAME]; \"switchboard init\" says where to get one, asks for it and adds it",
		})
	}
	for _, name := range slices.Sorted(maps.Keys(settings.Channels)) {
		ch := settings.Channels[name]
		who := whoMayWrite(ch.ChannelConfig)
		if !ch.Enabled {
			who = "switched off"
		}
		findings = append(findings, finding{Check: "channel", OK: true, Text: fmt.Sprintf("%s (%s): %s", name, ch.Kind, who)})
	}
	return findings
}

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"switchboard/agent/llm"
	"switchboard/agent/llm/offline"
	"switchboard/configs"
	"switchboard/store"
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
	Text  string `json:"text"`
	Mend  string `json:"mend,omitempty"` // what to do when it is not OK
}

// lowDisk is the free space below which the doctor complains, in bytes.
const lowDisk = 200 << 20

// Run implements the command.
func (c *doctorCmd) Run(a *app) error {
	settings, warnings, err := a.load()
	if c.Alive {
		if err == nil {
			_, err = dialEngine(a.ctx, settings)
		}
		return err
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
		mark := "ok  "
		if !f.OK {
			mark = "FAIL"
		}
		fmt.Fprintf(a.out, "%s  %-10s %s\n", mark, f.Check, f.Text)
		if !f.OK && f.Mend != "" {
			fmt.Fprintf(a.out, "      %-10s mend: %s\n", "", f.Mend)
		}
	}
}

func checkSettings(settings *configs.Settings, warnings []configs.Warning, err error) []finding {
	if err != nil {
		return []finding{{"settings", false, err.Error(), "correct the lines named"}}
	}
	file := settings.File
	if file == "" {
		file = "defaults, no file"
	}
	findings := []finding{{Check: "settings", OK: true, Text: file}}
	for _, w := range warnings {
		findings = append(findings, finding{Check: "settings", OK: true, Text: w.String()})
	}
	return findings
}

// examine checks everything that valid settings let it check.
func (a *app) examine(settings *configs.Settings) []finding {
	if err := settings.MakeDataDir(); err != nil {
		return []finding{{"data", false, err.Error(), "choose another folder with --data or data_dir"}}
	}
	findings := []finding{checkDisk(settings), a.checkDatabase(settings), a.checkEngine(settings), checkModels(a, settings)}
	findings = append(findings, a.checkSandbox(settings)...)
	findings = append(findings, checkPeople(settings))
	return append(findings, checkChannels(settings)...)
}

func checkDisk(settings *configs.Settings) finding {
	f := finding{Check: "data", Mend: "make room, or choose another folder with --data or data_dir"}
	probe, err := os.CreateTemp(settings.DataDir, ".doctor-*")
	if err != nil {
		f.Text = err.Error()
		return f
	}
	probe.Close()
	os.Remove(probe.Name())
	var disk unix.Statfs_t
	if err := unix.Statfs(settings.DataDir, &disk); err != nil {
		f.Text = err.Error()
		return f
	}
	free := disk.Bavail * uint64(disk.Bsize)
	f.OK = free >= lowDisk
	f.Text = fmt.Sprintf("%s, %d MB free", settings.DataDir, free>>20)
	return f
}

func (a *app) checkDatabase(settings *configs.Settings) finding {
	f := finding{Check: "database", Mend: "see [store] url; \"switchboard migrate up\" brings the schema up to date"}
	ctx, cancel := context.WithTimeout(a.ctx, 10*time.Second)
	defer cancel()
	db, err := store.Open(ctx, settings.Store, settings.DataDir, a.logger(settings, quietLevel))
	if err != nil {
		f.Text = err.Error()
		return f
	}
	defer db.Close()
	list, err := db.MigrationStatus(ctx)
	if err != nil {
		f.Text = err.Error()
		return f
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
	}
	return f
}

func (a *app) checkEngine(settings *configs.Settings) finding {
	_, err := dialEngine(a.ctx, settings)
	switch {
	case err == nil:
		return finding{Check: "engine", OK: true, Text: "running"}
	case errors.Is(err, errNoEngine):
		return finding{Check: "engine", OK: true, Text: "not running"}
	}
	return finding{Check: "engine", Text: err.Error(), Mend: "see whether its process still lives"}
}

func checkModels(a *app, settings *configs.Settings) finding {
	f := finding{Check: "model", Mend: "see [llm] and [agent] in the settings"}
	models, err := llm.New(settings.LLM, offline.New(time.Now), a.logger(settings, quietLevel))
	if err == nil {
		err = models.Check(settings.Agent.Roles())
	}
	if err != nil {
		f.Text = err.Error()
		return f
	}
	f.OK, f.Text = true, "planner "+settings.Agent.Planner
	if settings.Agent.Planner == "offline" {
		f.Text += " (help, time, files and commands only; set a language model for the rest)"
	}
	return f
}

func (a *app) checkSandbox(settings *configs.Settings) []finding {
	var findings []finding
	for _, layer := range newShell(settings, a.logger(settings, quietLevel)).Layers(a.ctx) {
		findings = append(findings, finding{"sandbox", layer.Works, layer.Name + ": " + layer.Detail, layer.Mend})
	}
	return findings
}

func checkPeople(settings *configs.Settings) finding {
	names := []string{ownerName + " (admin, this machine)"}
	for _, p := range settings.People {
		names = append(names, fmt.Sprintf("%s (%s: %s)", p.Name, p.Role, strings.Join(p.Identities, ", ")))
	}
	return finding{Check: "people", OK: true, Text: strings.Join(names, "; ")}
}

func checkChannels(settings *configs.Settings) []finding {
	findings := []finding{{Check: "channel", OK: true, Text: "console: whoever may run switchboard on this machine"}}
	for _, name := range slices.Sorted(maps.Keys(settings.Channels)) {
		ch := settings.Channels[name]
		text := fmt.Sprintf("%s (%s): direct %s, groups %s", name, ch.Kind, ch.DM, ch.Groups)
		if ch.Groups == "allowlist" {
			text += fmt.Sprintf(" of %d", len(ch.AllowConversations))
		}
		findings = append(findings, finding{Check: "channel", OK: true, Text: text})
	}
	return findings
}

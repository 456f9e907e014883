package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"switchboard/agent/llm"
	"switchboard/agent/llm/offline"
	"switchboard/channels/console"
	"switchboard/configs"
)

// settingsCmd looks at the settings.
type settingsCmd struct {
	Check configCheckCmd `cmd:"" help:"Say everything that is wrong with the settings, with file and line."`
	Show  configShowCmd  `cmd:"" help:"The settings in use, secrets hidden, and where each comes from. The file that \"switchboard init\" writes explains each one."`

	Get      configGetCmd      `cmd:"" help:"What the running engine uses: one setting, or a table."`
	Set      configSetCmd      `cmd:"" help:"Change a setting while the engine runs: it overrides the file, and the environment overrides it."`
	Unset    configUnsetCmd    `cmd:"" help:"Use the file's value again for one setting."`
	Diff     configDiffCmd     `cmd:"" help:"What was changed at run time, beside what the file says."`
	Versions configVersionsCmd `cmd:"" help:"All changes, the newest first."`
	Undo     configUndoCmd     `cmd:"" help:"Take a change back, the last one or one by its number."`
	Confirm  configConfirmCmd  `cmd:"" help:"Confirm a change. Only the person who made it can, in the same place."`
	Save     configSaveCmd     `cmd:"" help:"Write what was changed at run time into the file, its comments kept."`
}

type configCheckCmd struct{ jsonFlag }

// A checkView is what a check of the settings found.
type checkView struct {
	OK       bool              `json:"ok"`
	File     string            `json:"file"` // empty: there is none, or it was not found
	Faults   []configs.Fault   `json:"faults"`
	Warnings []configs.Warning `json:"warnings"`
}

// Run implements the command.
func (c *configCheckCmd) Run(a *app) error {
	settings, warnings, err := a.load()
	if err == nil {
		err = modelFaults(settings)
	}
	if err == nil {
		now, _ := a.counting(settings) // that the database cannot be read is the doctor's to say
		warnings = now.warned(warnings)
		if faults, is := errors.AsType[configs.Faults](now.people); is {
			err = usageError{faults}
		}
	}
	if c.JSON {
		return a.checked(settings, warnings, err)
	}
	for _, w := range warnings {
		fmt.Fprintln(a.err, "warning:", w)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "the settings are fine (%s)\n", cmp.Or(settings.File, "no file, defaults and environment only"))
	return nil
}

// checked prints what a check found as JSON, which has the faults whole.
func (a *app) checked(settings *configs.Settings, warnings []configs.Warning, err error) error {
	v := checkView{OK: err == nil, Faults: []configs.Fault{}, Warnings: append([]configs.Warning{}, warnings...)}
	if settings != nil {
		v.File = settings.File
	}
	if faults, ok := errors.AsType[configs.Faults](err); ok {
		v.Faults = faults
	} else if err != nil {
		v.Faults = []configs.Fault{{Text: err.Error()}}
	}
	if err := printJSON(a.out, v); err != nil {
		return err
	}
	if err != nil {
		return usageError{errors.New("the settings have faults")}
	}
	return nil
}

// modelFaults are the providers without a key that a role needs, each once, where the
// key is written, or else the model.
func modelFaults(s *configs.Settings) error {
	models, err := llm.New(s.LLM, offline.New(time.Now), slog.New(slog.DiscardHandler))
	if err != nil {
		return usageError{err}
	}
	byModel := rolesByModel(s)
	roles, model := map[string][]string{}, map[string]string{} // by provider
	for _, name := range slices.Sorted(maps.Keys(byModel)) {
		provider, _, _ := strings.Cut(cmp.Or(s.LLM.Models[name].Model, name), "/")
		roles[provider], model[provider] = append(roles[provider], byModel[name]...), name
	}
	var faults configs.Faults
	for _, provider := range slices.Sorted(maps.Keys(roles)) {
		err := models.Check(map[string]string{strings.Join(roles[provider], ", "): model[provider]})
		if err == nil {
			continue
		}
		key := "llm.providers." + provider + ".api_key"
		role, _, _ := strings.Cut(roles[provider][0], " ")
		faults = append(faults, configs.Fault{Source: cmp.Or(s.Place(key), s.Place("agent."+role)), Key: key, Text: err.Error()})
	}
	if len(faults) == 0 {
		return nil
	}
	return usageError{faults}
}

type configShowCmd struct{ jsonFlag }

// Run implements the command.
func (c *configShowCmd) Run(a *app) error {
	settings, _, err := a.load()
	if err != nil {
		return err
	}
	now, err := a.counting(settings)
	if err != nil {
		fmt.Fprintln(a.err, "warning: changes made at run time are not shown:", console.Printable(err.Error()))
	} else if skipped := now.skipped(); skipped != "" {
		fmt.Fprintln(a.err, "warning:", console.Printable(skipped))
	}
	return printRows(a.out, c.JSON, "KEY\tVALUE\tFROM", now.settings.Show(), func(s configs.Shown) []any {
		return []any{s.Key, s.Value, s.Source}
	})
}
